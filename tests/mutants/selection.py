"""Which mutants are tried, and by which tests."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from tests.mutants.operators import Mutant, edited, mutants_of


@dataclass(frozen=True)
class Area:
    """Code that is changed, and the tests near it.

    ``paths``: modules, and folders with all their modules. ``tests``: a mutant is tried by those
    that call the changed function. ``number``: of mutants that are tried, if not said otherwise.
    """

    paths: tuple[str, ...]
    tests: tuple[str, ...]
    number: int

    def modules(self) -> Iterator[Path]:
        """The modules that are changed."""
        for path in map(Path, self.paths):
            found = [path] if path.suffix else sorted(path.rglob("*.py"))
            yield from (module for module in found if module.name != "__init__.py")


_WRITE, _MAINTENANCE = "lance_core/dataset/write", "lance_core/dataset/maintenance"
_IDENTITY, _VERIFICATION = "lance_core/commits/identity.py", "lance_core/commits/verification.py"
_COMPACTION = "plugins/compaction/lance_core_compaction"
_UNIT = "tests/unit/dataset"
_VECTOR = "plugins/vector/lance_core_vector"
_TEXT = "plugins/text/lance_core_text"

AREAS = {
    "commits": Area(
        (
            *("lance_core/commits", "lance_core/table", "lance_core/store/local"),
            *(f"{_WRITE}/delete.py", f"{_MAINTENANCE}/cleanup.py"),
        ),
        (
            *("tests/unit/commits", "tests/unit/table", "tests/unit/store/local"),
            *("tests/conformance/test_local_store.py", "tests/conformance/test_commit_handlers.py"),
            *("tests/conformance/test_external_manifest_handler.py", f"{_UNIT}/test_branches.py"),
            *(f"{_UNIT}/maintenance/test_cleanup.py", f"{_UNIT}/write/test_delete.py"),
            *(f"{_UNIT}/test_concurrent_changes.py", f"{_UNIT}/write/test_commit.py"),
            *(f"{_UNIT}/test_append_race.py", f"{_UNIT}/test_tags.py"),
            *(f"{_UNIT}/test_durability.py", f"{_UNIT}/maintenance/test_clone.py"),
            *(f"{_UNIT}/snapshot/test_versions.py", "tests/unit/plugins/test_handler_choice.py"),
            *("tests/liars/test_commit_handlers.py", "tests/liars/test_manifest_stores.py"),
        ),
        180,
    ),
    "merges": Area(
        (f"{_WRITE}/merge_insert",),
        (
            *(f"{_UNIT}/write/merge_insert", f"{_UNIT}/test_merge_effects.py"),
            f"{_UNIT}/test_merge_insert.py",
            f"{_UNIT}/test_concurrent_changes.py",
        ),
        110,
    ),
    "rows": Area(
        tuple(
            f"{_WRITE}/{name}.py"
            for name in (
                *("update", "row_rewrite", "row_changes", "changed_rows", "deletions", "delete"),
                *("replace_rows", "discard_on_failure", "retry_on_conflict", "fragment_writer"),
            )
        ),
        (
            *(f"{_UNIT}/write", f"{_UNIT}/blobs/test_blobs.py"),
            f"{_UNIT}/test_concurrent_changes.py",
            "tests/interop/test_stable_row_ids_interop.py",
        ),
        90,
    ),
    "compaction": Area(
        (_COMPACTION,),
        (
            "tests/unit/compaction",
            *(
                "tests/interop/test_binary_copy_interop.py",
                "tests/interop/test_merged_pages_interop.py",
            ),
        ),
        150,
    ),
    "indices": Area(
        (
            *(f"{_MAINTENANCE}/indices", "lance_core/table/indices", "lance_core/table/row_ids"),
            "lance_core/dataset/read/sources/prefilter/stored_indices.py",
        ),
        (
            *(f"{_UNIT}/maintenance/indices", "tests/unit/table/indices"),
            *("tests/unit/table/row_ids", f"{_UNIT}/write/test_update.py"),
            *(f"{_UNIT}/read/test_stored_indices.py", "tests/liars/test_index_types.py"),
        ),
        90,
    ),
    "vectors": Area(
        (
            *("lance_core/index/ranking.py", "lance_core/dataset/read/ranking"),
            *(f"{_VECTOR}/{name}" for name in ("kinds", "quantizers", "partitions", "training")),
            *(f"{_VECTOR}/{name}.py" for name in ("distances", "query", "shortlist", "vectors")),
        ),
        (
            *("tests/unit/vector", "tests/vector", "tests/conformance/test_ranked_index.py"),
            *("tests/text/test_filters.py", "tests/text/test_fuzzy.py"),
            "tests/interop/index/test_text_elements_interop.py",
        ),
        90,
    ),
    "text": Area(
        tuple(
            f"{_TEXT}/{name}" for name in ("analyzers", "postings", "queries", "scoring", "write")
        ),
        (
            *("tests/text", "tests/interop/index/test_text_interop.py"),
            *(
                "tests/interop/index/test_text_json_interop.py",
                "tests/conformance/test_analyzers.py",
            ),
        ),
        90,
    ),
}
"""By name. What keeps tables safe, and what changes their rows."""

EDITED = (
    ("lance_core/commits/cleanup/scope.py", "age > pin_age:", "age > pin_age / 2:"),
    (
        "lance_core/dataset/write/discard_on_failure.py",
        "if current is None or ",
        "if current is not None and ",
    ),
    (
        "lance_core/commits/ancestry.py",
        "    newest = handler.latest()\n    if newest is None or newest",
        "    return True\n    newest = handler.latest()\n    if newest is None or newest",
    ),
    (_IDENTITY, "if committed.uuid != ours.uuid:", "if False:"),
    (_IDENTITY, "committed.to_bytes() == ours.to_bytes()", "True"),
    (_IDENTITY, 'ours.properties.get(INTENT, "-")', "ours.properties.get(INTENT)"),
    (_IDENTITY, '(_digest(ours), ours.properties.get(INTENT, "-"))', "(_digest(ours),)"),
    (_IDENTITY, "(_digest(ours), ours.prop", "(ours.prop"),
    (_VERIFICATION, "if age is None or not self._brings_files", "if not self._brings_files"),
    (_VERIFICATION, "if self._options.age_of_files is None or not self._brings_files", "if False"),
    (_VERIFICATION, "not self._found_files and age() > FRESH", "age() > FRESH"),
    (_VERIFICATION, "if is_certain and self._withdraw(made):", "if self._withdraw(made):"),
    (_VERIFICATION, "if is_certain and self._withdraw(made):", "if is_certain:"),
    (
        f"{_MAINTENANCE}/indices/optimize.py",
        "any(snapshot.fragment(id_).deletion_file is not None for id_ in covered)",
        "False",
    ),
    (f"{_COMPACTION}/commit.py", "zip(moved, addresses,", "zip(moved, addresses[::-1],"),
    (
        f"{_COMPACTION}/commit.py",
        "new_transaction(snapshot, rewrite,",
        "new_transaction(self.snapshot, rewrite,",
    ),
    (f"{_COMPACTION}/remap.py", "fragment_reuse(snapshot).map.then(rewrite)", "rewrite"),
    (
        f"{_COMPACTION}/remap.py",
        "fragment_reuse(snapshot).map.then(rewrite)",
        "rewrite.then(fragment_reuse(snapshot).map)",
    ),
    (f"{_COMPACTION}/remap.py", "snapshot.deleted_offsets(fragment))", "None)"),
    (f"{_COMPACTION}/rewrite.py", "written != expected", "written < expected"),
    (f"{_COMPACTION}/rewrite.py", "written != expected", "written > expected"),
    (f"{_COMPACTION}/rewrite.py", "start += fragment", "start = fragment"),
)
"""Changes by hand that once survived."""

ALWAYS = (
    "cleanup_scope:other_manifests: found += [meta.path for meta in tree.list(VERSIONS)",
    "same_inserted_keys(ours, committed) -> unresolved_rows(ours, committed)",
    "same_inserted_keys(ours, committed) -> shared_fragments(ours, committed)",
    "-> discard_merged(self._store, self._transaction, transaction)",
    "lance_core.commits.identity:is_same:",
    "verification:CommitVerification.at_published_files: not is_slow and (not self._is_free) ->",
    "maintenance.indices.optimize:_may_have_moved_rows:",
)
"""Parts of the keys of others that once survived: tried whatever is chosen."""


def is_always_tried(mutant: Mutant) -> bool:
    """Whether a mutant is one of `ALWAYS`."""
    key = mutant.key
    return any(part in key for part in ALWAYS)


def chosen(area: Area, number: int | None = None, seed: str = "") -> list[Mutant]:
    """Mutants of an area, spread over modules and functions, and those that once survived.

    What is chosen of a function depends on the function, ``number`` and ``seed`` only.
    """
    number = area.number if number is None else number
    paths = list(area.modules())
    every = [list(mutants_of(path)) for path in paths]
    by_hand = [edit for edit in EDITED if Path(edit[0]) in paths]
    always = [edited(Path(path), before, after) for path, before, after in by_hand]
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
