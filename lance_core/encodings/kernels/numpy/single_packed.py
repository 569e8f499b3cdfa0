"""Decode single values of chunks of packed integers without unpacking the other values."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.bitpacking import (
    CHUNK,
    Words,
    check_inline,
    check_packed_levels,
    level_units,
    packed_bytes,
    places_of_rows,
)
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
from lance_core.encodings.kernels.numpy.levels import LevelArray
from lance_core.errors import CorruptFileError

_LEVEL_BYTES = 2
_UNITS = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}


class PackedPositions(NamedTuple):
    """Single values: value i is the one at index ``position[i]`` of chunk ``chunk[i]``."""

    chunk: Int64Array
    position: Int64Array


def bytes_at(data: Bytes, positions: Int64Array, width: int) -> Bytes:
    """The ``width`` bytes at each of ``positions``, concatenated.

    Raises `CorruptFileError` if a place is not within ``data``.
    """
    if not len(positions) or not width:
        return np.empty(0, np.uint8)
    least, most = np.minimum.reduce(positions), np.maximum.reduce(positions)
    if int(least) < 0 or int(most) > len(data) - width:
        raise CorruptFileError("a value is not within its page")
    unit = _UNITS.get(width)
    if unit is not None:  # an array of overlapping unaligned words, one per byte position
        words = np.ndarray((len(data) - width + 1,), unit, data.data, 0, (1,))
        return words[positions].view(np.uint8)
    table = np.ndarray((len(data) - width + 1, width), np.uint8, data.data, 0, (1, 1))
    picked: Bytes = table[positions].reshape(-1)
    return picked


class PackedUnits(NamedTuple):
    """Units of 1024 values of ``bits`` bits; unit i at ``starts[i]`` is packed to ``widths[i]``."""

    data: Bytes
    starts: Int64Array
    widths: Int64Array
    bits: int

    def values(self, positions: Int64Array) -> Words:
        """The value at ``positions[i]`` of unit i."""
        bits, word = self.bits, self.bits // 8
        # In its lane, the value starts at bit row * width, in word ``number`` at bit ``shift``.
        rows, lanes = rows_and_lanes(bits)
        first = rows.take(positions) * self.widths
        number, shift = np.divmod(first, bits)
        is_split = shift + self.widths > bits
        # A unit of width 0 has no bytes and may be at the end of the data. Load the word at 0 for
        # it; the mask of width 0 clears the result.
        is_there = self.widths > 0
        if not is_there.any():
            return np.zeros(len(positions), f"<u{word}")
        at = (self.starts + lanes.take(positions) * word + number * packed_bytes(1)) * is_there
        unit = np.dtype(f"<u{word}")
        low = bytes_at(self.data, at, word).view(unit)
        words = low >> shift.astype(unit)
        if is_split.any():
            high = bytes_at(self.data, at + is_split * packed_bytes(1), word).view(unit)
            moved = high << np.where(is_split, bits - shift, 0).astype(unit)
            words |= np.where(is_split, moved, 0).astype(unit)
        masks = _masks(bits).take(self.widths)
        result: Words = words & masks
        return result


def pick_inline(
    data: Bytes,
    starts: Int64Array,
    sizes: Int64Array,
    counts: Int64Array,
    picked: PackedPositions,
    bits: int,
) -> Words:
    """See `lance_core.encodings.kernels.Kernels.pick_inline`."""
    check_picked(data, starts, sizes, counts, picked, bits)
    word = bits // 8
    stated = bytes_at(data, starts, word).view(f"<u{word}")
    if (stated > bits).any():
        raise CorruptFileError(f"values of {bits} bits cannot be packed to {stated.max()} bits")
    widths = stated.astype(np.int64)
    if (word + widths * packed_bytes(1) > sizes).any():
        raise CorruptFileError("a chunk has fewer bytes than its packed values")
    chunk = picked.chunk
    return PackedUnits(data, starts.take(chunk) + word, widths.take(chunk), bits).values(
        picked.position
    )


def pick_levels(
    data: Bytes,
    starts: Int64Array,
    sizes: Int64Array,
    counts: Int64Array,
    picked: PackedPositions,
    width: int,
) -> LevelArray:
    """See `lance_core.encodings.kernels.Kernels.pick_levels`."""
    check_packed_levels(data, starts, sizes, counts, width)
    check_places(picked, counts)
    units = level_units(sizes, counts, width)[0].take(picked.chunk)
    unit, position = np.divmod(picked.position, CHUNK)
    is_raw = unit == units
    begins = starts.take(picked.chunk)
    # Unpack raw levels with width 0, which reads no bytes, and overwrite them below.
    at = begins + np.where(is_raw, 0, unit * packed_bytes(width))
    packed = PackedUnits(data, at, np.where(is_raw, 0, width), 8 * _LEVEL_BYTES)
    levels = packed.values(position).astype(np.uint16, copy=False)
    if is_raw.any():
        raw_positions = (begins + units * packed_bytes(width) + position * _LEVEL_BYTES)[is_raw]
        levels[is_raw] = bytes_at(data, raw_positions, _LEVEL_BYTES).view("<u2")
    return levels


def check_picked(
    data: Bytes,
    starts: Int64Array,
    sizes: Int64Array,
    counts: Int64Array,
    picked: PackedPositions,
    bits: int,
) -> None:
    """Raise `CorruptFileError` unless the chunks are valid and contain the picked values."""
    check_inline(data, starts, sizes, counts, bits)
    check_places(picked, counts)


def check_places(picked: PackedPositions, counts: Int64Array) -> None:
    """Raise `CorruptFileError` unless chunks of ``counts`` values contain the picked values."""
    chunk, position = picked
    if len(chunk) != len(position):
        raise CorruptFileError(
            f"there are {len(position)} positions, but {len(chunk)} chunk numbers"
        )
    if not len(chunk):
        return
    if chunk.min() < 0 or chunk.max() >= len(counts):
        raise CorruptFileError(f"the number of a chunk is not among the {len(counts)} chunks")
    if position.min() < 0 or (position >= counts.take(chunk)).any():
        raise CorruptFileError("a position is not among the values of its chunk")


@cache
def rows_and_lanes(bits: int) -> tuple[Int64Array, Int64Array]:
    """The row and the lane of each of the 1024 values of a chunk."""
    lanes = CHUNK // bits
    rows, within = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    for row, first in enumerate(places_of_rows(bits)):
        rows[first : first + lanes] = row
        within[first : first + lanes] = np.arange(lanes)
    return rows, within


@cache
def _masks(bits: int) -> Words:
    """The mask for each packed width from 0 to ``bits``."""
    return np.array([(1 << width) - 1 for width in range(bits + 1)], f"<u{bits // 8}")
