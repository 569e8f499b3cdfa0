"""Take or filter rows of Arrow arrays and tables of every type.

Arrow 26 silently takes the wrong items from sliced arrays of fixed-size lists of fixed-size lists
(arrays that do not start at offset 0). This module copies such arrays first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.dictionary_items import copied, with_used_items
from lance_core.encodings.arrow.memory_pool import memory_pool
from lance_core.errors import ResultTooLargeError

Data = TypeVar("Data", pa.Array, pa.Table)


def take_rows(data: Data, rows: pa.Array) -> Data:
    """The rows at the indices ``rows``, in that order; a null index gives a null row.

    The rows of a table are in several chunks if one array cannot hold them. Raises
    `ResultTooLargeError` if this holds for a single row or for the rows of an array.
    """
    try:
        return _each(data, lambda part: _take(part, rows))
    except pa.ArrowInvalid as error:
        if isinstance(data, pa.Array) or len(rows) < 2:
            raise ResultTooLargeError(f"{len(rows)} rows do not fit one array: {error}") from error
    return _taken_in_parts(data, rows)


def _taken_in_parts(data: pa.Table, rows: pa.Array) -> pa.Table:
    """`take_rows` of a table, although one array cannot hold a column of it or of the result.

    Arrow joins all chunks before it takes rows, so the rows that are not wanted are left out first.
    """
    used, indices = _cut_to(data, rows)
    if indices.equals(pa.array(np.arange(used.num_rows))):
        return used
    with contextlib.suppress(pa.ArrowInvalid):
        return _each(used, lambda part: _take(part, indices))
    middle = len(indices) // 2
    return pa.concat_tables([take_rows(used, indices[:middle]), take_rows(used, indices[middle:])])


def _take(data: Data, rows: pa.Array) -> Data:
    import pyarrow.compute as pc

    return pc.take(data, rows, memory_pool=memory_pool())


def filter_rows(data: Data, mask: pa.Array) -> Data:
    """The rows for which ``mask`` is true; ``mask`` has no nulls."""
    return _each(data, lambda part: part.filter(mask))


def _cut_to(data: pa.Table, rows: pa.Array) -> tuple[pa.Table, pa.Array]:
    """The distinct rows of ``data`` that ``rows`` selects, and the indices of ``rows`` among them.

    The dictionaries of the result have only the items that these rows use.
    """
    is_valid = np.asarray(rows.is_valid())
    numbers = np.asarray(rows.fill_null(0))
    is_used = np.zeros(data.num_rows, np.bool_)
    is_used[numbers[is_valid]] = True
    indices = (np.cumsum(is_used) - 1).take(numbers)
    used = filter_rows(data, pa.array(is_used))
    columns = [with_used_items(column) for column in used.columns]
    cut = pa.Table.from_arrays(columns, schema=data.schema)
    return cut, pa.array(indices, mask=~is_valid)


def _each(data: Data, choose: Callable[[Any], Any]) -> Data:
    """Apply ``choose`` to ``data``: to the whole table, or per column if it has nested vectors."""
    if isinstance(data, pa.Array):
        return choose(copied(data) if _has_nested_vectors(data.type) else data)
    if not any(_has_nested_vectors(field.type) for field in data.schema):
        return choose(data)
    # Call ``choose`` on each column: on a whole table Arrow would slice the copied arrays again.
    columns = [choose(_moved(column)) for column in data.columns]
    return pa.Table.from_arrays(columns, schema=data.schema)


def _moved(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not _has_nested_vectors(column.type):
        return column
    return pa.chunked_array([copied(chunk) for chunk in column.chunks], column.type)


def _has_nested_vectors(type_: pa.DataType) -> bool:
    if isinstance(type_, pa.BaseExtensionType):
        return _has_nested_vectors(type_.storage_type)
    if not type_.num_fields:
        return False
    inner = [type_.field(number).type for number in range(type_.num_fields)]
    if pa.types.is_fixed_size_list(type_) and pa.types.is_fixed_size_list(inner[0]):
        return True
    return any(map(_has_nested_vectors, inner))
