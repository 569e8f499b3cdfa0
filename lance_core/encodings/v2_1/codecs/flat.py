"""Fixed-width values without compression (message ``Flat``); the same form in all sources."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Flat
from lance_core.encodings.kernels.numpy.single_packed import bytes_at
from lance_core.encodings.v2_1.codecs.base import (
    MAX_UNBACKED_BYTES,
    Block,
    Chunk,
    ChunkPositions,
    Codec,
    Encoded,
    MiniBlockChunks,
    PerValue,
    Place,
    ScalarAt,
)
from lance_core.encodings.v2_1.codecs.chunks import (
    chunk_bits,
    chunk_bytes,
    largest_chunk,
    split_sizes,
)
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_WIDEST = 1 << 35


class FlatCodec(Codec):
    """Stores fixed-width values without compression."""

    key = "flat"

    def decode(self, message: Flat, source: Source, context: DecodeContext) -> FixedWidth:
        """See `Codec`."""
        bits = flat_bits(message)
        if isinstance(source, PerValue):
            payload = source.payload
            if not isinstance(payload, FixedWidth):
                raise CorruptFileError("a flat encoding contains values of variable width")
            # A full-zip page has whole bytes, so a bit takes one.
            if payload.bits != bits and (payload.bits, bits) != (8, 1):
                raise CorruptFileError(
                    f"flat values of {bits} bits are stored in {payload.bits} bits"
                )
            return payload
        if isinstance(source, Block):
            return FixedWidth(source.data, bits, source.count)
        return flat_chunks(source.single(), bits, context.kernels)

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if not isinstance(values, FixedWidth):
            raise UnsupportedFeatureError("flat encoding needs values of fixed width")
        bits = values.bits
        if target.place is Place.PER_VALUE:
            if bits == 1:
                octets = np.unpackbits(values.octets(), bitorder="little", count=values.count)
                values = FixedWidth.of(octets)
            return Encoded.per_value(flat_encoding(values.bits), values)
        data = values.buffer()
        if target.place is Place.BLOCK:
            return Encoded.block(flat_encoding(bits), data, values.count)
        counts, sizes = split_sizes(values.count, largest_chunk(bits), bits)
        return Encoded(flat_encoding(bits), (data,), sizes[None], counts)

    def take(
        self, message: Flat, chunks: MiniBlockChunks, at: ChunkPositions, context: DecodeContext
    ) -> FixedWidth:
        """See `Codec`."""
        return take_flat(flat_bits(message), chunks.single(), at)

    def scalar_at(
        self, message: Flat, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        bits = flat_bits(message)
        width = bits // 8
        if place is Place.PER_VALUE:
            return whole_value if bits % 8 == 0 else None

        def bit(chunk: Chunk, position: int) -> bytes:
            octet, number = divmod(position, 8)
            chunk.check_size(octet + 1)
            return b"\1" if chunk.data[chunk.starts[0] + octet] >> number & 1 else b"\0"

        def value(chunk: Chunk, position: int) -> memoryview:
            chunk.check_size((position + 1) * width)
            start = chunk.starts[0] + position * width
            return chunk.data[start : start + width]

        return bit if bits == 1 else value if width else None


def flat_bits(message: Flat) -> int:
    """Bits of each value. Raises for an invalid width and for compressed values."""
    if message.HasField("data"):
        raise UnsupportedFeatureError("flat values that are compressed themselves")
    bits = message.bits_per_value
    if (bits != 1 and bits % 8) or bits > _WIDEST:
        raise CorruptFileError(
            f"flat values have an invalid width of {bits} bits", field="Flat.bits_per_value"
        )
    return bits


def inner_flat(encoding: CompressiveEncoding, of: str, any_width: bool = False) -> int:
    """Bits of the flat values inside an encoding that only allows flat values (``of`` in errors).

    If ``any_width`` is true, the values are packed and may have any number of bits.
    """
    compression = encoding.WhichOneof("compression")
    if compression != "flat":
        raise UnsupportedFeatureError(
            f"{of} of values that are {compression or 'not said'}, not flat"
        )
    return encoding.flat.bits_per_value if any_width else flat_bits(encoding.flat)


def flat_chunks(chunks: MiniBlockChunks, bits: int, kernels: Kernels) -> FixedWidth:
    """The values of chunks whose only buffer holds values of ``bits`` bits."""
    if bits == 1:
        return FixedWidth(chunk_bits(chunks, 0, chunks.counts, kernels), 1, chunks.count)
    # Values of no bits take no bytes, so that nothing in the file bounds their number.
    limit = 8 * len(chunks.data) if bits else MAX_UNBACKED_BYTES
    if len(chunks.counts) and int(np.maximum.reduce(chunks.counts)) * max(bits, 1) > limit:
        raise CorruptFileError("a chunk has fewer bytes than its values take")
    octets = chunk_bytes(chunks, 0, chunks.counts * (bits // 8), kernels)
    return FixedWidth(octets, bits, chunks.count)


@lru_cache(maxsize=64)
def flat_encoding(bits: int) -> CompressiveEncoding:
    """The message for values of ``bits`` bits, which must not be changed: pages share it."""
    return CompressiveEncoding(flat=Flat(bits_per_value=bits))


def take_flat(bits: int, chunks: MiniBlockChunks, at: ChunkPositions) -> FixedWidth:
    """Single values of chunks whose only buffer holds values of ``bits`` bits."""
    if np.logical_or.reduce((chunks.counts * bits + 7) // 8 > chunks.sizes[0]):
        raise CorruptFileError("a chunk has fewer bytes than its values take")
    starts = chunks.starts[0].take(at.chunk)
    if bits == 1:
        octets = bytes_at(chunks.data, starts + (at.position >> 3), 1)
        bits_taken = (octets >> (at.position & 7).astype(np.uint8)) & 1
        return FixedWidth(pa.py_buffer(np.packbits(bits_taken, bitorder="little")), 1, len(starts))
    octets = bytes_at(chunks.data, starts + at.position * (bits // 8), bits // 8)
    return FixedWidth(pa.py_buffer(octets), bits, len(starts))


def whole_value(chunk: Chunk, position: int) -> memoryview:
    """`ScalarAt` for full-zip pages with uncompressed values: the whole chunk."""
    return chunk.data[chunk.starts[0] : chunk.starts[0] + chunk.sizes[0]]
