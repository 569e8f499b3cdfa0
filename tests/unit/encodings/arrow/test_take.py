"""Choosing rows of Arrow data: also of vectors of vectors that begin within their memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.encodings.arrow.take import filter_rows, take_rows
from tests.each_case import each_case

_ROWS = 120


def _matrices(rows: int, skipped: int = 0) -> pa.Array:
    """Vectors of 2 vectors of 3 numbers, where the inner ones begin at an offset, or all do."""
    numbers = pa.array(np.arange(6 * (rows + 2 * skipped), dtype=np.int64))
    inner = pa.FixedSizeListArray.from_arrays(numbers, 3).slice(2 * skipped)
    return pa.FixedSizeListArray.from_arrays(inner, 2).slice(skipped)


def _shapes(rows: int) -> dict[str, pa.Array]:
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32))
    hidden = pa.array(np.arange(rows) % 4 == 1)
    return {
        "plain": _matrices(rows, 5),
        "struct": pa.StructArray.from_arrays([_matrices(rows + 3)], ["x"]).slice(3),
        "null lists with items": pa.ListArray.from_arrays(offsets, _matrices(rows, 5), mask=hidden),
        "numbers": pa.array(np.arange(rows)),
    }


@each_case("shape", _shapes(1))
def test_of_arrays_and_tables_the_right_rows_are_chosen(shape: str) -> None:
    array = _shapes(_ROWS)[shape]
    values, rows = array.to_pylist(), [7, 3, 99, 3]
    mask = np.arange(_ROWS) % 7 == 2
    kept = [value for value, keep in zip(values, mask, strict=True) if keep]
    table = pa.table(
        {
            "x": pa.chunked_array([array.slice(0, 50), array.slice(50)]),
            "other": pa.chunked_array([pa.array(range(20)), pa.array(range(20, _ROWS))]),
        }
    )
    assert take_rows(array, pa.array(rows)).to_pylist() == [values[row] for row in rows]
    assert filter_rows(array, pa.array(mask)).to_pylist() == kept
    assert take_rows(table, pa.array(rows))["x"].to_pylist() == [values[row] for row in rows]
    assert filter_rows(table, pa.array(mask))["x"].to_pylist() == kept
    assert filter_rows(table, pa.array(mask))["other"].to_pylist() == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("pages", [{}, {"data_cache_bytes": 1000, "max_page_bytes": 1000}])
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_tables_give_the_right_vectors_of_vectors(
    version: str, pages: dict[str, int], tmp_path: Path
) -> None:
    data = pa.table({"key": range(_ROWS), **_shapes(_ROWS)})
    values = data.to_pylist()
    table = lance_core.write_dataset(
        data, str(tmp_path / "t"), data_storage_version=version, **pages
    )
    assert table.to_table().to_pylist() == values
    assert table.to_table(filter="key % 7 = 2").to_pylist() == values[2::7]
    assert table.to_table(filter="key > 30 and key < 60").to_pylist() == values[31:60]
    assert table.take([99, 3, 7]).to_pylist() == [values[99], values[3], values[7]]
    table.delete("key % 5 = 1")
    left = [value for value in values if value["key"] % 5 != 1]
    assert table.to_table().to_pylist() == left
    assert table.to_table(offset=10, limit=50).to_pylist() == left[10:60]
