"""Levels of the chunks of a mini-block page, and which of them belong to wanted rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.encodings.codecs.picks import Picks
from lance_core.encodings.compressive import MiniBlockChunks
from lance_core.encodings.decoding import Int64Array, RowRange, Rows
from lance_core.encodings.layouts.chunk_parts import ChunkParts
from lance_core.encodings.layouts.chunk_table import ChunkTable, RowTable
from lance_core.encodings.layouts.codecs import PickedFrom
from lance_core.encodings.layouts.layout import Where, picked_levels, spans_index
from lance_core.encodings.layouts.level_codecs import decode_levels, pick_levels
from lance_core.encodings.repdef import BoolArray, LayerKinds, LevelArray, Levels
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import DecodeContext


class ChunkLevels(NamedTuple):
    """The levels of some chunks, joined. ``starts``: the first of each chunk, then their number."""

    levels: Levels
    starts: Int64Array

    @classmethod
    def decode(
        cls,
        message: MiniBlockLayout,
        kinds: LayerKinds,
        parts: ChunkParts,
        counts: Int64Array,
        context: DecodeContext,
    ) -> ChunkLevels:
        """The levels of chunks that hold ``counts`` values each."""
        has_levels = parts.rep is not None or parts.definition is not None
        numbers = parts.num_levels if has_levels else counts
        starts = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(numbers, out=starts[1:])
        rep = definition = None
        if parts.rep is not None:
            found = message.rep_compression
            rep = decode_levels(found, parts.data, parts.rep, numbers, context)
        if parts.definition is not None:
            found = message.def_compression
            definition = decode_levels(found, parts.data, parts.definition, numbers, context)
        if not kinds.max_rep:
            rep = None
        return cls(Levels(kinds, rep, definition, int(starts[-1])), starts)

    def check(self, chunks: Int64Array, counts: Int64Array, table: ChunkTable) -> None:
        """Raise `CorruptFileError` unless the levels are those of the values and rows."""
        visible = self.levels.visible()
        before = self.starts if visible is None else _before(visible)[self.starts]
        found = np.diff(before)
        if not np.array_equal(found, counts):
            raise CorruptFileError("the levels of a chunk are not those of its values")
        if table.rows is None:
            return
        rep = self.levels.rep
        if rep is None or not np.diff(self.starts).all():
            raise CorruptFileError("a chunk without repetition levels")
        first, last = _rows_started(table.rows, chunks)
        starting = rep == self.levels.kinds.max_rep
        agree = np.array_equal(np.diff(_before(starting)[self.starts]), last - first)
        opened = ~table.rows.continues[chunks]
        if not agree or not starting[self.starts[:-1]][opened].all():
            raise CorruptFileError("levels and repetition index do not agree")


def _next(edges: Int64Array, places: Int64Array) -> Int64Array:
    """The first of ascending ``edges`` behind each of ``places``; the last one is behind all."""
    following: Int64Array = edges[np.searchsorted(edges, places, side="right")]
    return following


def picked_definition(
    message: MiniBlockLayout, parts: ChunkParts, where: PickedFrom, context: DecodeContext
) -> LevelArray | None:
    """The definition levels of single values of chunks without lists."""
    has_levels = parts.rep is not None or parts.definition is not None
    if has_levels and not np.array_equal(parts.num_levels, where.counts):
        raise CorruptFileError("the levels of a chunk are not those of its values")
    if parts.definition is None:
        return None
    starts, sizes = parts.definition
    chunks = MiniBlockChunks(parts.data, starts[None], sizes[None], where.counts)
    return pick_levels(message.def_compression, Picks(chunks, where.chunk, where.position), context)


def _before(flags: BoolArray) -> Int64Array:
    """How many of ``flags`` are set before each, and in all."""
    before = np.zeros(len(flags) + 1, np.int64)
    np.cumsum(flags, out=before[1:])
    return before


def _rows_started(rows: RowTable, chunks: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The rows that start in each chunk, first inclusive and last exclusive."""
    following = np.append(rows.first[1:], rows.ended[-1])
    return rows.first[chunks], following[chunks]


def selected(
    decoded: ChunkLevels, rows: Rows, chunks: Int64Array, table: ChunkTable
) -> tuple[Levels, Where]:
    """The levels of ``rows`` and which of the chunks' values are theirs."""
    if table.rows is None:
        return _plain(decoded.levels, values_of_rows(rows, chunks, table))
    return _of_lists(decoded, rows, chunks, table.rows)


def values_of_rows(rows: Rows, chunks: Int64Array, table: ChunkTable) -> Where:
    """Which of the values of ``chunks`` are those of ``rows``, where there are no lists."""
    if isinstance(rows, RowRange):
        first = int(table.values[chunks[0]])
        return slice(rows.start - first, rows.stop - first)
    counts = np.diff(table.values)[chunks]
    local = np.cumsum(counts) - counts
    chunk = np.searchsorted(table.values, rows.values, side="right") - 1
    number = np.searchsorted(chunks, chunk)
    where: Int64Array = rows.values - table.values[chunk] + local[number]
    return where


def _plain(levels: Levels, where: Where) -> tuple[Levels, Where]:
    definition = None if levels.definition is None else levels.definition[where]
    count = where.stop - where.start if isinstance(where, slice) else len(where)
    return Levels(levels.kinds, None, definition, count), where


def _of_lists(
    decoded: ChunkLevels, rows: Rows, chunks: Int64Array, table: RowTable
) -> tuple[Levels, Where]:
    levels = decoded.levels
    starts = levels.row_starts()
    assert starts is not None
    ids = spans_index(*_rows_started(table, chunks))
    visible = levels.visible()
    if isinstance(rows, RowRange):
        first, last = np.searchsorted(ids, [rows.start, rows.stop]).tolist()
        start = int(starts[first])
        stop = int(starts[last]) if last < len(starts) else levels.count
        if visible is None:
            return levels.part(start, stop), slice(start, stop)
        before = int(np.count_nonzero(visible[:start]))
        within = int(np.count_nonzero(visible[start:stop]))
        return levels.part(start, stop), slice(before, before + within)
    begin = starts[np.searchsorted(ids, rows.values)]
    jumps = decoded.starts[1:-1][np.diff(chunks) > 1]
    # A row ends where the next one starts, where chunks that are not read would come, or at last.
    end = _next(np.append(starts, levels.count), begin)
    if len(jumps):
        end = np.minimum(end, _next(np.append(jumps, levels.count), begin))
    picked = spans_index(begin, end)
    chosen = picked_levels(levels, picked)
    if visible is None:
        return chosen, picked
    return chosen, _before(visible)[picked[visible[picked]]]
