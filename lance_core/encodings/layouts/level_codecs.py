"""Repetition and definition levels from their bytes, raw or compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, OutOfLineBitpacking
from lance_core.encodings import kernels
from lance_core.encodings.compression.bitpacking import packed_bytes
from lance_core.encodings.layouts.codecs import decode_block, decode_part
from lance_core.encodings.layouts.layout import spans_index
from lance_core.encodings.values import Values, as_fixed
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import DecodeContext, Int64Array
    from lance_core.encodings.repdef import LevelArray

_BYTES = 2
_UNIT = 1024

_LIKE_VALUES = frozenset({"flat", "inline_bitpacking"})
"""Encodings that have the same form in a block as in a chunk; all chunks are decoded at once."""


def raw_levels(buffer: pa.Buffer) -> LevelArray:
    """Levels that are stored as u16."""
    if buffer.size % _BYTES:
        raise CorruptFileError(f"{buffer.size} bytes of levels")
    return np.frombuffer(buffer, "<u2")


def decode_level_block(
    encoding: CompressiveEncoding, buffer: pa.Buffer, count: int, context: DecodeContext
) -> LevelArray:
    """``count`` levels from one compressed block."""
    return _levels(decode_block(encoding, buffer, count, context), count)


def decode_levels(
    encoding: CompressiveEncoding,
    data: npt.NDArray[np.uint8],
    place: tuple[Int64Array, Int64Array],
    counts: Int64Array,
    context: DecodeContext,
) -> LevelArray:
    """The levels of chunks, joined: ``counts`` of them at the starts and of the sizes ``place``.

    Raises `CorruptFileError` if a chunk has not as many.
    """
    starts, sizes = place
    total = int(counts.sum())
    if encoding.WhichOneof("compression") == "flat" and encoding.flat.bits_per_value == 16:
        if (sizes < counts * _BYTES).any():
            raise CorruptFileError("a chunk has fewer levels than it says")
        if len(starts) == 1:
            return np.frombuffer(data, "<u2", total, int(starts[0]))
        return data[spans_index(starts, starts + counts * _BYTES)].view("<u2")
    if encoding.WhichOneof("compression") in _LIKE_VALUES:
        return _levels(decode_part(encoding, data, place, counts, context), total)
    if encoding.WhichOneof("compression") == "out_of_line_bitpacking":
        return _packed_levels(encoding.out_of_line_bitpacking, data, place, counts)
    whole = pa.py_buffer(data)
    spans = zip(starts.tolist(), sizes.tolist(), counts.tolist(), strict=True)
    blocks = [
        decode_level_block(encoding, whole.slice(start, size), count, context)
        for start, size, count in spans
    ]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _levels(values: Values, count: int) -> LevelArray:
    fixed = as_fixed(values)
    if fixed.bits != 16 or fixed.count != count:
        raise CorruptFileError(f"{fixed.count} levels of {fixed.bits} bits, not {count}")
    return fixed.words().astype(np.uint16, copy=False)


def _packed_levels(
    message: OutOfLineBitpacking,
    data: npt.NDArray[np.uint8],
    place: tuple[Int64Array, Int64Array],
    counts: Int64Array,
) -> LevelArray:
    """Levels of one width in all chunks: whole units of 1024, then a unit or the rest as u16."""
    inner = message.values
    width = inner.flat.bits_per_value
    flat = inner.WhichOneof("compression") == "flat"
    if not flat or width > 16 or message.uncompressed_bits_per_value != 16:
        raise CorruptFileError("levels that are not packed to a width up to 16 bits")
    starts, sizes = place
    units, rest = np.divmod(counts, _UNIT)
    body, unit = units * packed_bytes(width), packed_bytes(width)
    tail, raw = sizes - body, rest * _BYTES
    is_packed = (rest > 0) & (tail != raw)
    if (np.where(is_packed, tail != unit, tail != raw)).any():
        raise CorruptFileError("a chunk has not as many packed levels as it says")
    units = units + is_packed
    octets = data[spans_index(starts, starts + units * unit)]
    plain = kernels.unpack_fastlanes(octets, width, 16, int(units.sum()))
    taken = np.minimum(units * _UNIT, counts)
    begin, first = np.cumsum(counts) - counts, (np.cumsum(units) - units) * _UNIT
    if not (taken < counts).any():
        return plain[spans_index(first, first + taken)].astype(np.uint16, copy=False)
    levels = np.empty(int(counts.sum()), np.uint16)
    levels[spans_index(begin, begin + taken)] = plain[spans_index(first, first + taken)]
    raw = np.where(is_packed, 0, raw)
    rests = data[spans_index(starts + body, starts + body + raw)].view("<u2")
    levels[spans_index(begin + taken, begin + counts)] = rests
    return levels
