"""Unsigned integers in few bits, in the FastLanes order.

1024 values of T bits (8, 16, 32 or 64) are packed to W bits each. There are 1024 / T lanes; a lane
is a stream of bits, of which row r occupies W from bit r * W on, cut into words of T bits; word j
of all lanes follows word j - 1 of all lanes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CHUNK = 1024
"""Values that are packed together."""

WIDTHS = (8, 16, 32, 64)
"""Bits that a value may have before it is packed."""

_ORDER = (0, 4, 2, 6, 1, 5, 3, 7)


def packed_bytes(packed_bits: int) -> int:
    """Bytes that a chunk takes."""
    return CHUNK * packed_bits // 8


def unpack(
    data: npt.NDArray[np.uint8], packed_bits: int, bits: int
) -> npt.NDArray[np.unsignedinteger]:
    """The values of whole chunks, which follow each other in ``data``.

    ``packed_bits`` is at most ``bits``, one of `WIDTHS`. All chunks are unpacked together.
    """
    lanes = CHUNK // bits
    words = data.view(f"<u{bits // 8}").reshape(-1, packed_bits, lanes)
    kind = words.dtype.type
    mask = kind((1 << packed_bits) - 1)
    values = np.empty((len(words), CHUNK), words.dtype)
    for row, first in enumerate(_places(bits)):
        word, shift = divmod(row * packed_bits, bits)
        value = words[:, word] >> kind(shift)
        if shift + packed_bits > bits:
            value |= words[:, word + 1] << kind(bits - shift)
        values[:, first : first + lanes] = value & mask
    return values.ravel()


def pack(values: npt.NDArray[np.unsignedinteger], packed_bits: int) -> npt.NDArray[np.uint8]:
    """Whole chunks of values below ``1 << packed_bits``, as `unpack` takes them."""
    bits = values.dtype.itemsize * 8
    lanes = CHUNK // bits
    chunks = values.reshape(-1, CHUNK)
    kind = values.dtype.type
    words = np.zeros((len(chunks), packed_bits, lanes), values.dtype)
    for row, first in enumerate(_places(bits)):
        word, shift = divmod(row * packed_bits, bits)
        value = chunks[:, first : first + lanes]
        words[:, word] |= value << kind(shift)
        if shift + packed_bits > bits:
            words[:, word + 1] |= value >> kind(bits - shift)
    return words.view(np.uint8).ravel()


def _places(bits: int) -> list[int]:
    """Of each row, the number of the value in lane 0; the other lanes follow."""
    return [_ORDER[row // 8] * 16 + row % 8 * 128 for row in range(bits)]
