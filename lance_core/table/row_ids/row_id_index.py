"""The index from stable row ids to rows: sorted ranges of ids, with the location of each range.

The location of a row is ``position of the fragment in the manifest << 32 | physical offset``.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.u64_segment import Bounds, Offsets, Uint64s, span_of

OFFSET_BITS = 32

MAX_LAYERS = 16
"""Maximum number of layers of whole fragments: a search in a layer takes tens of microseconds."""

_Located = tuple[Uint64s, Uint64s, Offsets]
_NONE: Mapping[int, Offsets] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class RowIdIndex:
    """Disjoint ranges of ids, ascending: ``starts[i]`` to ``stops[i]`` (exclusive).

    The row with id ``starts[i]`` is at ``locations[i]``, and the other rows of the range follow it.
    """

    starts: Uint64s
    stops: Uint64s
    locations: Offsets

    @classmethod
    def of(
        cls, sequences: Mapping[int, RowIdSequence], excluded: Mapping[int, Offsets] = _NONE
    ) -> RowIdIndex:
        """The index of fragments, by their position in the manifest.

        ``excluded``: by position, the sorted offsets of rows that the index leaves out. Raises
        `CorruptFileError` if two rows that are not excluded have the same id.
        """
        return cls.of_ranges(
            [
                _located(ids.ranges(), ids.count, excluded.get(at), at)
                for at, ids in sequences.items()
            ]
        )

    @classmethod
    def of_ranges(cls, parts: Sequence[_Located]) -> RowIdIndex:
        """The index of ranges in any order."""
        if len(parts) == 1 and _ascend(*parts[0][:2]):
            return cls(*parts[0])
        starts = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)])
        stops = np.concatenate([np.empty(0, np.uint64), *(part[1] for part in parts)])
        locations = np.concatenate([np.empty(0, np.int64), *(part[2] for part in parts)])
        if not _ascend(starts, stops):
            order = np.argsort(starts, kind="stable")
            starts, stops, locations = starts[order], stops[order], locations[order]
            if not _ascend(starts, stops):
                repeated = starts[1:][starts[1:] < stops[:-1]][0]
                raise CorruptFileError(
                    f"two rows have the row id {repeated}", field="DataFragment.row_id_sequence"
                )
        return cls(starts, stops, locations)

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return self.starts.nbytes + self.stops.nbytes + self.locations.nbytes

    def find(self, ids: Uint64s) -> Offsets:
        """The location of the row with each id, -1 if no row has it; fast if ids ascend."""
        if not len(self.starts):
            return np.full(len(ids), -1, np.int64)
        which = np.searchsorted(self.starts, ids, side="right") - 1
        inside = (which >= 0) & (ids < self.stops[which])
        positions = self.locations[which] + (ids - self.starts[which]).astype(np.int64)
        return np.where(inside, positions, -1)


@dataclass(frozen=True, slots=True, eq=False)
class LayeredIndex:
    """Indices of all fragments of a table, including deleted rows.

    A row that was updated has its id in its new fragment and, deleted, in its old one. Fragments
    whose spans of ids overlap are therefore in different layers: one has all appended rows, and
    each update of rows that were scattered over the table needs another one. Of many layers, most
    are merged by single ranges of ids.
    """

    layers: tuple[RowIdIndex, ...]

    @classmethod
    def of(cls, sequences: Sequence[RowIdSequence]) -> LayeredIndex:
        """The index of the row ids of all fragments, in the order of the manifest.

        Raises `CorruptFileError` if two rows of one fragment have the same id.
        """
        ranges = [sequence.ranges() for sequence in sequences]
        layers = disjoint_layers([span_of(bounds) for bounds in ranges])
        parts = [
            [_located(ranges[at], sequences[at].count, None, at) for at in layer]
            for layer in layers
        ]
        few, many = parts[:MAX_LAYERS], parts[MAX_LAYERS:]
        merged = _merged_layers(many) if many else ()
        return cls((*map(RowIdIndex.of_ranges, few), *merged))

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return sum(layer.nbytes for layer in self.layers)

    def candidates(self, ids: Uint64s) -> npt.NDArray[np.int64]:
        """For each id (columns) its location in each layer (rows), -1 for none."""
        positions = np.full((len(self.layers), len(ids)), -1, np.int64)
        for layer, row in zip(self.layers, positions, strict=True):
            row[:] = layer.find(ids)
        return positions


def disjoint_layers(spans: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Distribute spans (first, end) over as few layers of disjoint spans as possible.

    Returns the indices of the spans of each layer.
    """
    layers: list[list[int]] = []
    free: list[tuple[int, int]] = []  # a heap: the end of each layer, and its number
    for number in sorted(range(len(spans)), key=spans.__getitem__):
        first, end = spans[number]
        if free and free[0][0] <= first:
            layer = heapq.heappop(free)[1]
        else:
            layer = len(layers)
            layers.append([])
        layers[layer].append(number)
        heapq.heappush(free, (end, layer))
    return layers


def _merged_layers(layers: Sequence[Sequence[_Located]]) -> Sequence[RowIdIndex]:
    """The ranges of ``layers`` in at most as many layers, in which no two ranges overlap."""
    parts = [part for layer in layers for part in layer]
    starts, stops, locations = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(starts, kind="stable")
    starts, stops, locations = starts[order], stops[order], locations[order]
    merged: list[RowIdIndex] = []
    while len(starts) and len(merged) < len(layers):
        # A range that starts behind all earlier ones belongs to this layer.
        is_free = np.append(True, starts[1:] >= np.maximum.accumulate(stops)[:-1])
        merged.append(RowIdIndex(starts[is_free], stops[is_free], locations[is_free]))
        starts, stops, locations = starts[~is_free], stops[~is_free], locations[~is_free]
    return [RowIdIndex.of_ranges(layer) for layer in layers] if len(starts) else merged


def _ascend(starts: Uint64s, stops: Uint64s) -> bool:
    return bool((starts[1:] >= stops[:-1]).all())


def _located(bounds: Bounds, count: int, excluded: Offsets | None, position: int) -> _Located:
    """Ranges of the ids that are not excluded, and the location of each range's first row.

    ``count``: the number of all ids.
    """
    starts, stops = bounds
    first = position << OFFSET_BITS
    has_excluded = excluded is not None and len(excluded) > 0
    if len(starts) == count and not has_excluded:  # each range has one id
        return starts, stops, np.arange(first, first + count)
    lengths = (stops - starts).astype(np.int64)
    offsets = np.cumsum(lengths) - lengths
    if excluded is not None and has_excluded:
        (starts, stops), offsets = _split((starts, stops), offsets, excluded)
    return starts, stops, offsets + first


def _split(bounds: Bounds, offsets: Offsets, excluded: Offsets) -> tuple[Bounds, Offsets]:
    """The ranges, split at the rows at the offsets ``excluded``; returns also their offsets."""
    starts, stops = bounds
    rows = int(offsets[-1]) + int(stops[-1] - starts[-1]) if len(starts) else 0
    inside = excluded[excluded < rows]
    # A piece starts where a range starts, or behind an excluded row.
    pieces = np.concatenate([offsets, inside + 1])
    pieces.sort(kind="stable")  # merges its two sorted parts
    pieces = pieces[pieces < rows]
    owner = np.searchsorted(offsets, pieces, side="right") - 1
    ends = np.append(offsets[1:], rows)[owner]
    next_excluded = np.searchsorted(inside, pieces, side="left")
    ends = np.minimum(ends, np.append(inside, rows)[next_excluded])
    filled = ends > pieces
    filled &= np.diff(pieces, prepend=-1) > 0  # a range may start behind an excluded row
    pieces, ends, owner = pieces[filled], ends[filled], owner[filled]
    first = starts[owner] + (pieces - offsets[owner]).astype(np.uint64)
    return (first, first + (ends - pieces).astype(np.uint64)), pieces
