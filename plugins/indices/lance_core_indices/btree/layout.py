"""The two files of a BTREE index, and how to write them.

``page_data.lance`` has all rows: ``values``, ascending and nulls first, and ``ids``, the row
numbers. Page i is rows i·batch_size to (i + 1)·batch_size; only the last page is shorter.
``page_lookup.lance`` has a row for each page: ``min`` and ``max``, which are the first and the last
value of the page and so may be null; ``null_count``; ``page_idx``, the number of the page. Its
schema metadata contains ``batch_size``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.arrays import empty_array, from_numpy
from lance_core.hookspecs.indices import IndexBatch, IndexOutput

PAGE_DATA = "page_data.lance"
PAGE_LOOKUP = "page_lookup.lance"
BATCH_SIZE = "batch_size"
RANGE_PARTITIONED = "range_partitioned"
PARTITION_PAGES = "page_num_per_range_partition"
DEFAULT_BATCH_SIZE = 4096
"""Rows of a page in new indices."""
UNSTATED_BATCH_SIZE = 4096
"""Rows of a page in files without ``batch_size``: a rule of the format, whatever the default is."""


def page_schema(type_: pa.DataType) -> pa.Schema:
    """The schema of ``page_data.lance``."""
    return pa.schema(
        [pa.field("values", type_), pa.field("ids", pa.uint64(), nullable=False)],
    )


def lookup_schema(type_: pa.DataType, batch_size: int) -> pa.Schema:
    """The schema of ``page_lookup.lance``."""
    return pa.schema(
        [
            pa.field("min", type_),
            pa.field("max", type_),
            pa.field("null_count", pa.uint32(), nullable=False),
            pa.field("page_idx", pa.uint32(), nullable=False),
        ],
        {BATCH_SIZE: str(batch_size), RANGE_PARTITIONED: "false"},
    )


def write_pages(
    output: IndexOutput,
    type_: pa.DataType,
    batch_size: int,
    batches: Iterator[IndexBatch],
    num_rows: int,
) -> None:
    """Write both files. ``batches`` has all rows in the order of the pages.

    ``num_rows`` is the expected number of rows, for the progress.
    """
    bounds = _PageBounds(type_, batch_size)
    schema = page_schema(type_)
    with output.create(PAGE_DATA, schema) as file:
        for values, rows in batches:
            stored = _as_stored(values, type_)
            file.write(pa.RecordBatch.from_arrays([stored, from_numpy(rows)], schema=schema))
            bounds.add(stored)
            output.progress("write pages", bounds.num_rows, num_rows)
    lookup = bounds.lookup()
    with output.create(PAGE_LOOKUP, lookup.schema) as file:
        file.write(lookup)


def _as_stored(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """``values`` with type ``type_``; values of dictionaries are sorted without dictionaries."""
    if values.type == type_:
        return values
    return values.dictionary_encode().cast(type_)


class _PageBounds:
    """Collects the rows of the lookup."""

    def __init__(self, type_: pa.DataType, batch_size: int) -> None:
        self._kind = type_
        self._batch_size = batch_size
        self._first = [empty_array(type_)]
        self._last = [empty_array(type_)]
        self._end = self._last[0]
        self._num_nulls = 0
        self.num_rows = 0

    def add(self, values: pa.Array) -> None:
        size, start, count = self._batch_size, self.num_rows, len(values)
        firsts = np.arange(-start % size, count, size)
        lasts = np.arange((-start - 1) % size, count, size)
        self._first.append(values.take(from_numpy(firsts)))
        self._last.append(values.take(from_numpy(lasts)))
        self._end = values.slice(max(0, count - 1))
        self._num_nulls += values.null_count
        self.num_rows += count

    def lookup(self) -> pa.RecordBatch:
        size = self._batch_size
        if self.num_rows % size:
            self._last.append(self._end)
        starts = np.arange(0, self.num_rows, size)
        nulls = np.clip(self._num_nulls - starts, 0, np.minimum(size, self.num_rows - starts))
        arrays = [
            pa.concat_arrays(self._first),
            pa.concat_arrays(self._last),
            from_numpy(nulls.astype(np.uint32)),
            from_numpy(np.arange(len(starts), dtype=np.uint32)),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=lookup_schema(self._kind, size))
