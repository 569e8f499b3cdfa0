"""Read every byte of a result, so that lazy readers have no advantage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_variable, offset_dtype


def touch(data: pa.Table | pa.RecordBatch) -> int:
    """Read all bytes of all values; returns a number that depends on them."""
    total = 0
    for column in data.columns:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        unit = _offset_unit(column.type)  # a column of long values may have an array for each
        for chunk in chunks:
            total ^= _array(chunk) if unit is None else _strings(chunk, unit)
    return total


def _array(array: pa.Array) -> int:
    kind = array.type
    unit = _offset_unit(kind)
    if unit is not None:
        return _strings(array, unit)
    buffers = array.buffers()
    total = _validity(array, buffers[0])
    if pa.types.is_struct(kind):
        for index in range(kind.num_fields):
            total ^= _array(array.field(index))
    elif (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    ):
        total ^= _array(array.flatten())
    elif pa.types.is_boolean(kind):
        total ^= _bytes(buffers[1], array.offset // 8, (array.offset + len(array) + 7) // 8)
    else:
        width = kind.bit_width // 8
        total ^= _bytes(buffers[1], array.offset * width, (array.offset + len(array)) * width)
    return total


def _offset_unit(kind: pa.DataType) -> np.dtype | None:
    """The type of the offsets of strings or binary values, None for other types."""
    return np.dtype(offset_dtype(kind)) if is_variable(kind) else None


def _strings(array: pa.Array, unit: np.dtype) -> int:
    if not len(array):
        return 0
    validity, offsets, data = array.buffers()
    start, stop = array.offset * unit.itemsize, (array.offset + len(array) + 1) * unit.itemsize
    ends = np.frombuffer(offsets, unit, len(array) + 1, start)
    total = _validity(array, validity) ^ _bytes(offsets, start, stop)
    return total ^ _bytes(data, int(ends[0]), int(ends[-1]))


def _validity(array: pa.Array, bits: pa.Buffer | None) -> int:
    return _bytes(bits, array.offset // 8, (array.offset + len(array) + 7) // 8)


def _bytes(buffer: pa.Buffer | None, start: int, stop: int) -> int:
    if buffer is None or start >= stop:
        return 0
    start += -(buffer.address + start) % 8  # numpy copies words that are not aligned
    words = (stop - start) // 8
    if words <= 0:
        return 0
    return int(np.bitwise_xor.reduce(np.frombuffer(buffer, np.uint64, words, start)))
