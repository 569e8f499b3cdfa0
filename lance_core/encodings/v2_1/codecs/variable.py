"""Variable-width values (message ``Variable``): offsets, then bytes.

In a chunk of a mini-block page, offsets of 4 or 8 bytes count from the start of the buffer; the
bytes and padding with 0x48 to a multiple of the offset width follow. A block starts with two words:
the bits of an offset and the position of the bytes; its offsets count from 0. The words of a block
have the width of its offsets. Full-zip pages store only the bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Variable
from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.decoding import Offsets
from lance_core.encodings.kernels.numpy.variable_chunks import VariableChunks
from lance_core.encodings.v2_1.codecs.base import (
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
from lance_core.encodings.v2_1.codecs.flat import flat_encoding, inner_flat, whole_value
from lance_core.encodings.v2_1.codecs.values import VariableWidth
from lance_core.encodings.v2_1.codecs.values_take import downcast_offsets
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values


def offset_bits(message: Variable) -> int:
    """Bits of an offset, 32 or 64. Raises `CorruptFileError` for others."""
    bits = inner_flat(message.offsets, "offsets")
    if bits not in (32, 64):
        raise CorruptFileError(
            f"offsets have {bits} bits, expected 32 or 64", field="Variable.offsets"
        )
    return bits


class VariableCodec(Codec):
    """Stores offsets and bytes; offsets keep the width of the given values."""

    key = "variable"

    def decode(self, message: Variable, source: Source, context: DecodeContext) -> VariableWidth:
        """See `Codec`."""
        if message.HasField("values"):
            raise UnsupportedFeatureError("values of variable width that are compressed themselves")
        if isinstance(source, PerValue):
            if not isinstance(source.payload, VariableWidth):
                raise CorruptFileError(
                    "values of variable width are stored in values of fixed width"
                )
            return source.payload
        bits = offset_bits(message)
        if isinstance(source, Block):
            return _decode_block(source, bits // 8)
        return VariableWidth(*context.kernels.join_variable(variable_chunks(source, bits // 8)))

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if not isinstance(values, VariableWidth):
            raise UnsupportedFeatureError("variable encoding needs values of variable width")
        bits = values.offset_bits
        encoding = variable_encoding(bits)
        if target.place is Place.PER_VALUE:
            return Encoded.per_value(encoding, values)
        offsets, width = values.offsets.astype(np.int64), bits // 8
        if target.place is Place.BLOCK:
            # A block begins with the bits of an offset and the position of the bytes, each as wide
            # as an offset. Unlike those of chunks, its offsets count from the first of these bytes.
            octets, head = values.octets(), (values.count + 3) * width
            data = np.empty(head + len(octets), np.uint8)
            words = data[:head].view(f"<u{width}")
            words[0], words[1], words[2:] = bits, head, offsets
            data[head:] = octets
            return Encoded.block(encoding, pa.py_buffer(data), values.count)
        chunks = target.kernels.split_variable(values.octets(), offsets, width, target.chunk_bytes)
        data, sizes, counts = chunks
        return Encoded(encoding, (data,), sizes[None], counts)

    def take(
        self, message: Variable, chunks: MiniBlockChunks, at: ChunkPositions, context: DecodeContext
    ) -> VariableWidth:
        """See `Codec`."""
        if message.HasField("values"):
            raise UnsupportedFeatureError("values of variable width that are compressed themselves")
        bits = offset_bits(message)
        known = variable_chunks(chunks, bits // 8)
        starts, stops = context.kernels.pick_spans(known, at.packed)
        data, offsets = context.kernels.gather_variable(known.data, starts, stops)
        return VariableWidth(downcast_offsets(offsets, bits), data)

    def scalar_at(
        self, message: Variable, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        if message.HasField("values") or place is Place.BLOCK:
            return None
        if place is Place.PER_VALUE:
            return whole_value
        width = offset_bits(message) // 8

        def value(chunk: Chunk, position: int) -> memoryview:
            head = (chunk.total + 1) * width
            chunk.check_size(head)
            start = chunk.starts[0]
            at = start + position * width
            first = int.from_bytes(chunk.data[at : at + width], "little")
            last = int.from_bytes(chunk.data[at + width : at + 2 * width], "little")
            if not head <= first <= last <= chunk.sizes[0]:
                raise CorruptFileError(
                    "the offsets of a chunk do not ascend within it", field="Variable"
                )
            return chunk.data[start + first : start + last]

        return value


@lru_cache(maxsize=2)
def variable_encoding(bits: int) -> CompressiveEncoding:
    """The message for offsets of ``bits`` bits, which must not be changed: pages share it."""
    return CompressiveEncoding(variable=Variable(offsets=flat_encoding(bits)))


def variable_chunks(source: MiniBlockChunks, width: int) -> VariableChunks:
    """Chunks of one buffer each with offsets of ``width`` bytes. Raises `CorruptFileError`."""
    chunks = source.single()
    return VariableChunks(chunks.data, chunks.starts[0], chunks.sizes[0], chunks.counts, width)


def _decode_block(block: Block, width: int) -> VariableWidth:
    octets = np.frombuffer(block.data, np.uint8)
    head = (block.count + 3) * width
    if head > len(octets):
        raise CorruptFileError(
            f"{len(octets)} bytes cannot hold {block.count} values of variable width"
        )
    words: npt.NDArray[np.unsignedinteger] = np.frombuffer(octets, f"<u{width}", block.count + 3)
    if words[0] != 8 * width or words[1] != head:
        raise CorruptFileError(f"a block of values starts with {words[0]}, {words[1]}")
    data = block.data.slice(head)
    if int(words[-1]) > data.size:
        raise CorruptFileError(f"a value ends at byte {words[-1]} of {data.size}")
    return VariableWidth.checked(_narrow(words[2:], width), data)


def _narrow(offsets: npt.NDArray[np.integer], width: int) -> Offsets:
    """Offsets as int32 if they were stored with 4 bytes and fit."""
    if width == 4 and offsets[-1] <= MAX_OFFSET:
        return offsets.astype(np.int32)
    return offsets.astype(np.int64)
