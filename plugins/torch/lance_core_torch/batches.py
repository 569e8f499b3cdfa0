"""Batches of other sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def joined(batches: Iterable[pa.RecordBatch], max_rows: int) -> Iterator[pa.RecordBatch]:
    """The batches, small neighbours in one as long as it has at most ``max_rows`` rows.

    Larger ones stay as they are: none is split.
    """
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if waiting and rows + batch.num_rows > max_rows:
            yield pa.concat_batches(waiting) if len(waiting) > 1 else waiting[0]
            waiting, rows = [], 0
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
    if waiting:
        yield pa.concat_batches(waiting) if len(waiting) > 1 else waiting[0]


def rebatched(batches: Iterable[pa.RecordBatch], num_rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of ``num_rows``; the last one may have fewer."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= num_rows:
            whole = pa.concat_batches(waiting)
            full = rows - rows % num_rows
            yield from (whole.slice(start, num_rows) for start in range(0, full, num_rows))
            waiting, rows = [whole.slice(full)], rows - full
    if rows:
        yield pa.concat_batches(waiting)
