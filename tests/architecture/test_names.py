"""Names: one meaning each, nouns for modules, and no module that is only a piece of another."""

from __future__ import annotations

import re
from collections import defaultdict

from tests.architecture.test_modules import MODULES, ROOT, facts_of

CORE = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
    for path in MODULES
    if path.is_relative_to(ROOT / "lance_core") and path.name not in ("__init__.py", "__main__.py")
}

AT_TWO_EDGES = {"DataFile", "DeletionFile", "IndexFile", "RowIdSequence", "Transaction"}
"""Classes that users know from pylance, named as the stored messages that they stand for."""

PARTICIPLES = {
    "from_stored": "from stored operations to those of users",
    "preserved": "operations that are kept as they were stored",
    "shred": "the standard term, a verb",
    "single_packed": "single values of packed integers",
    "to_stored": "from operations of users to stored ones",
}

MIN_LINES = 40
SMALL = {
    "lance_core.query.text_queries": "pylance has a module query, and its names are a plugin's",
    "lance_core.util.vector_tools": "pylance has a module util, and no module here has that name",
    "lance_core.datafile.container_messages": "generated messages, which plugins may not import",
    "lance_core.dataset.maintenance.drop": "a verb of its own",
    "lance_core.dataset.read.columns.prune_struct_fields": "an idea beside projections",
    "lance_core.encodings.kernels.numpy.chunk_rows": "a kernel of the table, as its siblings",
    "lance_core.encodings.nullable_structs": "a workaround, until pylance reads such pages",
    "lance_core.encodings.v2_0.builtin": "the list of the format's encodings",
    "lance_core.encodings.v2_0.compressed_flat": "an encoding of the format",
    "lance_core.encodings.v2_1.fast.tables": "the list of the fast paths of reads",
    "lance_core.encodings.v2_1.pages.builtin": "the list of the format's layouts",
    "lance_core.schema.keys": "primary and clustering keys, which merges will read as well",
    "lance_core.store.wrappers.capability_override": "a wrapper, as its siblings, for plugins",
    "lance_core.table.transactions.operations.unknown": "an operation, as its siblings",
}
"""Modules below `MIN_LINES` with one importer, each with the reason why it is a module."""


def test_a_public_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in CORE.items():
        for public in facts_of(path).public_classes:
            places[public].append(name)
    assert len(places) > 500
    several = {name: where for name, where in places.items() if len(where) > 1}
    assert several.keys() == AT_TWO_EDGES, several


def test_no_module_is_named_by_a_participle() -> None:
    named = {name.rpartition(".")[2] for name in CORE}
    assert {name for name in named if re.search(r"[^e]ed$", name)} == set(PARTICIPLES)


def test_a_small_module_has_several_users_or_a_reason() -> None:
    users: dict[str, int] = dict.fromkeys(CORE, 0)
    for path in MODULES:
        for name in facts_of(path).imported & users.keys():
            users[name] += 1
    small = {
        name
        for name, path in CORE.items()
        if name.count(".") > 1 and users[name] == 1 and facts_of(path).lines < MIN_LINES
        if not name.startswith("lance_core.hookspecs.")  # for authors of other distributions
    }
    assert small == set(SMALL)
