"""Keys are found in packed pages; other pages are left to the caller."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.datafile.column_map import column_of
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.decoding import RowRange, ValueMatches, decode_in_memory
from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
from lance_core.encodings.v2_1.fast.key_search import MAX_PAGES, find_integers
from lance_core.encodings.version import FileVersion
from lance_core.schema import Schema
from lance_core_testing.encodings.stored_field import StoredField
from tests.unit.encodings.v2_1.conftest import REGISTRY

PAGE = 2000


def matches(array: pa.Array, rows: RowRange, keys: list[int]) -> ValueMatches | None:
    (field,) = Schema.from_arrow(pa.schema([pa.field("x", array.type)])).fields
    parts = [array.slice(start, PAGE) for start in range(0, len(array), PAGE)]
    stored = StoredField.write(field, parts, REGISTRY, FileVersion.V2_1, flush_bytes=1)
    context = DecodeContext(1 << 40, len(stored.data), FileVersion.V2_1, REGISTRY)
    places, index = column_of([field], FileVersion.V2_1), IntegerIndex(np.array(keys))
    search = find_integers(field, places, stored.columns, rows, index, context)
    return decode_in_memory(search, pa.py_buffer(stored.data))


def test_rows_count_from_the_first_of_the_range() -> None:
    found = matches(pa.array(np.arange(6000) % 3000), RowRange(1900, 4500), [1, 1999, 2500, 7000])
    assert found is not None
    rows, members = found
    assert rows.tolist() == [99, 600, 3001 - 1900]
    assert members.tolist() == [1, 2, 0]


def test_nulls_and_many_pages_are_left_to_the_caller() -> None:
    numbers = np.arange(PAGE * (MAX_PAGES + 1))
    assert matches(pa.array(numbers), RowRange(0, len(numbers)), [1]) is None
    assert matches(pa.array(numbers), RowRange(PAGE, len(numbers)), [PAGE + 1]) is not None
    assert matches(pa.array([1, None] * 100), RowRange(0, 200), [1]) is None
    assert matches(pa.array([[1], [2]] * 100), RowRange(0, 200), [1]) is None
