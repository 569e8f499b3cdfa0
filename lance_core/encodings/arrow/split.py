"""Split an array of the values of several columns into arrays of these columns.

A slice of an Arrow array refers to the buffers of the whole, which pickling it copies: of thousands
of slices, each would be as large as the whole. So each part gets slices of the buffers instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_variable, offset_dtype


def split_array(array: pa.Array, length: int) -> list[pa.Array]:
    """``array`` in parts of ``length`` values, at least one, whose buffers have only their bytes.

    The number of values is a multiple of ``length``; see `is_plain` for types. The parts share the
    memory of fixed-width values and of the bytes of strings.
    """
    type_, count = array.type, len(array) // length
    bitmap, *values = array.buffers()
    columns: list[Sequence[pa.Buffer | None]] = [[None] * count]
    nulls = 0
    if bitmap is not None and array.null_count:
        columns, nulls = [_bitmaps(bitmap, array.offset, count, length)], -1
    if is_variable(type_):
        columns += _strings(array, count, length)
    elif pa.types.is_boolean(type_):
        columns.append(_bitmaps(values[0], array.offset, count, length))
    else:
        width = type_.bit_width // 8
        columns.append(_slices(values[0], array.offset * width, count, length * width))
    parts = zip(*columns, strict=True)
    return [pa.Array.from_buffers(type_, length, list(part), nulls) for part in parts]


def split_columns(arrays: Sequence[pa.Array], count: int, length: int) -> list[list[pa.Array]]:
    """The arrays of ``count`` columns of ``length`` rows, which follow each other in ``arrays``.

    The buffers of arrays that are a whole column have only its bytes; see `is_plain` for types.
    """
    found: list[list[pa.Array]] = []
    missing = 0
    for array in arrays:
        start = min(missing, len(array))
        if start:
            found[-1].append(array.slice(0, start))
            missing -= start
        whole = (len(array) - start) // length * length
        if whole:
            found += [[part] for part in split_array(array.slice(start, whole), length)]
            start += whole
        if start < len(array):
            found.append([array.slice(start)])
            missing = length - (len(array) - start)
    assert len(found) == count
    return found


def _slices(buffer: pa.Buffer, first: int, count: int, size: int) -> list[pa.Buffer]:
    """``count`` slices of ``size`` bytes each from byte ``first`` on."""
    return [buffer.slice(start, size) for start in range(first, first + count * size, size)]


def _bitmaps(bitmap: pa.Buffer, offset: int, count: int, length: int) -> list[pa.Buffer]:
    """The ``count`` parts of ``length`` bits each from bit ``offset`` on."""
    size = (length + 7) // 8
    first = offset // 8
    if offset % 8 or length % 8:
        stop = (offset + count * length + 7) // 8
        octets = np.frombuffer(bitmap, np.uint8, stop - first, first)
        bits = np.unpackbits(octets, bitorder="little")[offset % 8 :][: count * length]
        packed = np.packbits(bits.reshape(count, length), axis=1, bitorder="little")
        bitmap, first = pa.py_buffer(packed), 0
    return _slices(bitmap, first, count, size)


def _strings(array: pa.Array, count: int, length: int) -> tuple[list[pa.Buffer], list[pa.Buffer]]:
    """The offsets and the bytes of each part."""
    dtype = np.dtype(offset_dtype(array.type))
    _, offsets, text = array.buffers()
    edges = np.frombuffer(offsets, dtype, len(array) + 1, array.offset * dtype.itemsize)
    firsts = edges[::length]
    own = np.empty((count, length + 1), dtype)
    own[:, 0] = 0
    np.subtract(edges[1:].reshape(count, length), firsts[:-1, None], out=own[:, 1:])
    spans = zip(firsts[:-1].tolist(), np.diff(firsts).tolist(), strict=True)
    if text is None:
        text = pa.py_buffer(b"")
    return (
        _slices(pa.py_buffer(own), 0, count, own.itemsize * (length + 1)),
        [text.slice(start, size) for start, size in spans],
    )
