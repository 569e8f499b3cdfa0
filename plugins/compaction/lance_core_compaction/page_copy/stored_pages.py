"""Unpack the chunks of mini-block pages without lists whose values become one page.

All chunks of a page but the last have a power of two of values, so the chunks of two pages are not
those of one page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.arrays import Int64Array
from lance_core.hookspecs.file_versions import DecodeContext, RowRange
from lance_core.hookspecs.stored_pages import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_NULLABLE_ITEM,
    BufferSlices,
    ChunkForm,
    ChunkParts,
    ChunkTable,
    Levels,
    MiniBlockChunks,
    MiniBlockLayout,
    PageWords,
    WantedRows,
    chunk_parts,
    layer_kinds,
    tables_of_pages,
    wanted_levels,
)

_ITEMS = frozenset({REPDEF_ALL_VALID_ITEM, REPDEF_NULLABLE_ITEM})
"""Kinds of layers that are not lists."""


class UnpackedPages(NamedTuple):
    """The chunks of several pages: their parts and values, and how many belong to each page.

    ``message``: that of one of the pages.
    """

    message: MiniBlockLayout
    parts: ChunkParts
    table: ChunkTable
    num_chunks: Int64Array

    @property
    def values(self) -> MiniBlockChunks:
        """The encoded values."""
        return self.parts.values(self.table.counts)

    def levels(self, context: DecodeContext) -> Levels:
        """The levels of all values. Raises `CorruptFileError` for levels that there cannot be."""
        counts = self.table.counts
        layer_types = layer_kinds(tuple(self.message.layers))
        rows = RowRange(0, int(counts.sum()))
        request = WantedRows(rows, np.arange(len(counts)), counts, self.table)
        levels, _ = wanted_levels(self.message, layer_types, self.parts, request, context)
        return levels


class StoredPages(NamedTuple):
    """The buffers of several pages: the ``words`` of all, of ``word_bytes[p]``, and their chunks.

    Page p has ``num_values[p]`` values.
    """

    words: npt.NDArray[np.uint8]
    word_bytes: Int64Array
    chunks: BufferSlices
    num_values: Int64Array

    def table(self, large: bool) -> tuple[ChunkTable, Int64Array]:
        """The chunks at their places in the buffers, and the number of chunks of each page."""
        where = self.chunks.starts, self.chunks.stops
        values = self.num_values
        return tables_of_pages(
            PageWords(self.words, self.word_bytes, large, values, values, where, None)
        )

    def unpacked(self, message: MiniBlockLayout, context: DecodeContext) -> UnpackedPages:
        """The chunks of pages whose messages equal ``message`` but for their numbers of values.

        Raises `CorruptFileError` if the bytes contradict it.
        """
        large = message.has_large_chunk
        table, num_chunks = self.table(large)
        data = self.chunks.joined(context.kernels.join_slices)
        lengths = self.chunks.sizes
        moved = np.cumsum(lengths) - lengths - self.chunks.starts
        starts = table.starts + np.repeat(moved, num_chunks)
        form = ChunkForm(False, message.HasField("def_compression"), 1, large)
        parts = chunk_parts(form, data, starts, table.stops - table.starts, context.kernels)
        return UnpackedPages(message, parts, table, num_chunks)


def can_unpack(message: MiniBlockLayout) -> bool:
    """True for pages that `StoredPages` can have: without lists and dictionary, of one buffer."""
    has_more = message.HasField("rep_compression") or message.HasField("dictionary")
    return not has_more and message.num_buffers == 1 and _ITEMS.issuperset(message.layers)


def joined_levels(parts: Sequence[Levels]) -> Levels:
    """The levels of values that follow each other, of the same layers but for nulls."""
    if len(parts) == 1:
        return parts[0]
    # Pages with and without nulls differ in the kind of the layer. Levels are 0 if none are stored.
    layers = max((part.kinds for part in parts), key=lambda layer: layer.max_def)
    count = sum(part.count for part in parts)
    if not layers.max_def:
        return Levels(layers, None, None, count)
    definitions = [
        np.zeros(part.count, np.uint16) if part.definition is None else part.definition
        for part in parts
    ]
    return Levels(layers, None, np.concatenate(definitions), count)
