"""Read rows of mini-block pages with known chunks: of one page, or of several similar pages."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.byte_ranges import BufferSlices
from lance_core.encodings.arrow.coalesced_take import span_places
from lance_core.encodings.arrow.decode_budget import current_budget, spend
from lance_core.encodings.arrow.fixed_width import has_fixed_width
from lance_core.encodings.decoding import Int64Array, RowIndices, ValuePositions
from lance_core.encodings.v2_1.codecs import fsst
from lance_core.encodings.v2_1.codecs.base import (
    ChunkPositions,
    MiniBlockChunks,
    chunk_positions,
    decode,
    take,
)
from lance_core.encodings.v2_1.codecs.values import as_variable
from lance_core.encodings.v2_1.codecs.values_take import take_values
from lance_core.encodings.v2_1.levels.repdef import LayerKinds, Levels, check_levels
from lance_core.encodings.v2_1.pages.base import LeafPart, picked_levels
from lance_core.encodings.v2_1.pages.leaf_values import Dictionary, dictionary_values, leaf_values
from lance_core.encodings.v2_1.pages.mini_block.chunk_levels import (
    WantedRows,
    definition_at,
    wanted_levels,
)
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import (
    ChunkForm,
    ChunkParts,
    chunk_parts,
)
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import ChunkTable
from lance_core.encodings.v2_1.pages.page_dictionaries import ItemRuns, PageItems
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.kernels.numpy.fsst_decode import SymbolTables
    from lance_core.encodings.v2_1.codecs.values import Values

_TAKE_COST = 8
"""Cost of taking one value, relative to decoding one value of a whole chunk."""


class ChunkBytes(NamedTuple):
    """Bytes that contain some chunks, and the start of each chunk in them."""

    data: npt.NDArray[np.uint8]
    positions: Int64Array

    @classmethod
    def of(
        cls, buffers: Sequence[pa.Buffer], positions: Int64Array, context: DecodeContext
    ) -> ChunkBytes:
        """Join the buffers for the ranges of `span_places`."""
        if len(buffers) == 1:
            data = np.frombuffer(buffers[0], np.uint8)
        else:
            data = BufferSlices.of(buffers).joined(context.kernels.join_slices)
        return tuple.__new__(cls, (data, positions))  # without a call of a Python function


@dataclass(frozen=True, slots=True, eq=False)
class ChunkedPages:
    """The data needed to read rows of one page or several.

    ``base`` is the file position from which ``table`` counts bytes. ``message`` describes the
    encoding of chunks. ``items``: the dictionary values, None without a dictionary; ``owners``:
    which of them belong to which page, if there are several. ``symbols``: the FSST symbol tables if
    several FSST pages are read together.
    """

    message: MiniBlockLayout
    form: ChunkForm
    kinds: LayerKinds
    type: pa.DataType
    table: ChunkTable
    base: int
    items: pa.Array | None = None
    owners: PageItems | None = None
    symbols: SymbolTables | None = None
    has_plain_values: bool = field(init=False)
    """True if the values of chunks are those of rows: no levels, no dictionary, one page."""

    def __post_init__(self) -> None:
        has_levels = self.form.has_rep or self.form.has_def
        is_one_page = self.items is None and self.owners is None and self.symbols is None
        object.__setattr__(self, "has_plain_values", is_one_page and not has_levels)

    @property
    def num_chunks(self) -> int:
        return len(self.table.starts)

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """See `lance_core.encodings.v2_1.pages.base.LayoutPlan`."""
        if isinstance(rows, RowIndices) and not self.kinds.max_rep:
            return self._single_rows(rows.values, context)
        return self._rows(rows, context)

    def _rows(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        table = self.table
        chunks = table.chunks_of(rows, context.kernels)
        starts, stops = table.starts[chunks], table.stops[chunks]
        ranges, positions = span_places(self.base, starts, stops, context.coalesce_gap)
        read = ChunkBytes.of((yield ranges), positions, context)
        return self.part(rows, chunks, read, context)

    def part(
        self, rows: Rows, chunks: Int64Array, read: ChunkBytes, context: DecodeContext
    ) -> LeafPart:
        """The rows from the bytes of the chunks that hold them."""
        table = self.table
        counts = table.counts[chunks]
        parts = self.parts(chunks, read, context)
        request = WantedRows(rows, chunks, counts, table)
        chosen, where = wanted_levels(self.message, self.kinds, parts, request, context)
        if not isinstance(where, slice) and is_sparse(where, counts):
            at = ChunkPositions.of(where, counts)
            return self._taken(parts, chosen, chunks, at, None, context)
        values = self._all_values(parts, chunks, counts, context)
        runs = None if self.owners is None else self.owners.runs(chunks, counts, where)
        return LeafPart(chosen, self._array(values, where, chosen, runs, context))

    def read(self, chunks: Int64Array, context: DecodeContext) -> Decoding[ChunkBytes]:
        """Fetch the bytes of ``chunks``."""
        starts, stops = self.table.starts[chunks], self.table.stops[chunks]
        ranges, positions = span_places(self.base, starts, stops, context.coalesce_gap)
        buffers = yield ranges
        return ChunkBytes.of(buffers, positions, context)

    def parts(self, chunks: Int64Array, read: ChunkBytes, context: DecodeContext) -> ChunkParts:
        """The levels and value buffers of ``chunks``."""
        sizes = self.table.stops[chunks] - self.table.starts[chunks]
        spend(int(np.add.reduce(sizes)))
        return chunk_parts(self.form, read.data, read.positions, sizes, context.kernels)

    def _single_rows(self, rows: Int64Array, context: DecodeContext) -> Decoding[LeafPart]:
        """Rows of a page without lists; decodes only these rows if there are few in each chunk."""
        table = self.table
        chunks, chunk, position = context.kernels.locate_rows(table.values, rows)
        starts, stops = table.starts[chunks], table.stops[chunks]
        ranges, positions = span_places(self.base, starts, stops, context.coalesce_gap)
        read = ChunkBytes.of((yield ranges), positions, context)
        counts = table.counts[chunks]
        if not is_sparse(rows, counts):
            return self.part(RowIndices(rows), chunks, read, context)
        at = chunk_positions((counts, chunk, position))
        if not self.has_plain_values:
            return self.few(chunks, at, read, None, context)
        # What `few` does where there is only one thing to do, in one pass.
        sizes = stops - starts
        if current_budget() is not None:
            spend(int(np.add.reduce(sizes)))
        parts = chunk_parts(self.form, read.data, positions, sizes, context.kernels)
        stored = MiniBlockChunks.known(read.data, parts.starts, parts.sizes, counts)
        values = take(self.message.value_compression, stored, at, context)
        levels = Levels(self.kinds, None, None, len(rows))
        return LeafPart(levels, values.to_arrow(self.type, None, context.validate_utf8))

    def few(
        self,
        chunks: Int64Array,
        at: ChunkPositions,
        read: ChunkBytes,
        order: Int64Array | None,
        context: DecodeContext,
    ) -> LeafPart:
        """The rows at the positions ``at``, reordered by ``order`` if that is given."""
        parts = self.parts(chunks, read, context)
        definition = definition_at(self.message, parts, at, context)
        levels = Levels(self.kinds, None, definition, len(at.chunk))
        check_levels(levels, context.kernels)
        return self._taken(parts, levels, chunks, at, order, context)

    def _taken(
        self,
        parts: ChunkParts,
        levels: Levels,
        chunks: Int64Array,
        at: ChunkPositions,
        order: Int64Array | None,
        context: DecodeContext,
    ) -> LeafPart:
        stored = parts.values(at.counts)
        if self.symbols is None:
            values = take(self.message.value_compression, stored, at, context)
        else:
            codes = take(self.message.value_compression.fsst.values, stored, at, context)
            edges = chunks[at.chunk].searchsorted(self.symbols.edges)
            tables = self.symbols._replace(edges=edges)
            values = fsst.expand(as_variable(codes), tables, context.kernels)
        runs = None if self.owners is None else self.owners.runs_of(chunks[at.chunk])
        if order is not None:
            values = take_values(values, order, context.kernels)
            levels = picked_levels(levels, order)
        where = slice(0, values.count)
        return LeafPart(levels, self._array(values, where, levels, runs, context))

    def _all_values(
        self, parts: ChunkParts, chunks: Int64Array, counts: Int64Array, context: DecodeContext
    ) -> Values:
        stored = parts.values(counts)
        if self.kinds.max_rep and has_fixed_width(self.type):
            # The rows do not tell how many numbers there are, nor do stored bytes.
            spend(int(counts.sum()) * self.type.bit_width // 8)
        if self.symbols is None:
            return decode(self.message.value_compression, stored, context)
        tables = self.symbols._replace(edges=chunks.searchsorted(self.symbols.edges))
        message = self.message.value_compression.fsst
        return fsst.decode_with_tables(message, stored, tables, context)

    def _array(
        self,
        values: Values,
        where: ValuePositions,
        levels: Levels,
        runs: ItemRuns | None,
        context: DecodeContext,
    ) -> pa.Array:
        """The ``values`` at ``where``, which belong to the checked ``levels``, as an array."""
        if self.items is None:
            return leaf_values(values, where, self.type, context)
        items, kernels = Dictionary(self.items, runs), context.kernels
        return dictionary_values(values, where, levels, items, self.type, kernels)


def is_sparse(where: Int64Array, counts: Int64Array) -> bool:
    """True if taking the values at ``where`` costs less than decoding all values of the chunks."""
    return len(where) * _TAKE_COST < int(np.add.reduce(counts))
