"""Arrays of nulls, and validity bitmaps added to arrays without nulls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.fixed_width import has_fixed_width
from lance_core.encodings.arrow.strings import is_variable, offset_dtype
from lance_core.errors import CorruptFileError
from lance_core.schema.empty_arrays import empty_array


def with_nulls(array: pa.Array, bitmap: pa.Buffer, nulls: int) -> pa.Array:
    """``array``, which has no top-level nulls, with ``bitmap`` as validity and ``nulls`` nulls."""
    # ``bitmap`` begins with the first value, and an array has one offset for all of its buffers: so
    # the others are cut to begin there, too.
    type_, count, offset = array.type, len(array), array.offset
    if pa.types.is_null(type_):
        return array
    if pa.types.is_dictionary(type_):
        indices = with_nulls(array.indices, bitmap, nulls)
        return pa.DictionaryArray.from_arrays(
            indices, array.dictionary, ordered=type_.ordered, safe=False
        )
    if pa.types.is_fixed_size_list(type_):
        size = type_.list_size
        items = array.values.slice(offset * size, count * size)
        return pa.Array.from_buffers(type_, count, [bitmap], nulls, 0, [items])
    if pa.types.is_struct(type_):
        members = [array.field(number) for number in range(type_.num_fields)]
        return pa.Array.from_buffers(type_, count, [bitmap], nulls, 0, members)
    if pa.types.is_boolean(type_):
        return pa.Array.from_buffers(type_, count, [bitmap, _bits(array)], nulls)
    if is_variable(type_):
        width = np.dtype(offset_dtype(type_)).itemsize
        buffers = array.buffers()
        offsets = buffers[1].slice(offset * width, (count + 1) * width)
        return pa.Array.from_buffers(type_, count, [bitmap, offsets, buffers[2]], nulls)
    width = type_.bit_width // 8
    values = array.buffers()[1].slice(offset * width, count * width)
    return pa.Array.from_buffers(type_, count, [bitmap, values], nulls)


def _bits(array: pa.BooleanArray) -> pa.Buffer:
    if array.offset % 8 == 0:
        return array.buffers()[1].slice(array.offset // 8)
    first = array.offset // 8
    octets = np.frombuffer(array.buffers()[1], np.uint8)[first:]
    start = array.offset % 8
    bits = np.unpackbits(octets, count=start + len(array), bitorder="little")[start:]
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def all_null(type_: pa.DataType, count: int) -> pa.Array:
    """``count`` nulls. A file may claim any count: untouched zero pages use no physical memory.

    Raises `CorruptFileError` if the address space is too small for ``count``.
    """
    try:
        if pa.types.is_fixed_size_list(type_):
            items = all_null(type_.value_type, count * type_.list_size)
            return pa.Array.from_buffers(type_, count, [_zeros(count, 1)], count, 0, [items])
        if pa.types.is_struct(type_):
            members = [all_null(field.type, count) for field in type_]
            return pa.Array.from_buffers(type_, count, [_zeros(count, 1)], count, 0, members)
        if pa.types.is_dictionary(type_):
            keys, items = all_null(type_.index_type, count), empty_array(type_.value_type)
            return pa.DictionaryArray.from_arrays(keys, items, ordered=type_.ordered, safe=False)
        if is_variable(type_):
            offsets = _zeros(count + 1, 8 * np.dtype(offset_dtype(type_)).itemsize)
            buffers = [_zeros(count, 1), offsets, pa.py_buffer(b"")]
        elif has_fixed_width(type_):
            buffers = [_zeros(count, 1), _zeros(count, type_.bit_width)]
        else:
            return pa.nulls(count, type_)
        return pa.Array.from_buffers(type_, count, buffers, count)
    except (MemoryError, OverflowError, ValueError, pa.ArrowException) as error:
        raise CorruptFileError(f"an array claims to hold {count} nulls") from error


def _zeros(count: int, bits: int) -> pa.Buffer:
    return pa.py_buffer(np.zeros((count * bits + 7) // 8, np.uint8))
