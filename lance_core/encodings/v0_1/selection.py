"""Which rows of a 0.1 file are wanted: ranges within its batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core.encodings.decoding import RowRange

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array, Rows


class BatchSelection(NamedTuple):
    """Rows ``starts`` (inclusive) to ``stops`` (exclusive) of ``batches``, each from its own start.

    Ranges are not empty, are in the order of the result, and those of one batch do not touch.
    """

    batches: Int64Array
    starts: Int64Array
    stops: Int64Array

    @property
    def counts(self) -> Int64Array:
        """Rows of each range."""
        counts: Int64Array = self.stops - self.starts
        return counts

    @property
    def num_rows(self) -> int:
        """Rows of all ranges."""
        return int(self.counts.sum())


def whole_batch(num_rows: int) -> BatchSelection:
    """All rows of the only batch there is; at least one."""
    return BatchSelection(np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, num_rows))


def select(rows: Rows, edges: Int64Array) -> BatchSelection:
    """``rows``, at least one, of a file whose batch ``i`` has the rows ``edges[i:i + 2]``."""
    if isinstance(rows, RowRange):
        first, last = np.searchsorted(edges, [rows.start, rows.stop - 1], side="right") - 1
        batches = np.arange(first, last + 1)
        begins = edges[batches]
        starts = np.maximum(begins, rows.start) - begins
        stops = np.minimum(edges[batches + 1], rows.stop) - begins
    else:
        batches = np.searchsorted(edges, rows.values, side="right") - 1
        starts = rows.values - edges[batches]
        stops = starts + 1
    return merged(batches, starts, stops)


def merged(batches: Int64Array, starts: Int64Array, stops: Int64Array) -> BatchSelection:
    """The selection of these ranges, some of which may be empty or touch the one before."""
    some = stops > starts
    if not some.all():
        batches, starts, stops = batches[some], starts[some], stops[some]
    if len(batches) > 1:
        apart = (batches[1:] != batches[:-1]) | (starts[1:] != stops[:-1])
        if not apart.all():
            first = np.concatenate([[True], apart])
            last = np.concatenate([apart, [True]])
            batches, starts, stops = batches[first], starts[first], stops[last]
    return BatchSelection(batches, starts, stops)
