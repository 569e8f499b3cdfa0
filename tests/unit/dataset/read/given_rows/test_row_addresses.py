from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.given_rows.row_addresses import picks_of
from lance_core.dataset.read.sources.row_locations import Selector, row_id_index
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.table.row_ids.row_ids import RowIdSequence
from tests.table_surgery import edit_fragment


def written(path: Path, *, stable: bool = True) -> lance.LanceDataset:
    """Rows 0 to 9 in fragments of 4, 4 and 2 rows; row 5 is deleted."""
    rows = pa.table({"a": pa.array(range(10)), "b": [f"row {i}" for i in range(10)]})
    dataset = lance.write_dataset(rows, path, max_rows_per_file=4, enable_stable_row_ids=stable)
    dataset.delete("a = 5")
    return dataset


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([3, 0, 9], [3, 0, 9]),
        ([0, 1, 8], [0, 1, 8]),
        ([9, 9, 1, 9], [9, 9, 1, 9]),
        ([6, 5, 4, 5], [6, 4]),
        ([77, 2, 1 << 40], [2]),
        ([5], []),
        ([], []),
    ],
)
def test_stable_ids_are_taken_in_order_and_missing_ones_left_out(
    tmp_path: Path, ids: list[int], expected: list[int]
) -> None:
    dataset = written(tmp_path / "t")
    assert dataset._take_rows(ids)["a"].to_pylist() == expected
    assert dataset._take_rows(pa.array(ids, pa.uint64()))["a"].to_pylist() == expected
    assert dataset._take_rows(np.array(ids, np.int64))["a"].to_pylist() == expected


def test_columns_are_chosen_as_in_take(tmp_path: Path) -> None:
    dataset = written(tmp_path / "t")
    assert dataset._take_rows([4, 1], columns=["b"]).to_pydict() == {"b": ["row 4", "row 1"]}
    assert dataset._take_rows([4], columns={"c": "a + 1"}).to_pydict() == {"c": [5]}
    meta = dataset._take_rows([9, 6], columns=["_rowid", "_rowaddr", "_rowoffset"])
    assert meta.to_pydict() == {
        "_rowid": [9, 6],
        "_rowaddr": [(2 << 32) + 1, (1 << 32) + 2],
        "_rowoffset": [8, 5],
    }
    assert dataset._take_rows([4, 77], columns=[]).num_rows == 1


def test_without_stable_ids_they_are_addresses(tmp_path: Path) -> None:
    dataset = written(tmp_path / "t", stable=False)
    second = 1 << 32
    assert dataset._take_rows([second, 1, second + 1])["a"].to_pylist() == [4, 1]
    for wrong in (4, second + 4, 9 << 32):
        with pytest.raises(InvalidInputError, match=r"does not exist|no row"):
            dataset._take_rows([0, wrong])
    taken = dataset._take_rows([second + 1], ignore_deletions=True)
    assert taken["a"].to_pylist() == [5]


def test_ids_are_whole_numbers_from_zero_on(tmp_path: Path) -> None:
    dataset = written(tmp_path / "t")
    for wrong in ([-1], [1.5], ["a"], [[1]]):
        with pytest.raises(InvalidInputError):
            dataset._take_rows(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="No field named z"):
        dataset._take_rows([1], columns=["z"])


def test_deletion_files_are_read_only_where_rows_are_taken(tmp_path: Path) -> None:
    dataset = lance.dataset(written(tmp_path / "t").uri)
    dataset._take_rows([0, 9])
    dataset._take_rows([4, 6], ignore_deletions=True)
    assert len(dataset.snapshot.root.session.deletions) == 0
    dataset._take_rows([4])
    assert len(dataset.snapshot.root.session.deletions) == 1


def test_rows_that_updates_have_moved_are_found_where_they_are_live(tmp_path: Path) -> None:
    dataset = written(tmp_path / "t")
    dataset.update({"b": "'new'"}, "a IN (1, 4, 8)")
    dataset.update({"b": "'newer'"}, "a IN (4, 7)")
    dataset.delete("a = 8")
    for again in (dataset, lance.dataset(dataset.uri)):
        taken = again._take_rows([8, 7, 1, 0, 4, 5, 9])
        assert taken["a"].to_pylist() == [7, 1, 0, 4, 9]
        assert taken["b"].to_pylist() == ["newer", "new", "row 0", "newer", "row 9"]
    live = [9, 4, 1, 7, 0]
    assert dataset._take_rows(live, ignore_deletions=True)["a"].to_pylist() == live
    with pytest.raises(InvalidInputError, match="row id 8 is deleted"):
        picks_of(dataset.snapshot, Selector.IDS, [1, 8])
    picks, order = picks_of(dataset.snapshot, Selector.IDS, [7, 0, 7])
    assert [pick.fragment.id for pick in picks] == [0, 4]
    assert order.tolist() == [1, 0, 1]


def test_a_table_that_is_opened_again_shares_the_index(tmp_path: Path) -> None:
    dataset = written(tmp_path / "t")
    again = lance.dataset(dataset.uri)
    assert row_id_index(again.snapshot) is row_id_index(dataset.snapshot)
    older = dataset.checkout_version(1)
    assert row_id_index(older.snapshot) is not row_id_index(dataset.snapshot)
    assert older._take_rows([5])["a"].to_pylist() == [5]


def test_rows_with_one_id_are_found_by_validating(tmp_path: Path) -> None:
    def change(ids: list[int]) -> lance.LanceDataset:
        data = RowIdSequence.from_ids(np.array(ids, np.uint64)).to_bytes()
        return edit_fragment(
            lance.dataset(tmp_path / "t"), lambda one: setattr(one, "inline_row_ids", data), 2
        )

    written(tmp_path / "t").validate()
    with pytest.raises(CorruptFileError, match="two rows have the row id 0"):
        change([0, 9]).validate()
    with pytest.raises(CorruptFileError, match="two rows have the row id 9"):
        change([9, 9])._take_rows([9])
    change([5, 9]).validate()  # row 5 is deleted
    with pytest.raises(CorruptFileError, match="the id 10, but ids from 10 on"):
        change([8, 10]).validate()
    with pytest.raises(CorruptFileError, match="2 rows has 3 row ids"):
        change([8, 9, 7]).validate()
