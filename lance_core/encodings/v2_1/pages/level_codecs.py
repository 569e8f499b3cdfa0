"""Decode repetition and definition levels, raw or compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, OutOfLineBitpacking
from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.v2_1.codecs.base import Block, MiniBlockChunks, decode, take
from lance_core.encodings.v2_1.codecs.rle import chunks_of_blocks
from lance_core.encodings.v2_1.codecs.values import Values, as_fixed
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.codecs.base import ChunkPositions
    from lance_core.encodings.v2_1.levels.repdef import LevelArray

_BYTES = 2

_LIKE_VALUES = frozenset({"flat", "inline_bitpacking"})
"""Encodings with the same form in blocks and chunks; all chunks are decoded with one call."""


def raw_levels(buffer: pa.Buffer) -> LevelArray:
    """Levels that are stored as u16."""
    if buffer.size % _BYTES:
        raise CorruptFileError(
            f"a buffer of levels has {buffer.size} bytes; levels take 2 bytes each"
        )
    return np.frombuffer(buffer, "<u2")


def decode_level_block(
    encoding: CompressiveEncoding, buffer: pa.Buffer, count: int, context: DecodeContext
) -> LevelArray:
    """``count`` levels from one compressed block."""
    return _levels(decode(encoding, Block(buffer, count), context), count)


def decode_levels(
    encoding: CompressiveEncoding,
    data: npt.NDArray[np.uint8],
    where: tuple[Int64Array, Int64Array],
    counts: Int64Array,
    context: DecodeContext,
) -> LevelArray:
    """The concatenated levels of chunks with starts and sizes ``where`` and ``counts`` levels.

    Raises `CorruptFileError` if a chunk has another number of levels.
    """
    starts, sizes = where
    total = int(counts.sum())
    if encoding.WhichOneof("compression") == "flat" and encoding.flat.bits_per_value == 16:
        if (sizes < counts * _BYTES).any():
            raise CorruptFileError("a chunk has fewer levels than it says")
        if len(starts) == 1:  # not copied
            return np.frombuffer(data, "<u2", total, int(starts[0]))
        return data[spans_index(starts, starts + counts * _BYTES)].view("<u2")
    if encoding.WhichOneof("compression") in _LIKE_VALUES:
        chunks = MiniBlockChunks.known(data, starts[None], sizes[None], counts)
        return _levels(decode(encoding, chunks, context), total)
    if encoding.WhichOneof("compression") == "out_of_line_bitpacking":
        width = packed_width(encoding.out_of_line_bitpacking)
        return context.kernels.unpack_levels(data, starts, sizes, counts, width)
    if encoding.WhichOneof("compression") == "rle":
        return _levels(
            decode(encoding, chunks_of_blocks(data, starts, sizes, counts), context), total
        )
    whole = pa.py_buffer(data)
    spans = zip(starts.tolist(), sizes.tolist(), counts.tolist(), strict=True)
    blocks = [
        decode_level_block(encoding, whole.slice(start, size), count, context)
        for start, size, count in spans
    ]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def take_levels(
    encoding: CompressiveEncoding,
    data: npt.NDArray[np.uint8],
    where: tuple[Int64Array, Int64Array],
    at: ChunkPositions,
    context: DecodeContext,
) -> LevelArray:
    """Picked levels out of those that `decode_levels` returns; raises as it does."""
    starts, sizes = where
    compression = encoding.WhichOneof("compression")
    if compression in _LIKE_VALUES:
        chunks = MiniBlockChunks.known(data, starts[None], sizes[None], at.counts)
        return _levels(take(encoding, chunks, at, context), len(at.chunk))
    if compression == "out_of_line_bitpacking":
        width = packed_width(encoding.out_of_line_bitpacking)
        pick_levels = context.kernels.pick_levels
        return pick_levels(data, starts, sizes, at.counts, at.packed, width)
    # Codecs that cannot skip: all levels are decoded.
    return decode_levels(encoding, data, where, at.counts, context).take(at.places())


def _levels(values: Values, count: int) -> LevelArray:
    fixed = as_fixed(values)
    if fixed.bits != 16 or fixed.count != count:
        raise CorruptFileError(
            f"decoding gave {fixed.count} levels of {fixed.bits} bits, expected {count} of 16 bits"
        )
    return fixed.words().astype(np.uint16, copy=False)


def packed_width(message: OutOfLineBitpacking) -> int:
    """The bits to which levels are packed. Raises `CorruptFileError` above 16."""
    inner = message.values
    width = inner.flat.bits_per_value
    flat = inner.WhichOneof("compression") == "flat"
    if not flat or width > 16 or message.uncompressed_bits_per_value != 16:
        raise CorruptFileError("levels cannot be packed to more than 16 bits")
    return width
