"""The value of a constant page as an Arrow array of length 1, and its repetition.

The message stores a value as its little-endian bytes. A scalar buffer stores all Arrow buffers of
an array of length 1: u32 number of buffers, u32 length of each, then their bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET, element_type
from lance_core.encodings.arrow.decode_budget import spend
from lance_core.encodings.arrow.fixed_width import has_fixed_width
from lance_core.encodings.arrow.strings import is_text, is_variable, offset_dtype, single_value
from lance_core.errors import CorruptFileError, ResultTooLargeError


def inline_scalar(value: bytes, type_: pa.DataType) -> pa.Array:
    """An array of one value from its bytes.

    Raises `CorruptFileError` if ``type_`` has no fixed width or the bytes have another length.
    """
    if not has_fixed_width(type_) and not pa.types.is_fixed_size_binary(type_):
        raise CorruptFileError(f"the page message cannot contain a constant of type {type_}")
    width = (type_.bit_width + 7) // 8
    if len(value) != width:
        raise CorruptFileError(f"a constant of type {type_} cannot have {len(value)} bytes")
    return pa.Array.from_buffers(type_, 1, [None, pa.py_buffer(value)], 0)


def stored_scalar(buffer: pa.Buffer, type_: pa.DataType) -> pa.Array:
    """The value from a scalar buffer. Raises `CorruptFileError` if it does not match ``type_``."""
    parts = _parts(buffer)
    if has_fixed_width(type_) and len(parts) == 1:
        return inline_scalar(parts[0].to_pybytes(), type_)
    if not is_variable(type_) or len(parts) != 2:
        raise CorruptFileError(f"a constant of type {type_} cannot have {len(parts)} buffers")
    stored, data = parts
    if stored.size != 2 * np.dtype(offset_dtype(type_)).itemsize:
        raise CorruptFileError(f"the offsets of a constant have {stored.size} bytes")
    start, stop = np.frombuffer(stored, offset_dtype(type_)).tolist()
    if start != 0 or stop != data.size:
        raise CorruptFileError(
            f"a constant from byte {start} to {stop} is not within its {data.size} bytes"
        )
    return single_value(type_, data, False, is_text(type_))


def _parts(buffer: pa.Buffer) -> list[pa.Buffer]:
    count = int(np.frombuffer(buffer, "<u4", 1)[0]) if buffer.size >= 4 else 0
    if not 0 < count <= 3 or buffer.size < 4 + 4 * count:
        raise CorruptFileError(f"{buffer.size} bytes cannot hold a constant of {count} buffers")
    sizes = np.frombuffer(buffer, "<u4", count, 4).tolist()
    start = 4 + 4 * count  # behind the number of buffers and their sizes
    if start + sum(sizes) != buffer.size:
        raise CorruptFileError(
            f"a constant has {sum(sizes)} bytes, but only {buffer.size - start} follow"
        )
    parts = []
    for size in sizes:
        parts.append(buffer.slice(start, size))
        start += size
    return parts


def repeated(scalar: pa.Array, count: int) -> pa.Array:
    """An array with the one value of ``scalar`` ``count`` times.

    Raises `ResultTooLargeError` if 32-bit offsets cannot address the bytes.
    """
    type_ = scalar.type
    if is_variable(type_):
        size = scalar.buffers()[2].size
        spend(size * count)
        if offset_dtype(type_) is np.int32 and size * count > MAX_OFFSET:
            raise ResultTooLargeError(
                f"{count} values of {size} bytes are too large for one array of type {type_}"
            )
        offsets = np.arange(count + 1, dtype=offset_dtype(type_)) * size
        data = np.tile(np.frombuffer(scalar.buffers()[2], np.uint8), count)
        return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(offsets), _own(data)], 0)
    if pa.types.is_boolean(type_):
        bits = np.full((count + 7) // 8, 255 if scalar[0].as_py() else 0, np.uint8)
        return pa.Array.from_buffers(type_, count, [None, _own(bits)], 0)
    spend(type_.bit_width * count // 8)
    if not type_.bit_width:
        return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(b"")], 0)
    unit = element_type(type_.bit_width // 8)
    values = np.full(count, np.frombuffer(scalar.buffers()[1], unit, 1)[0], unit)
    return pa.Array.from_buffers(type_, count, [None, _own(values)], 0)


def _own(values: npt.NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(values.view(np.uint8) if values.size else b"")
