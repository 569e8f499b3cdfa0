"""Select rows of a 0.1 file as ranges within its batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core.hookspecs.file_versions import RowRange

if TYPE_CHECKING:
    from lance_core.hookspecs.arrays import Int64Array
    from lance_core.hookspecs.file_versions import Rows


class BatchSelection(NamedTuple):
    """Ranges of rows: ``starts[i]`` to ``stops[i]`` (exclusive) of batch ``batches[i]``.

    Rows are counted from the start of the batch. Ranges are not empty and follow the order of the
    result. Ranges of the same batch do not touch.
    """

    batches: Int64Array
    starts: Int64Array
    stops: Int64Array

    @property
    def counts(self) -> Int64Array:
        """The number of rows of each range."""
        counts: Int64Array = self.stops - self.starts
        return counts

    @property
    def num_rows(self) -> int:
        """The number of rows of all ranges."""
        return int(self.counts.sum())


def whole_batch(num_rows: int) -> BatchSelection:
    """All ``num_rows`` rows of a file with a single batch; ``num_rows`` must not be 0."""
    return BatchSelection(np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, num_rows))


def select(rows: Rows, edges: Int64Array) -> BatchSelection:
    """Locate ``rows``, which must not be empty; batch i of the file has rows ``edges[i:i + 2]``."""
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
    """The selection of these ranges; empty ranges are dropped and touching ranges are merged."""
    is_filled = stops > starts
    if not is_filled.all():
        batches, starts, stops = batches[is_filled], starts[is_filled], stops[is_filled]
    if len(batches) > 1:
        apart = (batches[1:] != batches[:-1]) | (starts[1:] != stops[:-1])
        if not apart.all():
            first = np.concatenate([[True], apart])
            last = np.concatenate([apart, [True]])
            batches, starts, stops = batches[first], starts[first], stops[last]
    return BatchSelection(batches, starts, stops)
