"""The levels of the chunks of a mini-block page, and the selection of requested rows in them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.encodings.arrow.spans import edges_of, spans_index
from lance_core.encodings.decoding import Int64Array, RowRange, Rows, ValuePositions
from lance_core.encodings.page_rows import positions_in_parts
from lance_core.encodings.v2_1.levels.repdef import LayerKinds, LevelArray, Levels, check_levels
from lance_core.encodings.v2_1.pages.base import picked_levels
from lance_core.encodings.v2_1.pages.level_codecs import decode_levels, take_levels
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkParts
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import ChunkTable, RowTable
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.codecs.base import ChunkPositions


class ChunkLevels(NamedTuple):
    """Concatenated levels of chunks. ``starts``: the first level of each chunk, then the count."""

    levels: Levels
    starts: Int64Array
    kernels: Kernels

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
        starts = edges_of(numbers)
        rep = definition = None
        if parts.rep is not None:
            compression = message.rep_compression
            rep = decode_levels(compression, parts.data, parts.rep, numbers, context)
        if parts.definition is not None:
            compression = message.def_compression
            definition = decode_levels(compression, parts.data, parts.definition, numbers, context)
        if not kinds.max_rep:
            rep = None
        return cls(Levels(kinds, rep, definition, int(starts[-1])), starts, context.kernels)

    def check(self, chunks: Int64Array, counts: Int64Array, table: ChunkTable) -> None:
        """Raise `CorruptFileError` unless the levels match the values and rows of the chunks."""
        if not np.array_equal(np.diff(self.values_before()), counts):
            raise CorruptFileError("the levels of a chunk do not match its values")
        if table.rows is None:
            return
        rep, most = self.levels.rep, self.levels.kinds.max_rep
        if rep is None or not np.diff(self.starts).all():
            raise CorruptFileError("a chunk has no repetition levels")
        first, last = _rows_started(table.rows, chunks)
        within = self.kernels.rank_levels(rep, most - 1, self.starts)
        agree = np.array_equal(np.diff(self.starts) - within, last - first)
        opened = ~table.rows.continues[chunks]
        if not agree or (rep[self.starts[:-1]][opened] != most).any():
            raise CorruptFileError("levels and repetition index do not agree")

    def row_starts(self, first: int, stop: int) -> Int64Array:
        """Indices into all levels of those that start a row in chunks ``first`` to ``stop``."""
        rep, most = self.levels.rep, self.levels.kinds.max_rep
        assert rep is not None
        begin, end = self.starts[[first, stop]].tolist()
        starts: Int64Array = np.flatnonzero(rep[begin:end] >= most) + begin
        return starts

    def values_before(self, edges: Int64Array | None = None) -> Int64Array:
        """The number of values before each of the ascending levels ``edges``; 0 for the first edge.

        The default for ``edges`` is the first level of each chunk.
        """
        edges = self.starts if edges is None else edges
        definition, kinds = self.levels.definition, self.levels.kinds
        if definition is None or kinds.max_visible_def == kinds.max_def:
            return edges
        return edges_of(self.kernels.rank_levels(definition, kinds.max_visible_def, edges))


class WantedRows(NamedTuple):
    """Requested rows, the chunks that hold them and the number of values of each chunk."""

    rows: Rows
    chunks: Int64Array
    counts: Int64Array
    table: ChunkTable


def wanted_levels(
    message: MiniBlockLayout,
    kinds: LayerKinds,
    parts: ChunkParts,
    request: WantedRows,
    context: DecodeContext,
) -> tuple[Levels, ValuePositions]:
    """The checked levels of the requested rows, and the positions of their values in the chunks.

    Leaves of one field often have equal levels; these are decoded once and shared in ``memo``.
    """
    memo = context.memo
    key = None
    if memo is not None and kinds.max_rep:
        key = _key(message, kinds, parts, request, context)
        known: tuple[Levels, ValuePositions] | None = memo.get(key)
        if known is not None:
            return known
    rows, chunks, counts, table = request
    has_levels = parts.rep is not None or parts.definition is not None
    if not has_levels and table.rows is None:
        plain = Levels(kinds, None, None, len(rows))
        check_levels(plain, context.kernels)
        return plain, _values_of_rows(rows, chunks, table)
    levels = ChunkLevels.decode(message, kinds, parts, counts, context)
    levels.check(chunks, counts, table)
    chosen, where = selected(levels, rows, chunks, table)
    check_levels(chosen, context.kernels)
    if memo is not None and key is not None:
        memo[key] = chosen, where
    return chosen, where


def _key(
    message: MiniBlockLayout,
    kinds: LayerKinds,
    parts: ChunkParts,
    request: WantedRows,
    context: DecodeContext,
) -> Hashable:
    """A key of everything on which the result of `wanted_levels` depends."""
    rows, chunks, counts, table = request
    spans = [span for span in (parts.rep, parts.definition) if span is not None]
    assert spans
    assert table.rows is not None
    starts, stops = spans[0][0], spans[-1][0] + spans[-1][1]
    octets, _ = context.kernels.gather_variable(parts.data, starts, stops)
    first, last = _rows_started(table.rows, chunks)
    sizes = [span[1] for span in spans]
    numbers = [parts.num_levels, counts, chunks, first, last, table.rows.continues[chunks], *sizes]
    return (
        kinds.kinds,
        message.rep_compression.SerializeToString(),
        message.def_compression.SerializeToString(),
        rows if isinstance(rows, RowRange) else rows.values.tobytes(),
        b"".join(number.tobytes() for number in numbers),
        octets.to_pybytes(),
    )


def definition_at(
    message: MiniBlockLayout, parts: ChunkParts, at: ChunkPositions, context: DecodeContext
) -> LevelArray | None:
    """The definition levels of single values of chunks without lists."""
    has_levels = parts.rep is not None or parts.definition is not None
    if has_levels and not np.array_equal(parts.num_levels, at.counts):
        raise CorruptFileError("the levels of a chunk do not match its values")
    if parts.definition is None:
        return None
    return take_levels(message.def_compression, parts.data, parts.definition, at, context)


def _rows_started(rows: RowTable, chunks: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The rows that start in each chunk, as first (inclusive) and last (exclusive)."""
    following = np.append(rows.first[1:], rows.ended[-1])
    return rows.first[chunks], following[chunks]


def selected(
    decoded: ChunkLevels, rows: Rows, chunks: Int64Array, table: ChunkTable
) -> tuple[Levels, ValuePositions]:
    """The levels of ``rows``, and the positions of their values in the chunks."""
    if table.rows is None:
        return _plain(decoded.levels, _values_of_rows(rows, chunks, table))
    return _of_lists(decoded, rows, chunks, table.rows)


def _values_of_rows(rows: Rows, chunks: Int64Array, table: ChunkTable) -> ValuePositions:
    """The positions of the values of ``rows`` in ``chunks``, for a page without lists."""
    first = int(table.values[chunks[0]])
    if isinstance(rows, RowRange):
        return slice(rows.start - first, rows.stop - first)
    if chunks[-1] - chunks[0] < len(chunks):  # no chunk is left out between them
        return rows.values - first
    return positions_in_parts(rows.values, table.values[chunks], table.counts[chunks])


def _plain(levels: Levels, where: ValuePositions) -> tuple[Levels, ValuePositions]:
    definition = None if levels.definition is None else levels.definition[where]
    count = where.stop - where.start if isinstance(where, slice) else len(where)
    return Levels(levels.kinds, None, definition, count), where


def _of_lists(
    decoded: ChunkLevels, rows: Rows, chunks: Int64Array, table: RowTable
) -> tuple[Levels, ValuePositions]:
    if isinstance(rows, RowRange):
        return _range_of_lists(decoded, rows, chunks, table)
    levels = decoded.levels
    assert levels.rep is not None
    first, last = _rows_started(table, chunks)
    # The index of each row among the rows that start in these chunks. The levels of a row extend
    # to the start of the next row, so look up both starts together.
    number = positions_in_parts(rows.values, first, last - first)
    both = np.repeat(number, 2)
    both[1::2] += 1
    edges = decoded.kernels.select_levels(levels.rep, levels.kinds.max_rep, both)
    begin, end = edges[::2].copy(), edges[1::2].copy()
    # Where the next chunk was not read, a row ends at the end of its chunk.
    jumps = decoded.starts[1:-1][np.diff(chunks) > 1]
    if len(jumps):
        following = np.append(jumps, levels.count)
        end = np.minimum(end, following[np.searchsorted(jumps, begin, side="right")])
    picked = spans_index(begin, end)
    chosen = picked_levels(levels, picked)
    visible = chosen.visible()
    if visible is None:
        return chosen, picked
    # The number of values before each row.
    before = decoded.values_before(np.concatenate([np.zeros(1, np.int64), begin]))[1:]
    # The value of a visible level is its rank among the visible levels of its row, plus the number
    # of values before the row.
    ranks = edges_of(visible)
    lengths = end - begin
    shift = np.repeat(before - ranks.take(np.cumsum(lengths) - lengths), lengths)
    return chosen, (ranks[:-1] + shift)[visible]


def _range_of_lists(
    decoded: ChunkLevels, rows: RowRange, chunks: Int64Array, table: RowTable
) -> tuple[Levels, ValuePositions]:
    """Select a range of rows: only the first and the last chunk can have levels of other rows."""
    first, last = _rows_started(table, chunks)
    start, stop = 0, decoded.levels.count
    if rows.start > first[0] or table.continues[chunks[0]]:
        start = int(decoded.row_starts(0, 1)[rows.start - first[0]])
    if rows.stop < last[-1]:
        stop = int(decoded.row_starts(len(chunks) - 1, len(chunks))[rows.stop - first[-1]])
    edges = np.array([0, start, stop], np.int64)
    before, behind = decoded.values_before(edges)[1:].tolist()
    return decoded.levels.part(start, stop), slice(before, behind)
