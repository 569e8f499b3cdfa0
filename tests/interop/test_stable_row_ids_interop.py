"""Row ids and row versions are the same for both libraries, whichever of them changed the table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import lance as pylance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_lineage import RowLineage
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

LIBRARIES: tuple[ModuleType, ...] = (pylance, lance_core)
META = ["_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version"]


def rows(start: int, stop: int) -> pa.Table:
    numbers = range(start, stop)
    return pa.table({"a": pa.array(numbers, pa.int64()), "b": [f"row {i}" for i in numbers]})


def change(
    path: Path, libraries: Iterator[ModuleType], stable: bool, version: str
) -> lance_core.LanceDataset:
    """Eight versions, each written by the next of ``libraries``."""
    options: dict[str, Any] = {
        "max_rows_per_file": 100,
        "enable_stable_row_ids": stable,
        "data_storage_version": version,
    }
    next(libraries).write_dataset(rows(0, 300), path, **options)
    next(libraries).write_dataset(rows(300, 350), path, mode="append")
    next(libraries).dataset(path).update({"b": "'updated'"}, where="a % 7 = 3")
    next(libraries).dataset(path).delete("a % 10 = 4 OR a BETWEEN 100 AND 110")
    next(libraries).dataset(path).update({"b": "'again'"}, where="a % 14 = 3")
    next(libraries).write_dataset(rows(350, 353), path, mode="append")
    next(libraries).dataset(path).update({"b": "'all'"}, where="a >= 200 AND a < 300")
    next(libraries).dataset(path).delete("a = 3 OR a = 351")
    return lance_core.dataset(path)


def by_a(table: pa.Table) -> pa.Table:
    return table.sort_by("a").combine_chunks()


def orders() -> list[tuple[ModuleType, ...]]:
    ours_then_theirs = itertools.cycle([lance_core, pylance])
    theirs_then_ours = itertools.cycle([pylance, lance_core])
    return [
        (lance_core,) * 8,
        tuple(itertools.islice(ours_then_theirs, 8)),
        tuple(itertools.islice(theirs_then_ours, 8)),
    ]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("stable", [True, False], ids=["stable", "addresses"])
@pytest.mark.parametrize("order", orders(), ids=["ours", "ours-theirs", "theirs-ours"])
def test_rows_have_the_same_ids_and_versions(
    tmp_path: Path, order: Sequence[ModuleType], stable: bool, version: str
) -> None:
    change(tmp_path / "mixed", iter(order), stable, version)
    change(tmp_path / "theirs", iter([pylance] * 8), stable, version)
    # Addresses depend on the order in which a writer reads the rows that it moves.
    columns = ["a", "b", *(["_rowid"] if stable else []), *META[2:]]
    wanted = by_a(pylance.dataset(tmp_path / "theirs").to_table(columns=columns))
    for library in LIBRARIES:
        found = library.dataset(tmp_path / "mixed").to_table(columns=columns)
        assert by_a(found).equals(wanted)


@pytest.mark.parametrize("stable", [True, False], ids=["stable", "addresses"])
def test_both_read_the_same_of_one_table(tmp_path: Path, stable: bool) -> None:
    mixed = itertools.cycle([lance_core, pylance])
    ours = change(tmp_path / "t", mixed, stable, "2.1")
    theirs = pylance.dataset(tmp_path / "t")
    columns = ["a", *META]
    assert ours.to_table(columns=columns).equals(theirs.to_table(columns=columns))
    for condition in (
        "_rowid IN (5, 17, 120, 352)",
        "_rowid > 340",
        "_rowaddr < 20",
        "_row_last_updated_at_version > 3",
        "_row_created_at_version = 2 AND _row_last_updated_at_version <> 2",
        "_row_created_at_version IS NULL OR a < 5",
    ):
        found = ours.to_table(columns=columns, filter=condition)
        assert by_a(found).equals(by_a(theirs.to_table(columns=columns, filter=condition)))


def test_both_take_the_same_rows_by_stable_id(tmp_path: Path) -> None:
    ours = change(tmp_path / "t", itertools.cycle(LIBRARIES), True, "2.1")
    theirs = pylance.dataset(tmp_path / "t")
    generator = np.random.default_rng(7)
    for size in (1, 10, 300):
        ids = generator.integers(0, 360, size).tolist()
        for columns in (None, ["b"], {"c": "a + 1"}):
            assert ours._take_rows(ids, columns).equals(theirs._take_rows(ids, columns))
    live = generator.permutation(theirs.to_table(columns=["_rowid"])["_rowid"].to_numpy())
    columns = ["a", *META]
    assert ours._take_rows(live, columns).equals(theirs._take_rows(live.tolist(), columns))


@pytest.mark.parametrize("stable", [True, False], ids=["stable", "addresses"])
def test_both_list_the_same_changes(tmp_path: Path, stable: bool) -> None:
    ours = change(tmp_path / "t", itertools.cycle(LIBRARIES), stable, "2.2")
    theirs = pylance.dataset(tmp_path / "t")
    for begin, end in itertools.combinations(range(9), 2):
        versions = {"begin_version": begin, "end_version": end}
        mine, other = ours.delta(**versions), theirs.delta(**versions)
        found = [transaction.uuid for transaction in mine.list_transactions()]
        assert found == [transaction.uuid for transaction in other.list_transactions()]
        for name in ("get_inserted_rows", "get_updated_rows"):
            changed = getattr(mine, name)().read_all()
            assert by_a(changed).equals(by_a(getattr(other, name)().read_all()))
        if stable:
            ids = mine.get_deleted_row_ids().read_all()
            wanted = other.get_deleted_row_ids().read_all()
            assert ids.sort_by("_rowid").equals(wanted.sort_by("_rowid"))
            gone = mine.get_deleted_rows().read_all()
            assert gone["_rowid"].to_pylist() == ids["_rowid"].to_pylist()


def test_rows_that_a_compaction_moves_keep_their_ids_and_versions(tmp_path: Path) -> None:
    before = change(tmp_path / "t", itertools.cycle(LIBRARIES), True, "2.1").snapshot
    parts = []
    for fragment in before.manifest.fragments:
        rows = np.arange(before.physical_rows(fragment))
        deleted = before.deleted_offsets(fragment)
        parts.append((fragment, rows if deleted is None else np.delete(rows, deleted)))
    lineage = RowLineage.of_rows(parts)
    pylance.dataset(tmp_path / "t").optimize.compact_files()
    after = lance_core.dataset(tmp_path / "t").snapshot
    (compacted,) = after.manifest.fragments
    given = lineage.given_to(compacted, 0)
    rows = np.arange(after.physical_rows(compacted))
    ours, theirs = (RowLineage.of_rows([(one, rows)]) for one in (given, compacted))
    for name in ("row_ids", "last_updated_at", "created_at"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()


@pytest.mark.parametrize("library", LIBRARIES, ids=["theirs", "ours"])
def test_a_clone_and_a_restored_version_keep_the_ids(tmp_path: Path, library: Any) -> None:
    change(tmp_path / "t", itertools.cycle([lance_core]), True, "2.1")
    columns = ["a", "_rowid", *META[2:]]
    source = library.dataset(tmp_path / "t")
    wanted = by_a(source.to_table(columns=columns))
    source.shallow_clone(tmp_path / "clone", 8)
    clone = lance_core.dataset(tmp_path / "clone", allow_base_paths=[str(tmp_path / "t")])
    assert by_a(clone.to_table(columns=columns)).equals(wanted)
    assert clone._take_rows([12, 3, 3, 352]).equals(source._take_rows([12, 3, 3, 352]))
    library.dataset(tmp_path / "t", version=5).restore()
    restored = library.write_dataset(rows(500, 502), tmp_path / "t", mode="append")
    new = restored.to_table(columns=["_rowid"], filter="a >= 500")
    assert new["_rowid"].to_pylist() == [353, 354]


SEQUENCES = {
    "range": range(7, 19),
    "range_with_holes": [*range(100), *range(101, 200)],
    "range_with_bitmap": range(0, 300, 3),
    "sorted_array": [1, 1000, 1 << 20, 1 << 40],
    "array": [5, 3, 9, 1, 7, 2],
    "several": [*range(200, 300), *range(0, 150, 2), *range(400, 500)],
}


@each_case("ids", SEQUENCES.values(), ids=list(SEQUENCES))
def test_sequences_have_the_bytes_of_the_other_library(ids: Sequence[int]) -> None:
    sequence = RowIdSequence.from_ids(np.array(ids, np.uint64))
    theirs = pylance.fragment.RowIdSequence(list(ids))
    metadata = theirs.to_inline_metadata()
    assert RowIdSequence.from_bytes(bytes(metadata.asdict()["Inline"]), len(ids)).slice(
        0, len(ids)
    ).tolist() == list(ids)
    back = pylance.fragment.RowIdMeta.from_dict({"Inline": list(sequence.to_bytes())})
    assert list(pylance.fragment.RowIdSequence.from_inline_metadata(back)) == list(ids)
    if len(sequence.segments) == 1:
        assert bytes(metadata.asdict()["Inline"]) == sequence.to_bytes()
