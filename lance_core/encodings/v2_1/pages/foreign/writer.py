"""Write pages whose values have an encoding of a plugin; see ``reader`` for their layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, MiniBlockLayout, PageLayout
from lance_core.encodings.plugin_values.foreign_blocks import encode_blocks
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
    from lance_core.encodings.v2_1.levels.repdef import LevelArray, Levels

EncodeLevels = Callable[
    ["LevelArray", "Int64Array"], tuple[CompressiveEncoding, pa.Buffer, "Int64Array"]
]
"""`lance_core.encodings.v2_1.selection.blocks.encode_levels` with the context bound."""


def foreign_page(
    levels: Levels,
    values: pa.Array,
    spec: ValueEncodingSpec,
    encode_levels: EncodeLevels,
    large: bool,
) -> LayoutPage:
    """A page of ``values``, one per visible level and at least one of them not null.

    ``large``: True if this file version uses large chunks in mini-block pages.
    """
    message, data = encode_blocks(values, spec)
    layout = MiniBlockLayout(
        layers=levels.kinds.kinds,  # type: ignore[arg-type]  # values of an enum
        num_buffers=1,
        num_items=levels.count,
        has_large_chunk=large,
        repetition_index_depth=1 if levels.kinds.max_rep else 0,
    )
    general = layout.value_compression.general
    general.compression.SetInParent()
    general.values.constant.value = message.SerializeToString()
    buffers = [data]
    edges = np.array([0, levels.count])
    if levels.rep is not None:
        encoding, stored, _ = encode_levels(levels.rep, edges)
        layout.rep_compression.CopyFrom(encoding)
        buffers.append(stored)
    if levels.definition is not None:
        encoding, stored, _ = encode_levels(levels.definition, edges)
        layout.def_compression.CopyFrom(encoding)
        buffers.append(stored)
    return LayoutPage(PageLayout(mini_block_layout=layout), buffers)
