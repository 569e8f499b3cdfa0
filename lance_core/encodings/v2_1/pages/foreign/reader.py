"""Read pages whose values have an encoding of a plugin (message ``ForeignValues``).

The page message describes a mini-block page of a constant, whose value is the ``ForeignValues``
message, inside a general compression without a scheme. Other readers reject this. The page has no
chunks. Page buffers: the blocks of values, then the repetition levels and the definition levels of
the whole page, if it has them. ``num_items`` counts levels. Levels are read once and cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.encodings.arrow.spans import edges_of, spans_index
from lance_core.encodings.decoding import RowRange, ValuePositions
from lance_core.encodings.plugin_values.foreign_blocks import ForeignBlocks, parse_foreign
from lance_core.encodings.plugin_values.value_encoding import find_value_encoding
from lance_core.encodings.v2_1.levels.repdef import Levels, check_levels
from lance_core.encodings.v2_1.pages.base import (
    LayoutPlan,
    LeafPart,
    PageScope,
    kinds_of,
    level_rows,
)
from lance_core.encodings.v2_1.pages.level_codecs import decode_level_block
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.registry import EncodingRegistry


def is_foreign(message: MiniBlockLayout) -> bool:
    """True if the values of a page have an encoding that is not part of the format."""
    # No writer of the format combines these. By this message pylance refuses the column before it
    # reads a page of it, and reads all others: docs/format/foreign-encodings.md.
    general = message.value_compression.general
    return general.values.constant.HasField("value") and not general.compression.scheme


class ForeignPlan(LayoutPlan):
    """Decodes a page whose values have an encoding of a plugin."""

    __slots__ = ("_levels", "blocks", "kinds", "message", "scope")

    def __init__(self, message: MiniBlockLayout, scope: PageScope, blocks: ForeignBlocks) -> None:
        self.message = message
        self.scope = scope
        self.blocks = blocks
        self.kinds = kinds_of(message.layers, message.num_items)
        self._levels: Levels | None = None

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """See `LayoutPlan`."""
        whole = self._levels
        if whole is None:
            buffers = (yield self.scope.buffers[1:]) if len(self.scope.buffers) > 1 else ()
            whole = self._levels = self._decoded(list(buffers), context)
        where = _values_of(whole, rows)
        values = yield from self.blocks.decode(where, context.coalesce_gap)
        return LeafPart(level_rows(whole, rows), values)

    def _decoded(self, buffers: list[pa.Buffer], context: DecodeContext) -> Levels:
        """The levels of the page, checked to match its rows and values."""
        message, count = self.message, self.message.num_items if buffers else self.scope.num_rows
        rep = definition = None
        if message.HasField("rep_compression"):
            rep = decode_level_block(message.rep_compression, buffers.pop(0), count, context)
        if message.HasField("def_compression"):
            definition = decode_level_block(message.def_compression, buffers.pop(0), count, context)
        levels = Levels(self.kinds, rep, definition, count)
        check_levels(levels, context.kernels)
        starts, visible = levels.row_starts(), levels.visible()
        num_rows = count if starts is None else len(starts)
        if num_rows != self.scope.num_rows:
            raise CorruptFileError(
                f"the levels have {num_rows} rows, but the page has {self.scope.num_rows}"
            )
        values = count if visible is None else int(np.count_nonzero(visible))
        if values != self.blocks.count:
            raise CorruptFileError(
                f"the page has {self.blocks.count} values for {values} visible levels"
            )
        return levels


def _values_of(levels: Levels, rows: Rows) -> ValuePositions:
    """The positions of the values of ``rows`` in the page."""
    starts, visible = levels.row_starts(), levels.visible()
    if starts is None:
        return slice(rows.start, rows.stop) if isinstance(rows, RowRange) else rows.values
    edges = np.append(starts, levels.count)
    if visible is not None:
        edges = edges_of(visible)[edges]
    if isinstance(rows, RowRange):
        return slice(int(edges[rows.start]), int(edges[rows.stop]))
    return spans_index(edges[rows.values], edges[rows.values + 1])


def decode_foreign(
    message: MiniBlockLayout, scope: PageScope, registry: EncodingRegistry
) -> LayoutPlan:
    """The plan for a page of a plugin's encoding.

    Raises `PluginNotFoundError` if no plugin provides the encoding, and `CorruptFileError` if the
    page contradicts its description.
    """
    foreign = parse_foreign(message.value_compression.general.values.constant.value)
    spec = find_value_encoding(foreign.type_url, registry, "a page", foreign.distribution)
    stored = message.HasField("rep_compression") + message.HasField("def_compression")
    if len(scope.buffers) != 1 + stored:
        raise CorruptFileError(f"{len(scope.buffers)} buffers of a page that needs {1 + stored}")
    blocks = ForeignBlocks.of(foreign, spec, scope.type, scope.buffers[0])
    plan = ForeignPlan(message, scope, blocks)
    if message.HasField("rep_compression") != (plan.kinds.max_rep > 0):
        raise CorruptFileError("a page must have repetition levels if and only if it has lists")
    if not plan.kinds.max_rep and not foreign.num_values == message.num_items == scope.num_rows:
        raise CorruptFileError(f"a page of {scope.num_rows} rows has {foreign.num_values} values")
    return plan
