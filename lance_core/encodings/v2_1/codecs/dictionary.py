"""Dictionary encoding (message ``Dictionary``).

Known writers do not use this message. They store a dictionary beside a page
(``MiniBlockLayout.dictionary``, a block of distinct values); `distinct` computes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import Dictionary
from lance_core.encodings.arrow.memory_pool import memory_pool
from lance_core.encodings.v2_1.codecs.base import Codec
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth
from lance_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Offsets
    from lance_core.encodings.v2_1.codecs.base import Source
    from lance_core.encodings.v2_1.codecs.values import Values


class DictionaryCodec(Codec):
    """Rejects the encoding: the specification does not define the framing of its two parts."""

    key = "dictionary"

    def decode(self, message: Dictionary, source: Source, context: DecodeContext) -> Values:
        """See `Codec`."""
        raise UnsupportedFeatureError(
            "dictionary encoding is supported for a whole page only, not within other encodings"
        )


def as_binary(values: FixedWidth | VariableWidth) -> pa.Array:
    """The values as a binary array without nulls over the same buffers.

    Raises `UnsupportedFeatureError` for values that do not have whole bytes.
    """
    if isinstance(values, FixedWidth):
        if values.bits % 8 or not values.bits:
            raise UnsupportedFeatureError(
                f"dictionary encoding needs values of whole bytes, got {values.bits} bits"
            )
        return values.to_arrow(pa.binary(values.bits // 8))
    return values.to_arrow(pa.large_binary() if values.offset_bits == 64 else pa.binary())


def distinct(
    values: FixedWidth | VariableWidth,
) -> tuple[FixedWidth, FixedWidth | VariableWidth]:
    """Indices of 32 bits, and the distinct values in order of first occurrence.

    Raises `UnsupportedFeatureError` for values that do not have whole bytes.
    """
    import pyarrow.compute as pc

    if isinstance(values, FixedWidth) and values.bits == 64:
        # Arrow dictionary-encodes integers much faster than bytes.
        array = values.to_arrow(pa.uint64())
    else:
        array = as_binary(values)
    encoded = pc.dictionary_encode(array, memory_pool=memory_pool())
    indices = np.frombuffer(encoded.indices.buffers()[1], np.int32, len(array)).view(np.uint32)
    items = encoded.dictionary
    _, *buffers = items.buffers()
    if isinstance(values, FixedWidth):
        return FixedWidth.of(indices), FixedWidth(buffers[0], values.bits, len(items))
    count = len(items) + 1
    offsets: Offsets
    if values.offset_bits == 32:
        offsets = np.frombuffer(buffers[0], np.int32, count)
    else:
        offsets = np.frombuffer(buffers[0], np.int64, count)
    return FixedWidth.of(indices), VariableWidth(offsets, buffers[1])
