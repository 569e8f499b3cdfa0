"""The tables that a scan finds, one for each window, cut into the batches of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from lance_core.dataset.expressions.combine_chunks import combine_chunks
from lance_core.dataset.expressions.zero_column_tables import concatenated, sliced


class ScannedRows(NamedTuple):
    """Rows of one fragment; ``is_last``: no others of the same span come after these."""

    table: pa.Table
    is_last: bool


class BatchSizes(NamedTuple):
    """``most_rows`` of a batch; with ``exact`` all batches but the last have that many.

    If not, a batch has rows of one fragment, and does not wait for more rows from ``enough_bytes``
    on.
    """

    most_rows: int
    exact: bool
    enough_bytes: int


def in_batches(
    found: Iterable[ScannedRows], schema: pa.Schema, sizes: BatchSizes
) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of ``schema``; copies only where a column's chunks meet."""
    for table in _whole(found, schema, sizes):
        for start in range(0, table.num_rows, sizes.most_rows):
            yield _batch(table, schema, start, min(start + sizes.most_rows, table.num_rows))


def _whole(
    found: Iterable[ScannedRows], schema: pa.Schema, sizes: BatchSizes
) -> Iterator[pa.Table]:
    """Tables of whole batches, except for what does not wait for more rows."""
    waiting: list[pa.Table] = []
    rows = 0
    for table, is_last in found:
        waiting.append(table)
        rows += table.num_rows
        rest = 0 if is_last and not sizes.exact else rows % sizes.most_rows
        if rest == rows:
            if not sizes.exact and sum(one.nbytes for one in waiting) >= sizes.enough_bytes:
                rest = 0
            else:
                continue
        joined = concatenated(waiting, schema)
        yield sliced(joined, 0, rows - rest)
        waiting = [sliced(joined, rows - rest)] if rest else []
        rows = rest
    yield concatenated(waiting, schema)


def _batch(table: pa.Table, schema: pa.Schema, start: int, stop: int) -> pa.RecordBatch:
    if not schema.names:
        return sliced(table, start, stop - start).to_batches()[0]
    arrays = [combine_chunks(column.slice(start, stop - start)) for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
