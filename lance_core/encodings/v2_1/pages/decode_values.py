"""What layouts ask of compressive encodings: values of chunks, of a block, of zipped values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.v2_1.codecs.base import Block, MiniBlockChunks, PerValue, decode, take

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.codecs.base import ChunkPositions
    from lance_core.encodings.v2_1.codecs.values import FixedWidth, Values, VariableWidth
    from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkParts


def decode_chunks(
    encoding: CompressiveEncoding, parts: ChunkParts, counts: Int64Array, context: DecodeContext
) -> Values:
    """The values of chunks that hold ``counts`` of them, joined."""
    chunks = MiniBlockChunks.known(parts.data, parts.starts, parts.sizes, counts)
    return decode(encoding, chunks, context)


def take_from_chunks(
    encoding: CompressiveEncoding, parts: ChunkParts, at: ChunkPositions, context: DecodeContext
) -> Values:
    """Single values of chunks."""
    chunks = MiniBlockChunks.known(parts.data, parts.starts, parts.sizes, at.counts)
    return take(encoding, chunks, at, context)


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
