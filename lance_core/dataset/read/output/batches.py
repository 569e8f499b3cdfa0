"""Split the tables of a scan, one for each window, into the record batches of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.steps.results import ScannedRows
from lance_core.encodings.arrow.combine_chunks import combine_chunks, fitting_batches
from lance_core.encodings.arrow.dictionary_items import bytes_of_rows
from lance_core.encodings.arrow.zero_column_tables import concatenated, sliced
from lance_core.errors import ResultTooLargeError

if TYPE_CHECKING:
    pass


class BatchSizes(NamedTuple):
    """The limits of a batch: ``most_rows``, which with ``exact`` all batches but the last have.

    Without ``exact``, a batch has rows of one fragment only, and a batch of at least
    ``enough_bytes`` does not wait for more rows. ``most_bytes``: a batch of several rows has at
    most about this many bytes.
    """

    most_rows: int
    exact: bool
    enough_bytes: int
    most_bytes: int | None = None


def in_batches(
    scanned: Iterable[ScannedRows], schema: pa.Schema, sizes: BatchSizes
) -> Iterator[pa.RecordBatch]:
    """The rows of ``scanned`` as batches of ``schema``; copies only at chunk borders in a batch."""
    for table in _whole(scanned, schema, sizes):
        for start in range(0, table.num_rows, sizes.most_rows):
            stop = min(start + sizes.most_rows, table.num_rows)
            for batch in _batches(table, schema, start, stop):
                if sizes.most_bytes is None:
                    yield batch
                else:
                    yield from _of_size(batch, sizes.most_bytes)


def _of_size(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """The rows of ``batch`` in batches of about ``most`` bytes, and of at least one row."""
    size, rows = bytes_of_rows(batch), batch.num_rows
    if size <= most or rows <= 1:
        yield batch
        return
    step = max(1, min(rows // 2, most * rows // size))
    for start in range(0, rows, step):
        part = batch.slice(start, step)
        # Rows of different sizes: a part that is far too large is divided again.
        if bytes_of_rows(part) > 2 * most:
            yield from _of_size(part, most)
        else:
            yield part


def _whole(
    scanned: Iterable[ScannedRows], schema: pa.Schema, sizes: BatchSizes
) -> Iterator[pa.Table]:
    """Tables whose number of rows is a multiple of ``most_rows``, except where a batch is cut."""
    waiting: list[pa.Table] = []
    rows = 0
    for table, is_last, _ in scanned if sizes.exact else _by_fragment(scanned):
        if table.num_rows:
            waiting.append(table)
            rows += table.num_rows
        if not waiting:
            continue
        rest = 0 if is_last and not sizes.exact else rows % sizes.most_rows
        if rest == rows:
            if not sizes.exact and sum(map(bytes_of_rows, waiting)) >= sizes.enough_bytes:
                rest = 0
            else:
                continue
        joined = concatenated(waiting, schema)
        yield sliced(joined, 0, rows - rest)
        waiting = [sliced(joined, rows - rest)] if rest else []
        rows = rest
    yield concatenated(waiting, schema)


def _by_fragment(scanned: Iterable[ScannedRows]) -> Iterator[ScannedRows]:
    """The same rows, without ``edges``."""
    for rows in scanned:
        if rows.edges is None or not len(rows.edges):
            yield rows
            continue
        whole = rows.table
        # One copy of all rows is faster than one for each fragment.
        with suppress(ResultTooLargeError):
            columns = [combine_chunks(column) for column in whole.columns]
            if columns:
                whole = pa.Table.from_arrays(columns, schema=whole.schema)
        edges = np.unique(np.concatenate([[0], rows.edges, [whole.num_rows]])).tolist()
        for start, stop in pairwise(edges):
            is_last = stop < whole.num_rows or rows.is_last
            yield ScannedRows(sliced(whole, start, stop - start), is_last)


def _batches(table: pa.Table, schema: pa.Schema, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    """The rows from ``start`` to ``stop`` as one batch, or in several if one cannot hold them."""
    rows = sliced(table, start, stop - start)
    if not schema.names:
        yield rows.to_batches()[0]
    else:
        yield from fitting_batches(rows, schema)
