from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import DatasetNotFoundError, InvalidInputError

COLUMNS = ["a", "b", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


def rows(start: int, stop: int) -> pa.Table:
    return pa.table({"a": pa.array(range(start, stop)), "b": ["old"] * (stop - start)})


def changed(path: Path, *, stable: bool = True) -> lance.LanceDataset:
    """Version 1: rows 0 to 7; 2: append 8, 9; 3: update 1, 8; 4: delete 2, 9; 5: update 1."""
    dataset = lance.write_dataset(
        rows(0, 8), path, max_rows_per_file=4, enable_stable_row_ids=stable
    )
    dataset = lance.write_dataset(rows(8, 10), path, mode="append")
    dataset.update({"b": "'new'"}, "a IN (1, 8)")
    dataset.delete("a IN (2, 9)")
    dataset.update({"b": "'newer'"}, "a = 1")
    return dataset


def numbers(reader: pa.RecordBatchReader, column: str = "a") -> list[int]:
    found: list[int] = reader.read_all()[column].to_pylist()
    return sorted(found)


@pytest.mark.parametrize(
    ("begin", "end", "inserted", "updated", "deleted"),
    [
        (1, 5, [8], [1], [2]),
        (0, 1, [0, 1, 3, 4, 5, 6, 7], [], []),
        (0, 5, [0, 1, 3, 4, 5, 6, 7, 8], [], []),
        (2, 3, [], [8], []),
        (3, 4, [], [], [2, 9]),
        (4, 5, [], [1], []),
        (5, 5, [], [], []),
    ],
)
def test_changes_between_versions(
    tmp_path: Path,
    begin: int,
    end: int,
    inserted: list[int],
    updated: list[int],
    deleted: list[int],
) -> None:
    dataset = changed(tmp_path / "t")
    delta = dataset.delta(begin_version=begin, end_version=end)
    assert numbers(delta.get_inserted_rows()) == inserted
    assert numbers(delta.get_updated_rows()) == updated
    assert numbers(delta.get_deleted_row_ids(), "_rowid") == deleted
    assert numbers(delta.get_deleted_rows()) == deleted
    for reader in (delta.get_inserted_rows(), delta.get_updated_rows(), delta.get_deleted_rows()):
        assert reader.schema.names == COLUMNS
    transactions = delta.list_transactions()
    assert [one.read_version for one in transactions] == list(range(begin, end))


def test_rows_say_what_they_are_and_what_they_were(tmp_path: Path) -> None:
    delta = changed(tmp_path / "t").delta(2)
    assert delta.get_updated_rows().read_all().to_pydict() == {
        "a": [8, 1],
        "b": ["new", "newer"],
        "_rowid": [8, 1],
        "_row_created_at_version": [2, 1],
        "_row_last_updated_at_version": [3, 5],
    }
    assert delta.get_updated_rows_before().read_all().to_pydict() == {
        "a": [8, 1],
        "b": ["old", "old"],
        "_rowid": [8, 1],
        "_row_created_at_version": [2, 1],
        "_row_last_updated_at_version": [2, 1],
    }
    assert delta.get_deleted_rows().read_all().to_pydict() == {
        "a": [2, 9],
        "b": ["old", "old"],
        "_rowid": [2, 9],
        "_row_created_at_version": [1, 2],
        "_row_last_updated_at_version": [1, 2],
    }


def test_an_older_version_shows_rows_as_they_were(tmp_path: Path) -> None:
    dataset = changed(tmp_path / "t")
    rows = dataset.checkout_version(3).delta(1).get_updated_rows().read_all()
    assert rows["b"].to_pylist() == ["new"]


def test_an_overwrite_deletes_all_rows_and_restoring_brings_them_back(tmp_path: Path) -> None:
    changed(tmp_path / "t")
    dataset = lance.write_dataset(rows(0, 3), tmp_path / "t", mode="overwrite")
    assert numbers(dataset.delta(5).get_deleted_rows()) == [0, 1, 3, 4, 5, 6, 7, 8]
    assert numbers(dataset.delta(5).get_inserted_rows()) == [0, 1, 2]
    old = dataset.checkout_version(5)
    old.restore()
    restored = lance.dataset(tmp_path / "t")
    assert numbers(restored.delta(6).get_deleted_row_ids(), "_rowid") == [10, 11, 12]
    assert numbers(restored.delta(5).get_deleted_row_ids(), "_rowid") == []


def test_deleted_rows_have_the_columns_of_their_version(tmp_path: Path) -> None:
    changed(tmp_path / "t")
    other = pa.table({"c": [1.5]})
    dataset = lance.write_dataset(other, tmp_path / "t", mode="overwrite")
    gone = dataset.delta(begin_version=5, end_version=6).get_deleted_rows()
    assert gone.schema.names == COLUMNS
    assert dataset.delta(5).get_inserted_rows().schema.names == ["c", *COLUMNS[2:]]


def test_without_stable_row_ids_no_rows_are_known(tmp_path: Path) -> None:
    delta = changed(tmp_path / "t", stable=False).delta(1)
    assert len(delta.list_transactions()) == 4
    assert numbers(delta.get_inserted_rows()) == numbers(delta.get_updated_rows()) == []
    for deleted in (delta.get_deleted_row_ids, delta.get_deleted_rows):
        with pytest.raises(InvalidInputError, match="stable row ids"):
            deleted()


@pytest.mark.parametrize(
    "versions",
    [{}, {"begin_version": 1}, {"end_version": 1}, {"compared_against": -1}],
)
def test_a_delta_needs_two_versions(tmp_path: Path, versions: dict[str, Any]) -> None:
    dataset = changed(tmp_path / "t")
    with pytest.raises(InvalidInputError, match="version"):
        dataset.delta(**versions)
    with pytest.raises(TypeError):
        dataset.delta(begin_version=1.5, end_version=2)  # type: ignore[arg-type]


def test_versions_that_do_not_exist_or_are_in_the_wrong_order(tmp_path: Path) -> None:
    dataset = changed(tmp_path / "t")
    delta = dataset.delta(begin_version=4, end_version=9)
    for ask in (delta.list_transactions, delta.get_deleted_row_ids, delta.get_deleted_rows):
        with pytest.raises(DatasetNotFoundError):
            ask()
    backwards = dataset.delta(begin_version=4, end_version=3)
    assert backwards.list_transactions() == []
    assert numbers(backwards.get_updated_rows()) == []
    with pytest.raises(InvalidInputError, match="begin version 4 is newer than end version 3"):
        backwards.get_deleted_row_ids()
