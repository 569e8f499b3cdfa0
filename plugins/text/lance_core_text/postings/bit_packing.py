"""Blocks of integers, each packed to the bits of the largest one, in interleaved lanes.

Value i of a block is in lane ``i % lanes``. The bits of a lane follow each other in 32-bit words,
lowest first; word j of a lane is word ``j * lanes + lane`` of the block. Blocks of 128 values have
4 lanes, those of 256 have 8, so that a lane has 32 values and a block ``width * lanes`` words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers

LANE_VALUES = 32
"""Values of a lane."""


def packed_bytes(width: int, lanes: int) -> int:
    """Bytes of a block of values with ``width`` bits."""
    return 4 * width * lanes


def unpack(
    data: npt.NDArray[np.uint8], starts: Integers, widths: Integers, lanes: int
) -> npt.NDArray[np.int64]:
    """The values of blocks, one block a row.

    ``starts``: the offset of the first word of each block in ``data``; ``widths``: the bits of its
    values, from 0 to 32. The blocks are inside of ``data``.
    """
    number = np.arange(LANE_VALUES * lanes)
    bits = widths[:, None] * (number // lanes)  # of the value in its lane
    first = starts[:, None] + 4 * ((bits >> 5) * lanes + number % lanes)
    shifts = bits & 31
    crosses = shifts + widths[:, None] > 32
    words = _words(data)
    values = words[np.minimum(first, len(words) - 1)].astype(np.int64) >> shifts
    rest = words[np.minimum(first + 4 * lanes, len(words) - 1)].astype(np.int64)
    values |= np.where(crosses, rest << (32 - shifts), 0)
    values &= (1 << widths[:, None]) - 1
    return values


def pack(values: Integers, width: int, lanes: int) -> npt.NDArray[np.uint8]:
    """The bytes of blocks with values of ``width`` bits, one block a row of both arrays."""
    blocks = len(values)
    words = np.zeros((blocks, width + 1, lanes), np.uint64)
    lane_values = values.reshape(blocks, LANE_VALUES, lanes).astype(np.uint64)
    for number in range(LANE_VALUES if width else 0):
        word, shift = divmod(number * width, 32)
        bits = lane_values[:, number] << np.uint64(shift)
        words[:, word] |= bits & np.uint64(0xFFFFFFFF)
        words[:, word + 1] |= bits >> np.uint64(32)
    data = np.ascontiguousarray(words[:, :width].astype("<u4"))
    return data.reshape(blocks, width * lanes).view(np.uint8)


def _words(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The 32-bit word at each offset of ``data``, as a view; at least one."""
    if len(data) < 4:
        data = np.concatenate([data, np.zeros(4, np.uint8)])
    return np.ndarray((len(data) - 3,), "<u4", buffer=np.ascontiguousarray(data), strides=(1,))
