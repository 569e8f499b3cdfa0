"""`LanceDataset.find_keys`: the pairs of rows of the table and of keys."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import InvalidInputError, SchemaMismatchError


@pytest.fixture
def dataset(tmp_path: Path) -> lance_core.LanceDataset:
    """Rows in fragments of 3, of which (2, 'c') and a null repeat; the row 4 is deleted."""
    rows = pa.table({"n": [0, 1, 2, 2, 4, 5, None], "s": ["a", "b", "c", "c", "e", None, "g"]})
    lance_core.write_dataset(rows, str(tmp_path), max_rows_per_file=3)
    dataset = lance_core.dataset(str(tmp_path))
    dataset.delete("n = 4")
    return dataset


def pairs(
    dataset: lance_core.LanceDataset, keys: pa.Table, fragments: list[int] | None = None
) -> set[tuple[int, int]]:
    found = dataset.find_keys(keys, fragments)
    assert found.column_names == ["_rowaddr", "_position"]
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert len(set(rows)) == len(rows)
    return {((address >> 32) * 3 + (address & 0xFFFFFFFF), position) for address, position in rows}


def test_all_pairs_of_equal_keys_are_found(dataset: lance_core.LanceDataset) -> None:
    keys = pa.table({"n": pa.chunked_array([[9, 2, None], [0, 2, 4]])})
    assert pairs(dataset, keys) == {(2, 1), (2, 4), (3, 1), (3, 4), (0, 3)}
    assert pairs(dataset, keys, [1]) == {(3, 1), (3, 4)}
    assert pairs(dataset, keys, []) == set()
    assert pairs(dataset, keys.slice(0, 0)) == set()
    both = pa.table({"s": ["c", "b", "b", None], "n": [2, 1, 2, 5]})
    assert pairs(dataset, both) == {(2, 0), (3, 0), (1, 1)}


def test_keys_must_be_columns_of_the_table(dataset: lance_core.LanceDataset) -> None:
    with pytest.raises(SchemaMismatchError, match="'n' of type int32; the table has it as int64"):
        dataset.find_keys(pa.table({"n": pa.array([1], pa.int32())}))
    with pytest.raises(SchemaMismatchError, match=r"'x' .*no such column"):
        dataset.find_keys(pa.table({"x": [1]}))
    with pytest.raises(InvalidInputError, match="no column"):
        dataset.find_keys(pa.table({}))
    with pytest.raises(InvalidInputError, match="no fragment 7"):
        dataset.find_keys(pa.table({"n": [1]}), [7])
