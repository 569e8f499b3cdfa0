"""Byte stream split (message ``ByteStreamSplit``): a chunk stores byte k of all values together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import ByteStreamSplit, CompressiveEncoding
from lance_core.encodings.v2_1.codecs.base import (
    Chunk,
    ChunkPositions,
    Codec,
    Encoded,
    MiniBlockChunks,
    Place,
    ScalarAt,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.chunks import split_sizes
from lance_core.encodings.v2_1.codecs.flat import flat_encoding, inner_flat
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_VALUES = {32: 1024, 64: 512}


class ByteStreamSplitCodec(Codec):
    """Stores byte 0 of all values of a chunk, then byte 1 of all, and so on."""

    key = "byte_stream_split"

    def decode(
        self, message: ByteStreamSplit, source: Source, context: DecodeContext
    ) -> FixedWidth:
        """See `Codec`."""
        if not isinstance(source, MiniBlockChunks):
            raise unsupported_placement("byte_stream_split", source)
        bits = _stream_bits(message)
        chunks = source.single()
        starts, sizes, counts = chunks.starts[0], chunks.sizes[0], chunks.counts
        octets = context.kernels.join_streams(chunks.data, starts, sizes, counts, bits // 8)
        return FixedWidth(pa.py_buffer(octets), bits, source.count)

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if target.place is not Place.MINI_BLOCK:
            raise unsupported_placement("byte_stream_split", target)
        if not isinstance(values, FixedWidth) or values.bits not in _VALUES:
            raise UnsupportedFeatureError("byte streams can only store values of 32 or 64 bits")
        per_chunk = _VALUES[values.bits]
        counts, sizes = split_sizes(values.count, per_chunk, values.bits)
        data = target.kernels.split_streams(values.octets(), values.bits // 8, per_chunk)
        message = ByteStreamSplit(values=flat_encoding(values.bits))
        encoding = CompressiveEncoding(byte_stream_split=message)
        return Encoded(encoding, (pa.py_buffer(data),), sizes[None], counts)

    def take(
        self,
        message: ByteStreamSplit,
        chunks: MiniBlockChunks,
        at: ChunkPositions,
        context: DecodeContext,
    ) -> FixedWidth:
        """See `Codec`."""
        bits, chunks = _stream_bits(message), chunks.single()
        width = bits // 8
        if (chunks.counts * width > chunks.sizes[0]).any():
            raise CorruptFileError("a chunk has fewer bytes than its values take")
        # Byte k of a value is at k times the number of values of its chunk, after its byte 0.
        first = chunks.starts[0].take(at.chunk) + at.position
        steps = chunks.counts.take(at.chunk)
        octets = chunks.data[first[:, None] + steps[:, None] * np.arange(width)]
        return FixedWidth(pa.py_buffer(octets.reshape(-1)), bits, len(first))

    def scalar_at(
        self, message: ByteStreamSplit, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        if place is not Place.MINI_BLOCK:
            return None
        width = _stream_bits(message) // 8

        def value(chunk: Chunk, position: int) -> bytes:
            chunk.check_size(chunk.total * width)
            start = chunk.starts[0] + position
            return bytes(chunk.data[start : start + chunk.total * width : chunk.total][:width])

        return value


def _stream_bits(message: ByteStreamSplit) -> int:
    """Bits of each value. Raises `UnsupportedFeatureError` for other than 32 and 64."""
    bits = inner_flat(message.values, "byte streams")
    if bits not in _VALUES:
        raise UnsupportedFeatureError(f"byte streams cannot store values of {bits} bits")
    return bits
