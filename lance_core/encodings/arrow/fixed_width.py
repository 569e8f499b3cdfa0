"""Properties of fixed-width Arrow types, and slices of bitmaps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError


def has_fixed_width(type_: pa.DataType) -> bool:
    """True if values of ``type_`` are stored in one buffer with a fixed width above 0."""
    is_fixed = (
        pa.types.is_primitive(type_)
        or pa.types.is_fixed_size_binary(type_)
        or pa.types.is_decimal(type_)
    )
    return bool(is_fixed and type_.bit_width)


def bit_width(type_: pa.DataType) -> int:
    """Bits of one value. Raises `CorruptFileError` if the type has no fixed width."""
    if not has_fixed_width(type_):
        raise CorruptFileError(f"{type_} is not a type of fixed width", field="Flat")
    return int(type_.bit_width)


def alignment(type_: pa.DataType) -> int:
    """The alignment in memory, in bytes, of values of a fixed-width type."""
    if pa.types.is_fixed_size_binary(type_):
        return 1
    return min(8, max(1, int(type_.bit_width) // 8))


def bits_from(bitmap: pa.Buffer, start: int, count: int) -> pa.Buffer:
    """The ``count`` bits of a bitmap from bit ``start`` on, moved to bit 0; trailing bits are 0."""
    size = (count + 7) // 8
    if start % 8 == 0:
        part = bitmap.slice(start // 8, size)
        if count % 8 == 0:
            return part
        octets = np.frombuffer(part, np.uint8).copy()
        octets[-1] &= (1 << count % 8) - 1
        return pa.py_buffer(octets)
    octets = np.frombuffer(bitmap, np.uint8, (start % 8 + count + 7) // 8, start // 8)
    bits = np.unpackbits(octets, bitorder="little")[start % 8 : start % 8 + count]
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def joined_bits(octets: npt.NDArray[np.uint8], counts: Int64Array) -> pa.Buffer:
    """The bitmaps of pages, each of whole bytes, as one bitmap."""
    if not (counts % 8).any():
        return pa.py_buffer(octets)
    sizes = (counts + 7) // 8
    starts = 8 * (np.cumsum(sizes) - sizes)
    bits = np.unpackbits(octets, bitorder="little")
    return pa.py_buffer(np.packbits(bits[spans_index(starts, starts + counts)], bitorder="little"))
