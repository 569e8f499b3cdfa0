"""Combine the chunks of a column into one array, or into fewer chunks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa

from lance_core.encodings.arrow.dictionary_items import has_dictionaries, with_used_items
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.errors import ResultTooLargeError
from lance_core.schema.empty_arrays import empty_array

T = TypeVar("T")

_FEW_ROWS = 1 << 12
"""Chunks of fewer rows are combined: a copy takes less time than one more kernel call."""


def combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    """All values of ``column`` as one array, copied only if the column has several chunks.

    Raises `ResultTooLargeError` if one array cannot hold them: for example 2 GiB of strings, or
    more distinct dictionary values than the index type can number.
    """
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return empty_array(column.type)
    try:
        # `ChunkedArray.combine_chunks` ignores the memory pool that it gets.
        return concat_arrays(column.chunks)
    except ResultTooLargeError:
        if has_dictionaries(column.type):
            with contextlib.suppress(pa.ArrowInvalid):
                return with_used_items(column).combine_chunks()
        raise


def fitting_parts(rows: pa.Table, make: Callable[[pa.Table], T]) -> Iterator[T]:
    """``make`` of all rows, or of parts of them if it raises `ResultTooLargeError`.

    Raises `ResultTooLargeError` only if ``make`` does so for a single row.
    """
    made: list[T] = []
    try:
        made.append(make(rows))
    except ResultTooLargeError:
        if rows.num_rows < 2:
            raise
    # Not in the handler, because the traceback keeps alive what was made.
    if made:
        yield made.pop()
        return
    middle = rows.num_rows // 2
    yield from fitting_parts(rows.slice(0, middle), make)
    yield from fitting_parts(rows.slice(middle), make)


def fitting_batches(rows: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows as one batch of ``schema``, or as several if one array cannot hold a column."""

    def batch(part: pa.Table) -> pa.RecordBatch:
        columns = [combine_chunks(column) for column in part.columns]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return fitting_parts(rows, batch)


def with_few_chunks(data: pa.Table) -> pa.Table:
    """The same rows; combines the chunks as `with_joined_chunks` does if they have few rows."""
    most = max((column.num_chunks for column in data.columns), default=0)
    if most < 2 or most * _FEW_ROWS < data.num_rows:
        return data
    return with_joined_chunks(data)


def with_joined_chunks(data: pa.Table) -> pa.Table:
    """The same rows in one chunk per column; in several if one array cannot hold the column."""
    if all(column.num_chunks < 2 for column in data.columns):
        return data
    with contextlib.suppress(pa.ArrowInvalid):
        return data.combine_chunks()
    columns = [with_used_items(column) for column in data.columns]
    with contextlib.suppress(pa.ArrowInvalid):
        return pa.Table.from_arrays(columns, schema=data.schema).combine_chunks()
    return data
