"""The index from stable row ids to rows: sorted ranges of ids, with the place of each range.

The place of a row is ``position of the fragment in the manifest << 32 | physical offset``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.u64_segment import Bounds, Offsets, Uint64s

OFFSET_BITS = 32


@dataclass(frozen=True, slots=True, eq=False)
class RowIdIndex:
    """Disjoint ranges of ids, ascending: ``starts[i]`` to ``stops[i]`` (exclusive).

    The row with id ``starts[i]`` is at ``places[i]``, and the other rows of the range follow it.
    """

    starts: Uint64s
    stops: Uint64s
    places: Offsets

    @classmethod
    def of(cls, fragments: Sequence[tuple[RowIdSequence, Offsets | None]]) -> RowIdIndex:
        """The index of a table's fragments, in the order of the manifest.

        Each fragment has its row ids, and the sorted offsets of rows that the index excludes.
        Raises `CorruptFileError` if two rows that are not excluded have the same id.
        """
        parts = [
            _ranges_of(ids, excluded, position)
            for position, (ids, excluded) in enumerate(fragments)
        ]
        starts = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)])
        stops = np.concatenate([np.empty(0, np.uint64), *(part[1] for part in parts)])
        places = np.concatenate([np.empty(0, np.int64), *(part[2] for part in parts)])
        if not _ascend(starts, stops):
            order = np.argsort(starts, kind="stable")
            starts, stops, places = starts[order], stops[order], places[order]
            if not _ascend(starts, stops):
                repeated = starts[1:][starts[1:] < stops[:-1]][0]
                raise CorruptFileError(
                    f"two rows have the row id {repeated}", field="DataFragment.row_id_sequence"
                )
        return cls(starts, stops, places)

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return self.starts.nbytes + self.stops.nbytes + self.places.nbytes

    def find(self, ids: Uint64s) -> Offsets:
        """The place of the row with each id, -1 for an id that no row has."""
        if not len(self.starts):
            return np.full(len(ids), -1, np.int64)
        which = np.searchsorted(self.starts, ids, side="right") - 1
        inside = (which >= 0) & (ids < self.stops[which])
        places = self.places[which] + (ids - self.starts[which]).astype(np.int64)
        return np.where(inside, places, -1)


def overlapping(spans: Sequence[tuple[int, int]]) -> list[bool]:
    """For each span of ids (first, end), True if it overlaps another one."""
    result = [False] * len(spans)
    end, owner = -1, -1
    for number in sorted(range(len(spans)), key=spans.__getitem__):
        first, stop = spans[number]
        if first < end:
            result[number] = result[owner] = True
        if stop > end:
            end, owner = stop, number
    return result


def _ascend(starts: Uint64s, stops: Uint64s) -> bool:
    return bool((starts[1:] >= stops[:-1]).all())


def _ranges_of(
    ids: RowIdSequence, excluded: Offsets | None, position: int
) -> tuple[Uint64s, Uint64s, Offsets]:
    """Ranges of the ids that are not excluded, and the place of each range's first row."""
    starts, stops = ids.ranges()
    lengths = (stops - starts).astype(np.int64)
    offsets = np.cumsum(lengths) - lengths
    if excluded is not None and len(excluded):
        (starts, stops), offsets = _split((starts, stops), offsets, excluded)
    return starts, stops, offsets + (position << OFFSET_BITS)


def _split(bounds: Bounds, offsets: Offsets, excluded: Offsets) -> tuple[Bounds, Offsets]:
    """The ranges, split at the rows at the offsets ``excluded``; returns also their offsets."""
    starts, stops = bounds
    rows = int(offsets[-1]) + int(stops[-1] - starts[-1]) if len(starts) else 0
    inside = excluded[excluded < rows]
    # A piece starts where a range starts, or behind an excluded row.
    pieces = np.union1d(offsets, inside + 1)
    pieces = pieces[pieces < rows]
    owner = np.searchsorted(offsets, pieces, side="right") - 1
    ends = np.append(offsets[1:], rows)[owner]
    next_excluded = np.searchsorted(inside, pieces, side="left")
    ends = np.minimum(ends, np.append(inside, rows)[next_excluded])
    filled = ends > pieces
    pieces, ends, owner = pieces[filled], ends[filled], owner[filled]
    first = starts[owner] + (pieces - offsets[owner]).astype(np.uint64)
    return (first, first + (ends - pieces).astype(np.uint64)), pieces
