"""What layouts ask of compressive encodings: values of chunks, of a block, of zipped values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.v2_1.codecs.base import Block, MiniBlockChunks, PerValue, decode
from lance_core.encodings.v2_1.codecs.picks import ChunkPositions, pick

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.codecs.values import FixedWidth, Values, VariableWidth
    from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkParts


def decode_chunks(
    encoding: CompressiveEncoding, parts: ChunkParts, counts: Int64Array, context: DecodeContext
) -> Values:
    """The values of chunks that hold ``counts`` of them, joined."""
    chunks = MiniBlockChunks.known(parts.data, parts.starts, parts.sizes, counts)
    return decode(encoding, chunks, context)


def pick_values(
    encoding: CompressiveEncoding,
    parts: ChunkParts,
    where: PositionsInChunks,
    context: DecodeContext,
) -> Values:
    """Single values of chunks."""
    chunks = MiniBlockChunks.known(parts.data, parts.starts, parts.sizes, where.counts)
    return pick(encoding, ChunkPositions(chunks, where.chunk, where.position), context)


class PositionsInChunks(NamedTuple):
    """Of chunks that hold ``counts`` values each: which one, and which of its values."""

    counts: Int64Array
    chunk: Int64Array
    position: Int64Array

    @classmethod
    def of(cls, where: Int64Array, counts: Int64Array) -> PositionsInChunks:
        """From ascending places among the values of all chunks."""
        ends = np.cumsum(counts)
        chunk = np.searchsorted(ends, where, side="right")
        return cls(counts, chunk, where - (ends - counts).take(chunk))


def decode_part(
    encoding: CompressiveEncoding,
    data: npt.NDArray[np.uint8],
    place: tuple[Int64Array, Int64Array],
    counts: Int64Array,
    context: DecodeContext,
) -> Values:
    """The values of one buffer of each chunk, at starts and of sizes ``place``, joined."""
    starts, sizes = place
    chunks = MiniBlockChunks.known(data, starts[None], sizes[None], counts)
    return decode(encoding, chunks, context)


def decode_block(
    encoding: CompressiveEncoding, data: pa.Buffer, count: int, context: DecodeContext
) -> Values:
    """The ``count`` values of a buffer."""
    return decode(encoding, Block(data, count), context)


def decode_values(
    encoding: CompressiveEncoding, payload: FixedWidth | VariableWidth, context: DecodeContext
) -> Values:
    """The values of the bytes that stand behind control words."""
    return decode(encoding, PerValue(payload), context)
