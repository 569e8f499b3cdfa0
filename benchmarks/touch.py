"""Read every byte of a result, so that lazy readers have no advantage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.strings import is_variable


def touch(data: pa.Table | pa.RecordBatch) -> int:
    """Read all bytes of all values; returns a number that depends on them."""
    total = 0
    for column in data.columns:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        for chunk in chunks:
            total ^= _array(chunk)
    return total


def _array(array: pa.Array) -> int:
    buffers = array.buffers()
    validity = buffers[0]
    total = 0
    if validity is not None:
        total ^= _bytes(validity, array.offset // 8, (array.offset + len(array) + 7) // 8)
    kind = array.type
    if pa.types.is_struct(kind):
        for index in range(kind.num_fields):
            total ^= _array(array.field(index))
    elif (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    ):
        total ^= _array(array.flatten())
    elif is_variable(kind):
        width = 8 if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) else 4
        start, stop = array.offset * width, (array.offset + len(array) + 1) * width
        total ^= _bytes(buffers[1], start, stop)
        if len(array):
            ends = np.frombuffer(buffers[1], np.int64 if width == 8 else np.int32)
            first, last = ends[array.offset], ends[array.offset + len(array)]
            total ^= _bytes(buffers[2], int(first), int(last))
    elif pa.types.is_boolean(kind):
        total ^= _bytes(buffers[1], array.offset // 8, (array.offset + len(array) + 7) // 8)
    else:
        width = kind.bit_width // 8
        total ^= _bytes(buffers[1], array.offset * width, (array.offset + len(array)) * width)
    return total


def _bytes(buffer: pa.Buffer | None, start: int, stop: int) -> int:
    if buffer is None or start >= stop:
        return 0
    words = (stop - start) // 8
    if words == 0:
        return 0
    return int(np.bitwise_xor.reduce(np.frombuffer(buffer, np.uint64, words, start)))
