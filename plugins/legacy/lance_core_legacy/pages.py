"""Write one batch of a field as pages of a 0.1 file.

Nulls are not stored: a null fixed-width value is written as zero, a null list as empty, a null
struct as its members, a null dictionary key as 0. Readers return empty strings and bytes as null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from lance_core.errors import UnsupportedFeatureError
from lance_core.hookspecs.arrays import bits_from, is_variable, offset_dtype

if TYPE_CHECKING:
    import numpy.typing as npt

    from lance_core.hookspecs.file_versions import Field
    from lance_core.hookspecs.stores import BytesLike


class PageSink(Protocol):
    """The destination of pages: the file and its page table."""

    def tell(self) -> int:
        """The byte offset in the file of the next write."""

    def write(self, data: BytesLike) -> None:
        """Write bytes."""

    def add_page(self, field_id: int, position: int, length: int) -> None:
        """Record the page of a field in the current batch: its byte offset and number of values."""


def write_pages(field: Field, array: pa.Array, sink: PageSink) -> None:
    """Write one batch of a field; ``array`` has the storage type of the field.

    Raises `UnsupportedFeatureError` for a type that 0.1 files cannot store.
    """
    type_ = array.type
    if pa.types.is_struct(type_):
        for number, child in enumerate(field.children):
            write_pages(child, array.field(number), sink)
    elif field.is_list:
        _write_lists(field, array, sink)
    elif pa.types.is_null(type_):
        sink.add_page(field.id, sink.tell(), len(array))
    elif is_variable(type_):
        _write_variable(field, array, sink)
    else:
        values = array.indices if pa.types.is_dictionary(type_) else array
        sink.add_page(field.id, sink.tell(), len(array))
        sink.write(fixed_values(values))


def _write_lists(field: Field, array: pa.Array, sink: PageSink) -> None:
    if array.null_count:
        array = _without_nulls(array)
    wide = pa.types.is_large_list(array.type)
    dtype = np.dtype("<i8" if wide else "<i4")
    first, last = 0, 0
    offsets = np.zeros(1, dtype)
    if len(array):
        offsets = np.asarray(array.offsets)
        first, last = int(offsets[0]), int(offsets[-1])
    sink.add_page(field.id, sink.tell(), len(array) + 1)
    sink.write(pa.py_buffer(offsets - dtype.type(first)))
    write_pages(field.children[0], array.values.slice(first, last - first), sink)


def _without_nulls(array: pa.Array) -> pa.Array:
    """Replace null lists, which may cover items, by empty lists."""
    import pyarrow.compute as pc

    lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0))
    offsets = np.zeros(len(array) + 1, lengths.dtype)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(array.type, len(array), buffers, 0, children=[array.flatten()])


def _write_variable(field: Field, array: pa.Array, sink: PageSink) -> None:
    if array.null_count:
        import pyarrow.compute as pc

        array = pc.fill_null(array, b"" if "binary" in str(array.type) else "")
    dtype = np.dtype(offset_dtype(array.type))
    _, stored, data = array.buffers()
    offsets = np.zeros(1, dtype)
    if len(array):
        offsets = np.frombuffer(stored, dtype, len(array) + 1, array.offset * dtype.itemsize)
    first, last = int(offsets[0]), int(offsets[-1])
    stored_offsets = offsets.astype("<i8") + (sink.tell() - first)
    if last > first:
        sink.write(data.slice(first, last - first))
    sink.add_page(field.id, sink.tell(), len(array))
    sink.write(pa.py_buffer(stored_offsets))


def fixed_values(array: pa.Array) -> pa.Buffer:
    """The values of a fixed-width or fixed-size-list array: little-endian, nulls as zero bytes.

    Booleans are packed bits, lowest first. Raises `UnsupportedFeatureError` if the type has no
    fixed width.
    """
    items, valid = _items(array)
    if pa.types.is_boolean(items.type):
        return _bits(items, valid)
    try:
        width = items.type.bit_width // 8
    except ValueError:
        raise UnsupportedFeatureError(
            f"files of version 0.1 cannot store values of type {array.type}"
        ) from None
    buffer = items.buffers()[1]
    if buffer is None or not len(items):
        return pa.py_buffer(b"")
    values = buffer.slice(items.offset * width, len(items) * width)
    if valid is None:
        return values
    rows = np.frombuffer(values, np.uint8).reshape(len(items), width).copy()
    rows[~valid] = 0
    return pa.py_buffer(rows)


def _items(array: pa.Array) -> tuple[pa.Array, npt.NDArray[np.bool_] | None]:
    """The innermost items of fixed-size lists, and a mask of the valid items (None: all)."""
    valid = np.asarray(array.is_valid()) if array.null_count else None
    while pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        array = array.values.slice(array.offset * size, len(array) * size)
        if valid is not None:
            valid = np.repeat(valid, size)
        if array.null_count:
            own = np.asarray(array.is_valid())
            valid = own if valid is None else valid & own
    return array, valid


def _bits(array: pa.Array, valid: npt.NDArray[np.bool_] | None) -> pa.Buffer:
    if not len(array):
        return pa.py_buffer(b"")
    bits = bits_from(array.buffers()[1], array.offset, len(array))
    if valid is None:
        return bits
    octets = np.frombuffer(bits, np.uint8) & np.packbits(valid, bitorder="little")
    return pa.py_buffer(octets)
