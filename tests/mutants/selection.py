"""Which mutants are tried, and by which tests."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from tests.mutants.operators import Mutant, edited, mutants_of

FOLDERS = ("lance_core/commits", "lance_core/table", "lance_core/store/local")
MODULES = ("lance_core/dataset/write/delete.py", "lance_core/dataset/maintenance/cleanup.py")

TESTS = (
    *("tests/unit/commits", "tests/unit/table", "tests/unit/store/local"),
    *("tests/conformance/test_local_store.py", "tests/conformance/test_commit_handlers.py"),
    *("tests/conformance/test_external_manifest_handler.py", "tests/unit/dataset/test_branches.py"),
    *("tests/unit/dataset/maintenance/test_cleanup.py", "tests/unit/dataset/write/test_delete.py"),
    *("tests/unit/dataset/test_concurrent_changes.py", "tests/unit/dataset/write/test_commit.py"),
    *("tests/unit/dataset/test_append_race.py", "tests/unit/dataset/test_tags.py"),
    *("tests/unit/dataset/test_durability.py", "tests/unit/dataset/maintenance/test_clone.py"),
)
"""The tests near these modules. A mutant is tried by those that call the changed function."""

EDITED = (
    ("lance_core/commits/cleanup/scope.py", "age > pin_age:", "age > pin_age / 2:"),
    (
        "lance_core/dataset/write/discard_on_failure.py",
        "if current is None or ",
        "if current is not None and ",
    ),
    (
        "lance_core/commits/ancestry.py",
        "        if newest is None or newest",
        "        return True\n        if newest is None or newest",
    ),
)
"""Changes by hand that once survived."""

ALWAYS = (
    "cleanup_scope:other_manifests: found += [meta.path for meta in tree.list(VERSIONS)",
    "same_inserted_keys(ours, committed) -> unresolved_rows(ours, committed)",
    "same_inserted_keys(ours, committed) -> shared_fragments(ours, committed)",
    "-> discard_merged(self._store, self._transaction, transaction)",
)
"""Parts of the keys of others that once survived: tried whatever is chosen."""


def paths() -> Iterator[Path]:
    """The modules that are changed."""
    for folder in FOLDERS:
        for path in sorted(Path(folder).rglob("*.py")):
            if path.name != "__init__.py":
                yield path
    yield from map(Path, MODULES)


def is_always_tried(mutant: Mutant) -> bool:
    """Whether a mutant is one of `ALWAYS`."""
    return any(part in mutant.key for part in ALWAYS)


def chosen(number: int, seed: str = "") -> list[Mutant]:
    """``number`` mutants, spread over modules and functions, and those that once survived.

    What is chosen of a function depends on the function, ``number`` and ``seed`` only.
    """
    every = [list(mutants_of(path)) for path in paths()]
    always = [edited(Path(path), before, after) for path, before, after in EDITED]
    always += [mutant for mutants in every for mutant in mutants if is_always_tried(mutant)]
    spread = _in_turn(list(_in_turn(_by_function(mutants, seed))) for mutants in every)
    others = [mutant for mutant in spread if not is_always_tried(mutant)]
    return [*always, *others[: max(0, number - len(always))]]


def _by_function(mutants: Iterable[Mutant], seed: str) -> list[list[Mutant]]:
    """The mutants of each function in an order that looks random, functions likewise."""
    found: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        found[mutant.function].append(mutant)
    for same in found.values():
        same.sort(key=lambda mutant: _hash(mutant.key + seed))
    return sorted(found.values(), key=lambda same: _hash(same[0].key + seed))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _in_turn(lists: Iterable[list[Mutant]]) -> Iterator[Mutant]:
    """The first of each list, then the second of each, and so on."""
    for row in zip_longest(*lists):
        yield from (mutant for mutant in row if mutant is not None)
