"""Repetition and definition levels from their bytes, raw or compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, OutOfLineBitpacking
from lance_core.encodings.arrow.coalesced_take import spans_index
from lance_core.encodings.kernels.numpy.bitpacking import packed_bytes
from lance_core.encodings.kernels.numpy.single_packed import Packed, bytes_at
from lance_core.encodings.v2_1.codecs.picks import ChunkPositions, pick
from lance_core.encodings.v2_1.codecs.values import Values, as_fixed
from lance_core.encodings.v2_1.pages.decode_values import decode_block, decode_part
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.levels.repdef import BoolArray, LevelArray

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
        width = packed_width(encoding.out_of_line_bitpacking)
        return context.kernels.unpack_levels(data, starts, sizes, counts, width)
    whole = pa.py_buffer(data)
    spans = zip(starts.tolist(), sizes.tolist(), counts.tolist(), strict=True)
    blocks = [
        decode_level_block(encoding, whole.slice(start, size), count, context)
        for start, size, count in spans
    ]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


class ChunkLevelDecoder:
    """Decodes the levels of one chunk of a page at a time, with few calls."""

    __slots__ = ("_encoding", "_width")

    def __init__(self, encoding: CompressiveEncoding) -> None:
        self._encoding = encoding
        is_packed = encoding.WhichOneof("compression") == "out_of_line_bitpacking"
        self._width = packed_width(encoding.out_of_line_bitpacking) if is_packed else -1

    def decode(
        self,
        data: npt.NDArray[np.uint8],
        place: tuple[int, int],
        count: int,
        context: DecodeContext,
    ) -> LevelArray:
        """The ``count`` levels at a start and of a size, which are within ``data``."""
        start, size = place
        units, unit = -(-count // _UNIT), packed_bytes(self._width)
        if self._width >= 0 and size == units * unit:
            octets = data[start : start + size]
            unpacked = context.kernels.unpack_fastlanes(octets, self._width, 16, units)
            return unpacked[:count].astype(np.uint16, copy=False)
        where = np.array([start]), np.array([size])
        return decode_levels(self._encoding, data, where, np.array([count]), context)


def _levels(values: Values, count: int) -> LevelArray:
    fixed = as_fixed(values)
    if fixed.bits != 16 or fixed.count != count:
        raise CorruptFileError(f"{fixed.count} levels of {fixed.bits} bits, not {count}")
    return fixed.words().astype(np.uint16, copy=False)


def pick_levels(
    encoding: CompressiveEncoding, picks: ChunkPositions, context: DecodeContext
) -> LevelArray:
    """Single levels of chunks whose only buffer they are."""
    chunks = picks.chunks
    place = chunks.starts[0], chunks.sizes[0]
    kind = encoding.WhichOneof("compression")
    if kind in _LIKE_VALUES:
        return _levels(pick(encoding, picks, context), len(picks.chunk))
    if kind == "out_of_line_bitpacking":
        packing = _Packing.of(encoding.out_of_line_bitpacking, *place, chunks.counts)
        return packing.pick(picks)
    return decode_levels(encoding, chunks.data, place, chunks.counts, context).take(picks.places())


def packed_width(message: OutOfLineBitpacking) -> int:
    """Bits that levels are packed to."""
    inner = message.values
    width = inner.flat.bits_per_value
    flat = inner.WhichOneof("compression") == "flat"
    if not flat or width > 16 or message.uncompressed_bits_per_value != 16:
        raise CorruptFileError("levels that are not packed to a width up to 16 bits")
    return width


class _Packing(NamedTuple):
    """Levels of one width in chunks: ``units`` of 1024 each, then, if ``is_raw``, the rest as u16.

    ``body``: bytes of the units that are whole.
    """

    width: int
    starts: Int64Array
    units: Int64Array
    body: Int64Array
    is_raw: BoolArray

    @classmethod
    def of(
        cls,
        message: OutOfLineBitpacking,
        starts: Int64Array,
        sizes: Int64Array,
        counts: Int64Array,
    ) -> _Packing:
        """Checked: all of that is in ``sizes`` bytes."""
        width = packed_width(message)
        units, rest = np.divmod(counts, _UNIT)
        body = units * packed_bytes(width)
        tail, raw = sizes - body, rest * _BYTES
        is_packed = (rest > 0) & (tail != raw)
        if (np.where(is_packed, tail != packed_bytes(width), tail != raw)).any():
            raise CorruptFileError("a chunk has not as many packed levels as it says")
        return cls(width, starts, units + is_packed, body, (rest > 0) & ~is_packed)

    def pick(self, picks: ChunkPositions) -> LevelArray:
        """Single levels."""
        unit, position = np.divmod(picks.position, _UNIT)
        chunk, data = picks.chunk, picks.chunks.data
        is_raw = self.is_raw.take(chunk) & (unit == self.units.take(chunk))
        starts = self.starts.take(chunk)
        at = starts + np.where(is_raw, 0, unit * packed_bytes(self.width))
        widths = np.where(is_raw, 0, self.width)
        levels = Packed(data, at, widths, 16).values(position).astype(np.uint16, copy=False)
        if is_raw.any():
            places = (starts + self.body.take(chunk) + position * _BYTES)[is_raw]
            levels[is_raw] = bytes_at(data, places, _BYTES).view("<u2")
        return levels
