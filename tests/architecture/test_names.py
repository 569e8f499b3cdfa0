"""Names: one meaning each, nouns for modules, and no module that is only a piece of another."""

from __future__ import annotations

import functools
import re
from collections import defaultdict

from tests.architecture.test_modules import MODULES, PACKAGES, ROOT, facts_of

CORE = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
    for path in MODULES
    if path.is_relative_to(ROOT / "lance_core") and path.name not in ("__init__.py", "__main__.py")
}

AT_TWO_EDGES = {
    *("Branch", "DataFile", "DeletionFile", "IndexFile", "RowIdSequence", "Tag", "Transaction"),
    "Version",
}
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
    "lance_core.dataset.read.scan_reports": "only scans that are observed need it",
    "lance_core.datafile.container_messages": "generated messages, which plugins may not import",
    "lance_core.encodings.layout_messages": "generated messages, which plugins may not import",
    "lance_core.dataset.maintenance.drop": "a verb of its own",
    "lance_core.dataset.read.columns.prune_struct_fields": "an idea beside projections",
    "lance_core.encodings.kernels.numpy.chunk_rows": "a kernel of the table, as its siblings",
    "lance_core.encodings.v2_0.compressed_flat": "an encoding of the format",
    "lance_core.encodings.v2_1.fast.tables": "the list of the fast paths of reads",
    "lance_core.encodings.v2_1.pages.builtin": "the list of the format's layouts",
    "lance_core.schema.keys": "primary and clustering keys, which merges will read as well",
    "lance_core.store.wrappers.capability_override": "a wrapper, as its siblings, for plugins",
    "lance_core.table.transactions.operations.unknown": "an operation, as its siblings",
    "lance_core.util.times": "functions of pylance's module, whose package only exports",
}
"""Modules below `MIN_LINES` with one importer, each with the reason why it is a module."""

ALLOWED = {
    ("kept", "lance_core.commits.cleanup"): "the `KeptVersion` of a plan, which users read",
    ("kind", "lance_core.commits.cleanup"): "a `FileKind`",
    ("kind", "lance_core.dataset.blobs"): "a `BlobKind`",
    ("kind", "lance_core.dataset.expressions.sql"): "an argument of `lance_core.sql_functions`",
    ("kind", "lance_core.dataset.maintenance.indices"): "the kind of an index",
    ("kind", "lance_core.encodings.v2_1"): "the kind of a layer, or of pages with equal messages",
    ("kind", "lance_core.index"): "an argument of the contract of index types",
    ("kind", "lance_core.schema.json"): "the type of a value, as binary JSON stores it",
    ("kind", "lance_core.table.transactions"): "an `OperationKind`",
    ("kind", "lance_core_azure.credentials"): "the kind of credentials",
    ("kind", "lance_core_indices"): "an argument of the contract of index types",
    ("kind", "lance_core_text.index_type"): "an argument of the contract of index types",
    ("kind", "lance_core_vector"): "the kind of an index, such as IVF_PQ",
    (
        "place",
        "lance_core.encodings.v2_1.codecs",
    ): "a `Place`, an argument of the codecs of plugins",
    ("place", "lance_core.encodings"): "an argument of kernels, which plugins implement",
    ("place", "lance_core.index.sort_order"): "a public argument of `some_keys`",
    ("place", "lance_core_kernels"): "an argument of kernels",
    ("wanted", "lance_core_remote.client"): "an argument of clients of clouds, which plugins write",
    ("wanted", "lance_core_azure.client"): "an argument of clients of clouds",
    ("wanted", "lance_core_gcs.client"): "an argument of clients of clouds",
    ("wanted", "lance_core_s3.client"): "an argument of clients of clouds",
    ("given", "lance_core_azure.settings"): "the `GivenOptions`, beside those for all stores",
    ("given", "lance_core_gcs.options"): "the `GivenOptions`, beside those for all stores",
    ("given", "lance_core_dynamodb.options"): "options and secrets that a user gives, see there",
    (
        "asked",
        "lance_core_testing.encodings.stored_field",
    ): "an attribute that suites of plugins read",
    ("one", "lance_core_text"): "the number 1 as a float of 32 bits",
}
"""Vague names, also in the plural, that say enough in a package or module, each with the reason."""

KINDS = {
    "lance_core": 48,
    "lance_core_arrays": 2,
    "lance_core_azure": 2,
    "lance_core_explorer": 4,
    "lance_core_functions": 2,
    "lance_core_remote": 1,
    "lance_core_s3": 1,
    "lance_core_spark": 7,
    "lance_core_testing": 4,
}
"""How often each distribution names other values ``kind``, which may only become less."""

SLACK = 10
"""So many fewer values than in `KINDS` must be stated there; branches that remove some may meet."""


@functools.cache
def vague_names() -> list[tuple[str, int, str]]:
    """Module, line and name of each value with a vague name."""
    return [
        (".".join(path.relative_to(package.parent).with_suffix("").parts), line, name)
        for package in PACKAGES
        for path in MODULES
        if path.is_relative_to(package)
        for name, line in facts_of(path).vague_names
    ]


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


def test_a_name_says_what_its_value_is() -> None:
    """Name a value for what it is: hits, rows, offsets, options, data_type and the like."""
    used, vague = set(), set()
    kinds: dict[str, list[str]] = defaultdict(list)
    for module, line, name in vague_names():
        word = name.removesuffix("s")
        reasons = {key for key in ALLOWED if key[0] == word and is_in(module, key[1])}
        used |= reasons
        if not reasons and word == "kind":
            kinds[module.partition(".")[0]].append(f"{module}:{line}")
        elif not reasons:
            vague.add(f"{module}:{line}: {name}")
    assert vague == set(), "name these values for what they are"
    assert used == ALLOWED.keys(), "remove what is no longer used from `ALLOWED`"
    more = {where: lines for where, lines in kinds.items() if len(lines) > KINDS.get(where, 0)}
    assert more == {}, "name one more of these `data_type`, `dtype`, `index_type` or the like"
    total = sum(map(len, kinds.values()))
    assert total + SLACK > sum(KINDS.values()), "fewer are named `kind`: lower the numbers"


def is_in(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")
