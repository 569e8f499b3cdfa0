"""Which compressive encodings blocks get: items of dictionaries, and levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.encodings.codecs.flat import flat_encoding
from lance_core.encodings.compressive import Place, Target, encode
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.values import FixedWidth, Values

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
    from lance_core.encodings.repdef import LevelArray
    from lance_core.encodings.structural import EncodeContext
    from lance_core.encodings.v2_1.options import FieldOptions


def encode_block(
    values: Values, options: FieldOptions | None, context: EncodeContext
) -> tuple[CompressiveEncoding, pa.Buffer]:
    """``values`` as one buffer. ``options`` are those of the field whose dictionary they are."""
    chain = ("flat",) if isinstance(values, FixedWidth) else ("variable",)
    encoded = encode(values, Target(Place.BLOCK, context.registry, chain))
    return encoded.encoding, encoded.buffers[0]


def encode_levels(
    levels: LevelArray, edges: Int64Array, context: EncodeContext
) -> tuple[CompressiveEncoding, pa.Buffer, Int64Array]:
    """Levels of chunks: the message for all, their bytes one after the other, bytes of each.

    Chunk c has the levels ``edges[c]`` to ``edges[c + 1]``.
    """
    data = pa.py_buffer(np.ascontiguousarray(levels, "<u2"))
    return flat_encoding(16), data, np.diff(edges) * 2
