"""The live rows of a fragment, i.e. those that are not deleted.

A position counts live rows, an offset counts physical rows; both start at 0 in the fragment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.decoding import RowIndices, RowRange, Rows, packed_rows
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment

Int64Array = npt.NDArray[np.int64]


def live(snapshot: Snapshot, fragment: Fragment, rows: RowRange) -> Rows:
    """The live offsets in ``rows``. Memory and time are bounded by the length of ``rows``."""
    return without_deleted(snapshot.deleted_offsets(fragment), rows)


def without_deleted(deleted: RowOffsets | None, rows: Rows) -> Rows:
    """The offsets in ``rows`` that are not among the sorted ``deleted`` ones."""
    if deleted is None or len(deleted) == 0 or not len(rows):
        return rows
    if isinstance(rows, RowIndices):
        nearest = np.minimum(np.searchsorted(deleted, rows.values), len(deleted) - 1)
        return packed_rows(rows.values[deleted[nearest] != rows.values])
    first, last = np.searchsorted(deleted, [rows.start, rows.stop])
    if first == last:
        return rows
    keep = np.ones(len(rows), bool)
    keep[deleted[first:last] - rows.start] = False
    return RowIndices(np.flatnonzero(keep) + rows.start)


def within(rows: Rows, ranges: Sequence[tuple[int, int]]) -> Rows:
    """The offsets of ``rows`` that are in one of ``ranges``, which ascend."""
    edges = np.array(ranges, np.int64).ravel()
    numbers = rows.numbers
    inside = np.searchsorted(edges, numbers, side="right") & 1
    return packed_rows(numbers[inside == 1])


def count_live(snapshot: Snapshot, fragment: Fragment, rows: RowRange) -> int:
    """The number of live rows in ``rows``."""
    deleted = snapshot.deleted_offsets(fragment)
    if deleted is None:
        return len(rows)
    first, last = np.searchsorted(deleted, [rows.start, rows.stop])
    return len(rows) - int(last - first)


def offsets_of(snapshot: Snapshot, fragment: Fragment, positions: Int64Array) -> Int64Array:
    """The offsets of the live rows at ``positions``, which must be in range.

    The k-th deleted offset (k from 0) is before live row r if and only if offset - k <= r.
    """
    deleted = snapshot.deleted_offsets(fragment)
    if deleted is None or len(deleted) == 0:
        return positions
    shifted = deleted.astype(np.int64) - np.arange(len(deleted))
    return positions + np.searchsorted(shifted, positions, side="right")
