"""Byte k of all values together, for each k (message ``ByteStreamSplit``), chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import ByteStreamSplit, CompressiveEncoding
from lance_core.encodings.v2_1.codecs.base import (
    Encoded,
    MiniBlockChunks,
    Place,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.chunks import split_sizes
from lance_core.encodings.v2_1.codecs.flat import flat_encoding, inner_flat
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_VALUES = {32: 1024, 64: 512}


def decode_byte_stream_split(
    message: ByteStreamSplit, source: Source, context: DecodeContext
) -> FixedWidth:
    """`CompressiveDecoder` of ``byte_stream_split``; all chunks together."""
    if not isinstance(source, MiniBlockChunks):
        raise unsupported_placement("byte_stream_split", source)
    bits = stream_bits(message)
    chunks = source.single()
    starts, sizes, counts = chunks.starts[0], chunks.sizes[0], chunks.counts
    octets = context.kernels.join_streams(chunks.data, starts, sizes, counts, bits // 8)
    return FixedWidth(pa.py_buffer(octets), bits, source.count)


def stream_bits(message: ByteStreamSplit) -> int:
    """Bits of each value."""
    bits = inner_flat(message.values, "byte streams")
    if bits not in _VALUES:
        raise UnsupportedFeatureError(f"byte streams of values of {bits} bits")
    return bits


def encode_byte_stream_split(values: Values, target: Target) -> Encoded:
    """`CompressiveEncoder` of ``byte_stream_split``, for values of 32 or 64 bits."""
    if target.place is not Place.MINI_BLOCK:
        raise unsupported_placement("byte_stream_split", target)
    if not isinstance(values, FixedWidth) or values.bits not in _VALUES:
        raise UnsupportedFeatureError("byte streams of values that are not 32 or 64 bits")
    per_chunk = _VALUES[values.bits]
    counts, sizes = split_sizes(values.count, per_chunk, values.bits)
    data = target.kernels.split_streams(values.octets(), values.bits // 8, per_chunk)
    message = ByteStreamSplit(values=flat_encoding(values.bits))
    encoding = CompressiveEncoding(byte_stream_split=message)
    return Encoded(encoding, (pa.py_buffer(data),), sizes[None], counts)
