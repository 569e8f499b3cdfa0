"""CRC-32C without compiled code.

The bytes are divided into lanes of equal length, whose checksums are computed side by side, two
bytes at a time. Then neighbours are combined: the first of two is moved over the bytes of the
second, which is linear, so a table for each byte of a checksum has it.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from lance_core.byte_ranges import BytesLike

Sums: TypeAlias = npt.NDArray[np.uint32]
_POLYNOMIAL = 0x82F63B78
"""That of Castagnoli, with its bits reversed."""

_MIN_BYTES = 1 << 10
"""Fewer bytes are faster one by one."""

_LANES = 1 << 10
"""Minimum number of lanes of large buffers: their checksums stay in the cache."""

_MIN_LANE = 32
"""Bytes of a lane. All lengths are powers of two, which share tables."""


def numpy_crc32c(buffers: list[BytesLike]) -> list[int]:
    """The CRC-32C of each of ``buffers``."""
    sums, by_byte = [], _bytes_as_list()
    for data in buffers:
        view = memoryview(data).cast("B")
        if view.nbytes >= _MIN_BYTES:
            sums.append(_of_lanes(view))
            continue
        result = 0xFFFFFFFF  # a call for each buffer would take longer than most of them
        for byte in view:
            result = by_byte[(result ^ byte) & 0xFF] ^ (result >> 8)
        sums.append(result ^ 0xFFFFFFFF)
    return sums


def _of_lanes(view: memoryview) -> int:
    lane = max(_MIN_LANE, 1 << (view.nbytes // _LANES).bit_length() - 1)
    lanes = -(-view.nbytes // lane)
    # Zeros before the first byte change nothing; the start value is added to the first four.
    padded = np.zeros(lanes * lane, np.uint8)
    first = len(padded) - view.nbytes
    padded[first:] = view
    padded[first : first + 4] ^= 0xFF
    words = padded.view("<u2").reshape(lanes, -1)
    sums, by_word = np.zeros(lanes, np.uint32), _by_word()
    for column in np.ascontiguousarray(words.T):
        sums = by_word[(sums ^ column) & 0xFFFF] ^ (sums >> 16)
    while len(sums) > 1:
        if len(sums) % 2:
            sums = np.concatenate([np.zeros(1, np.uint32), sums])
        sums = _moved(sums[0::2], lane) ^ sums[1::2]
        lane *= 2
    return int(sums[0]) ^ 0xFFFFFFFF


@cache
def _bytes_as_list() -> list[int]:
    return cast("list[int]", _by_byte().tolist())


@cache
def _by_byte() -> Sums:
    """The checksum of each byte."""
    sums = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        sums = np.where(sums & 1, (sums >> 1) ^ np.uint32(_POLYNOMIAL), sums >> 1)
    return sums


@cache
def _by_word() -> Sums:
    """The checksum of each two bytes."""
    by_byte, words = _by_byte(), np.arange(1 << 16)
    first = by_byte[words & 0xFF]
    second: Sums = by_byte[(first ^ (words >> 8)) & 0xFF] ^ (first >> 8)
    return second


def _moved(sums: Sums, size: int) -> Sums:
    """``sums`` moved over ``size`` bytes."""
    tables = _move_tables(size)
    moved: Sums = tables[0][sums & 0xFF]
    for number in range(1, 4):
        moved = moved ^ tables[number][(sums >> (8 * number)) & 0xFF]
    return moved


@cache
def _move_tables(size: int) -> npt.NDArray[np.uint32]:
    """What becomes of each byte of a checksum that is moved over ``size`` bytes."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    power = _by_byte()[bits & 0xFF] ^ (bits >> 8)  # what a byte of zero makes of each bit
    result = bits
    while size:
        if size & 1:
            result = _times(power, result)
        power, size = _times(power, power), size >> 1
    values = np.arange(256, dtype=np.uint32)
    shifts = np.arange(0, 32, 8, dtype=np.uint32)
    return np.stack([_times(result, values << shift) for shift in shifts])


def _times(matrix: Sums, sums: Sums) -> Sums:
    """Each of ``sums`` times ``matrix``, which says what becomes of each bit."""
    chosen = (sums[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    product: Sums = np.bitwise_xor.reduce(np.where(chosen, matrix, 0), axis=1).astype(np.uint32)
    return product
