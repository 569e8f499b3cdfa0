"""Unsigned integers in few bits, in the FastLanes order.

1024 values of T bits (8, 16, 32 or 64) are packed to W bits each. There are 1024 / T lanes; a lane
is a stream of bits, of which row r occupies W from bit r * W on, cut into words of T bits; word j
of all lanes follows word j - 1 of all lanes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError, InvalidInputError, LanceError

CHUNK = 1024
"""Values that are packed together."""

WIDTHS = (8, 16, 32, 64)
"""Bits that a value may have before it is packed."""

_ORDER = (0, 4, 2, 6, 1, 5, 3, 7)


def packed_bytes(packed_bits: int) -> int:
    """Bytes that a chunk takes."""
    return CHUNK * packed_bits // 8


def unpack_fastlanes(
    data: npt.NDArray[np.uint8], width: int, bits: int, chunks: int
) -> npt.NDArray[np.unsignedinteger]:
    """See `lance_core.encodings.kernels.unpack_fastlanes`."""
    _check_width(width, bits, CorruptFileError)
    if chunks < 0 or len(data) != chunks * packed_bytes(width):
        raise CorruptFileError(f"{chunks} chunks packed to {width} bits in {len(data)} bytes")
    kind = np.dtype(f"<u{bits // 8}").type
    if width == 0:
        return np.zeros(chunks * CHUNK, kind)
    lanes = CHUNK // bits
    words = np.ascontiguousarray(data).view(kind).reshape(chunks, width, lanes)
    mask = kind((1 << width) - 1)
    values = np.empty((chunks, CHUNK), kind)
    for row, first in enumerate(_places(bits)):
        word, shift = divmod(row * width, bits)
        value = words[:, word] >> kind(shift)
        if shift + width > bits:
            value |= words[:, word + 1] << kind(bits - shift)
        values[:, first : first + lanes] = value & mask
    return values.ravel()


def pack_fastlanes(values: npt.NDArray[np.unsignedinteger], width: int) -> npt.NDArray[np.uint8]:
    """See `lance_core.encodings.kernels.pack_fastlanes`."""
    bits = values.dtype.itemsize * 8
    _check_width(width, bits, InvalidInputError)
    if len(values) % CHUNK:
        raise InvalidInputError(f"{len(values)} values are not whole chunks of {CHUNK}")
    if len(values) and int(values.max()) >> width:
        raise InvalidInputError(f"a value does not fit into {width} bits")
    lanes = CHUNK // bits
    chunks = values.reshape(-1, CHUNK)
    kind = values.dtype.type
    words = np.zeros((len(chunks), width, lanes), values.dtype)
    if width:
        for row, first in enumerate(_places(bits)):
            word, shift = divmod(row * width, bits)
            value = chunks[:, first : first + lanes]
            words[:, word] |= value << kind(shift)
            if shift + width > bits:
                words[:, word + 1] |= value >> kind(bits - shift)
    return words.reshape(-1).view(np.uint8)


def _check_width(width: int, bits: int, error: type[LanceError]) -> None:
    if bits not in WIDTHS or not 0 <= width <= bits:
        raise error(f"values of {bits} bits packed to {width}")


def _places(bits: int) -> list[int]:
    """Of each row, the number of the value in lane 0; the other lanes follow."""
    return [_ORDER[row // 8] * 16 + row % 8 * 128 for row in range(bits)]
