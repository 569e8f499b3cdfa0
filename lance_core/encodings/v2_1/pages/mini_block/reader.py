"""Read mini-block pages (message ``MiniBlockLayout``): small values, compressed in chunks.

Page buffers: chunk words, chunks, the dictionary (if any), the repetition index (if there are
lists). All but the chunks are read once and cached with the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.v2_1.codecs.base import Block, decode
from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart, PageScope, kinds_of
from lance_core.encodings.v2_1.pages.leaf_values import dictionary_items
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm
from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkBytes, ChunkedPages
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import chunk_table, row_table
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows

_MAX_BUFFERS = 64


class MiniBlockPlan(LayoutPlan):
    """Decodes a mini-block page. ``known`` has its cached descriptions; it is None until then."""

    __slots__ = ("form", "kinds", "known", "message", "scope")

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
        self.known: ChunkedPages | None = None

    is_all_null = False
    """See `LayoutPlan`; each read of a column asks, and a property is a call."""

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """See `LayoutPlan`."""
        if self.known is not None:
            return self.known.decode(rows, context)
        return self._open_and_decode(rows, context)

    def _open_and_decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        known, read = yield from self.open(rows, context)
        if read is not None:
            return known.part(rows, np.arange(known.num_chunks), read, context)
        return (yield from known.decode(rows, context))

    def open(
        self, rows: Rows, context: DecodeContext
    ) -> Decoding[tuple[ChunkedPages, ChunkBytes | None]]:
        """The cached descriptions; and the chunks, if they are requested in the same round."""
        if self.known is not None:
            return self.known, None
        ranges = self.descriptions()
        if not (isinstance(rows, RowRange) and len(rows) == self.scope.num_rows):
            return self.describe((yield ranges), context), None
        # All bytes are needed, so fetch the chunks in the same round.
        buffers = yield [*ranges, self.scope.buffers[1]]
        known = self.describe(buffers[:-1], context)
        return known, ChunkBytes(np.frombuffer(buffers[-1], np.uint8), known.table.starts)

    def descriptions(self) -> list[ByteRange]:
        """The ranges of the chunk words and, if present, the dictionary and repetition index."""
        buffers = self.scope.buffers
        return [buffers[0], *buffers[2 : 2 + self.has_dictionary + self.has_lists]]

    def describe(self, buffers: Sequence[pa.Buffer], context: DecodeContext) -> ChunkedPages:
        """Parse the buffers of `descriptions`, cache the result and return it."""
        message, scope = self.message, self.scope
        items = rows = None
        if self.has_dictionary:
            count = message.num_dictionary_items
            decoded = decode(message.dictionary, Block(buffers[1], count), context)
            items = dictionary_items(decoded, scope.type, context)
        if self.has_lists:
            rows = row_table(buffers[-1], message.repetition_index_depth, scope.num_rows)
        chunks = scope.buffers[1]
        table = chunk_table(buffers[0], message, chunks.length, rows, context.kernels)
        self.known = ChunkedPages(
            message, self.form, self.kinds, scope.type, table, chunks.start, items
        )
        return self.known

    @property
    def has_dictionary(self) -> bool:
        """True if the values are indices into a dictionary of the page."""
        return self.message.HasField("dictionary")

    @property
    def has_lists(self) -> bool:
        """True if there are lists around the values."""
        return self.kinds.max_rep > 0


def decode_mini_block(message: MiniBlockLayout, scope: PageScope) -> LayoutPlan:
    """`LayoutDecoder` of ``mini_block_layout``."""
    plan = MiniBlockPlan(message, scope)
    has_lists = plan.kinds.max_rep > 0
    expected = 2 + message.HasField("dictionary") + has_lists
    if len(scope.buffers) < expected:
        raise CorruptFileError(f"{len(scope.buffers)} buffers of a page that needs {expected}")
    if not message.HasField("value_compression"):
        raise CorruptFileError("the encoding of the values is missing", field="MiniBlockLayout")
    if not 0 < message.num_buffers <= _MAX_BUFFERS:
        raise CorruptFileError(
            f"a chunk has {message.num_buffers} buffers, allowed are 1 to {_MAX_BUFFERS}",
            field="MiniBlockLayout",
        )
    if has_lists:
        if message.repetition_index_depth != 1:
            raise UnsupportedFeatureError(
                f"the repetition index has depth {message.repetition_index_depth}; only depth 1 is "
                "supported"
            )
    elif message.num_items != scope.num_rows:
        raise CorruptFileError(
            f"a page without lists has {message.num_items} values but {scope.num_rows} rows"
        )
    return plan
