"""A block of equal values (message ``Constant``); the value is in the message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Constant
from lance_core.encodings.v2_1.codecs.base import (
    MAX_UNBACKED_BYTES,
    Codec,
    Encoded,
    Place,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values


class ConstantCodec(Codec):
    """Stores one value in the message. Decoding repeats it.

    Encoding accepts only blocks of equal values of whole bytes.
    """

    key = "constant"

    def decode(self, message: Constant, source: Source, context: DecodeContext) -> FixedWidth:
        """See `Codec`."""
        value = message.value
        if not value:
            raise UnsupportedFeatureError("a constant encoding has a value of 0 bytes")
        if source.count * len(value) > MAX_UNBACKED_BYTES:
            raise CorruptFileError(
                f"a constant would expand to {source.count * len(value)} bytes; the limit is "
                f"{MAX_UNBACKED_BYTES}"
            )
        octets = np.tile(np.frombuffer(value, np.uint8), source.count)
        return FixedWidth(pa.py_buffer(octets), 8 * len(value), source.count)

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if target.place is not Place.BLOCK:
            raise unsupported_placement("constant", target)
        if not isinstance(values, FixedWidth) or values.bits % 8 or not values.bits * values.count:
            raise UnsupportedFeatureError(
                "constant encoding needs one or more values of whole bytes"
            )
        rows = values.octets().reshape(values.count, -1)
        if (rows != rows[0]).any() or rows.size > MAX_UNBACKED_BYTES:
            raise UnsupportedFeatureError("constant encoding of values that differ or are too many")
        encoding = CompressiveEncoding(constant=Constant(value=rows[0].tobytes()))
        return Encoded.block(encoding, pa.py_buffer(b""), values.count)
