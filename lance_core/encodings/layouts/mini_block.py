"""Mini-block pages (message ``MiniBlockLayout``): small values, compressed in chunks.

Page buffers: chunk words, chunks, the dictionary if there is one, the repetition index if there
are lists. What the first and the last two say is read once and kept with the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.encodings.decoding import Int64Array, RowIndices, RowRange
from lance_core.encodings.gather import span_ranges
from lance_core.encodings.layouts.chunk_levels import (
    WantedRows,
    picked_definition,
    wanted_levels,
)
from lance_core.encodings.layouts.chunk_parts import ChunkForm, ChunkParts, chunk_parts
from lance_core.encodings.layouts.chunk_table import ChunkTable, chunk_table, row_table
from lance_core.encodings.layouts.codecs import (
    PickedFrom,
    decode_block,
    decode_chunks,
    pick_values,
)
from lance_core.encodings.layouts.layout import LayoutPlan, LeafPart, PageScope, Where, kinds_of
from lance_core.encodings.layouts.leaf_values import (
    dictionary_items,
    dictionary_values,
    leaf_values,
)
from lance_core.encodings.layouts.single_value import SingleValues
from lance_core.encodings.repdef import Levels, check_levels
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.store.base import ByteRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance_core.encodings.decoding import DecodeContext, Decoding, Rows
    from lance_core.encodings.values import Values

_MOST_BUFFERS = 64
_PICKED_COST = 8
"""How much more it costs to pick a value than to decode it with all others of its chunk."""


class MiniBlockPlan(LayoutPlan):
    """A mini-block page. ``kinds`` are those of its layers."""

    __slots__ = ("_dictionary", "_single", "_table", "form", "kinds", "message", "scope")

    def __init__(self, message: MiniBlockLayout, scope: PageScope) -> None:
        self.message = message
        self.scope = scope
        self.kinds = kinds_of(message.layers, message.num_items)
        self.form = ChunkForm(
            message.HasField("rep_compression"),
            message.HasField("def_compression"),
            message.num_buffers,
            message.has_large_chunk,
        )
        self._table: ChunkTable | None = None
        self._dictionary: pa.Array | None = None
        self._single: SingleValues | None = None

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """See `LayoutPlan`."""
        whole = isinstance(rows, RowRange) and len(rows) == self.scope.num_rows
        wanted = [] if self._table is not None else self._descriptions()
        early = wanted and whole  # then everything is read, so that one round is enough
        if wanted:
            asked = [*wanted, self.scope.buffers[1]] if early else wanted
            buffers = yield asked
            self._describe(buffers[: len(wanted)], context)
        assert self._table is not None
        table = self._table
        if early:
            chunks = np.arange(len(table.values) - 1)
            data, positions = np.frombuffer(buffers[-1], np.uint8), table.bytes[:-1]
        else:
            if isinstance(rows, RowIndices) and not self._has_lists:
                return (yield from self._single_rows(rows, table, context))
            chunks = table.chunks_of(rows)
            data, positions = yield from self._read(table, chunks, context)
        return self._part(rows, chunks, data, positions, context)

    def row(self, number: int, context: DecodeContext) -> Decoding[pa.Array | None]:
        """See `LayoutPlan`."""
        if self._has_lists:
            return None
        if self._table is None:
            buffers = yield self._descriptions()
            self._describe(buffers, context)
        table, single = self._table, self._single
        if single is None or table is None:
            return None
        chunk = int(table.values.searchsorted(number, "right")) - 1
        first, stop = table.values[chunk : chunk + 2].tolist()
        begin, end = table.bytes[chunk : chunk + 2].tolist()
        base = self.scope.buffers[1].start
        (buffer,) = yield [ByteRange(base + begin, base + end)]
        return single.decode(
            memoryview(buffer), number - first, stop - first, context.validate_utf8
        )

    def _descriptions(self) -> list[ByteRange]:
        """Chunk words, and the dictionary and the repetition index if there are any."""
        buffers = self.scope.buffers
        return [buffers[0], *buffers[2 : 2 + self._has_dictionary + self._has_lists]]

    @property
    def _has_dictionary(self) -> bool:
        return self.message.HasField("dictionary")

    @property
    def _has_lists(self) -> bool:
        return self.kinds.max_rep > 0

    def _describe(self, buffers: Sequence[pa.Buffer], context: DecodeContext) -> None:
        message, num_rows = self.message, self.scope.num_rows
        if self._has_dictionary:
            count = message.num_dictionary_items
            items = decode_block(message.dictionary, buffers[1], count, context)
            self._dictionary = dictionary_items(items, self.scope.type, context)
        rows = None
        if self._has_lists:
            rows = row_table(buffers[-1], message.repetition_index_depth, num_rows)
        size = self.scope.buffers[1].length
        large = message.has_large_chunk
        table = chunk_table(buffers[0], large, message.num_items, size, rows)
        if rows is None:
            max_def, type_ = self.kinds.max_def, self.scope.type
            known = self._dictionary
            self._single = SingleValues.of(message, self.form, max_def, type_, known, context)
        self._table = table

    def _read(
        self, table: ChunkTable, chunks: Int64Array, context: DecodeContext
    ) -> Decoding[tuple[npt.NDArray[np.uint8], Int64Array]]:
        """Bytes that hold the chunks, and where in them each one starts."""
        starts, stops = table.bytes[chunks], table.bytes[chunks + 1]
        base = self.scope.buffers[1].start
        ranges, cuts = span_ranges(base, starts, stops, context.coalesce_gap)
        buffers = yield ranges
        if len(buffers) == 1:
            return np.frombuffer(buffers[0], np.uint8), starts - cuts.firsts[0]
        sizes = [buffer.size for buffer in buffers]
        moved = np.cumsum([0, *sizes[:-1]]) - np.array(cuts.firsts)
        number = np.repeat(np.arange(len(buffers)), np.diff(cuts.edges))
        data = np.concatenate([np.frombuffer(buffer, np.uint8) for buffer in buffers])
        return data, starts + moved[number]

    def _part(
        self,
        rows: Rows,
        chunks: Int64Array,
        data: npt.NDArray[np.uint8],
        positions: Int64Array,
        context: DecodeContext,
    ) -> LeafPart:
        table = self._table
        assert table is not None
        counts = np.diff(table.values)[chunks]
        sizes = np.diff(table.bytes)[chunks]
        parts = chunk_parts(self.form, data, positions, sizes)
        wanted = WantedRows(rows, chunks, counts, table)
        chosen, where = wanted_levels(self.message, self.kinds, parts, wanted, context)
        if not isinstance(where, slice) and _is_sparse(where, counts):
            return self._picked(parts, chosen, PickedFrom.of(where, counts), context)
        values = decode_chunks(self.message.value_compression, parts, counts, context)
        return self._leaf(values, where, chosen, context)

    def _single_rows(
        self, rows: RowIndices, table: ChunkTable, context: DecodeContext
    ) -> Decoding[LeafPart]:
        """Rows of a page without lists: if there are few in each chunk, only they are decoded."""
        chunks, chunk, position = table.locate(rows.values)
        data, positions = yield from self._read(table, chunks, context)
        counts = table.values[chunks + 1] - table.values[chunks]
        if not _is_sparse(rows.values, counts):
            return self._part(rows, chunks, data, positions, context)
        sizes = table.bytes[chunks + 1] - table.bytes[chunks]
        parts = chunk_parts(self.form, data, positions, sizes)
        picked = PickedFrom(counts, chunk, position)
        found = picked_definition(self.message, parts, picked, context)
        levels = Levels(self.kinds, None, found, len(rows))
        check_levels(levels)
        return self._picked(parts, levels, picked, context)

    def _picked(
        self, parts: ChunkParts, levels: Levels, picked: PickedFrom, context: DecodeContext
    ) -> LeafPart:
        values = pick_values(self.message.value_compression, parts, picked, context)
        return self._leaf(values, slice(0, values.count), levels, context)

    def _leaf(
        self, values: Values, where: Where, levels: Levels, context: DecodeContext
    ) -> LeafPart:
        """Checked ``levels``, and which of the ``values`` are theirs."""
        type_ = self.scope.type
        if self._dictionary is not None:
            array = dictionary_values(values, where, levels, self._dictionary, type_)
        else:
            array = leaf_values(values, where, type_, context)
        return LeafPart(levels, array)


def _is_sparse(where: Int64Array, counts: Int64Array) -> bool:
    """Whether so few values are wanted that picking them costs less than decoding all."""
    return len(where) * _PICKED_COST < int(counts.sum())


def decode_mini_block(message: MiniBlockLayout, scope: PageScope) -> LayoutPlan:
    """`LayoutDecoder` of ``mini_block_layout``."""
    plan = MiniBlockPlan(message, scope)
    has_lists = plan.kinds.max_rep > 0
    expected = 2 + message.HasField("dictionary") + has_lists
    if len(scope.buffers) < expected:
        raise CorruptFileError(f"{len(scope.buffers)} buffers of a page that needs {expected}")
    if not message.HasField("value_compression"):
        raise CorruptFileError("it is not said how values are compressed", field="MiniBlockLayout")
    if not 0 < message.num_buffers <= _MOST_BUFFERS:
        raise CorruptFileError(f"chunks of {message.num_buffers} buffers", field="MiniBlockLayout")
    if has_lists:
        if message.repetition_index_depth != 1:
            raise UnsupportedFeatureError(
                f"a repetition index of depth {message.repetition_index_depth}"
            )
    elif message.num_items != scope.num_rows:
        raise CorruptFileError(f"{message.num_items} values for {scope.num_rows} rows")
    return plan
