"""Convert Arrow arrays into the values that compressive encodings take (reverse of `to_arrow`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.fixed_width import bits_from
from lance_core.encodings.arrow.strings import offset_dtype
from lance_core.encodings.decoding import Offsets
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
)
from lance_core.errors import UnsupportedFeatureError

_EMPTY = pa.py_buffer(b"")


def values_of(array: pa.Array) -> Values:
    """One value for each slot of ``array``; the value of a null slot is arbitrary.

    The values are views of the array's buffers, unless its offset prevents this. Nulls are kept
    only for items of fixed-size lists; if all items are null, these have values of 0 bits. Raises
    `UnsupportedFeatureError` for types without values of their own (lists, maps, dictionaries) and
    for null children of structs.
    """
    values = _VALUES_OF.get(array.type.id)
    if values is None:
        raise UnsupportedFeatureError(f"values of type {array.type} cannot be compressed")
    return values(array)


def flat_values_of(array: pa.Array) -> FixedWidth | VariableWidth | None:
    """`values_of` an array whose values have no parts; None for other types."""
    values = _FLAT.get(array.type.id)
    return None if values is None else values(array)


def _fixed(array: pa.Array) -> FixedWidth:
    _, data, *_ = array.buffers()
    if data is None:
        data = _EMPTY
    bits, count = array.type.bit_width, len(array)
    if bits == 1:
        return FixedWidth(bits_from(data, array.offset, count), 1, count)
    width = bits // 8
    return FixedWidth(data.slice(array.offset * width, count * width), bits, count)


def validity_of(array: pa.Array) -> pa.Buffer | None:
    """The validity bitmap from bit 0 on; None if all slots are valid."""
    if not array.null_count:
        return None
    if pa.types.is_null(array.type):
        return pa.py_buffer(np.zeros((len(array) + 7) // 8, np.uint8))
    return bits_from(array.buffers()[0], array.offset, len(array))


def _variable(array: pa.Array) -> VariableWidth:
    dtype = np.dtype(offset_dtype(array.type))
    _, stored, data = array.buffers()
    # Arrow lets an empty array have no offsets at all.
    if not len(array) or stored is None:
        stored, array = pa.py_buffer(bytes(8)), array.slice(0, 0)
    count = len(array) + 1
    position = array.offset * dtype.itemsize if len(array) else 0
    offsets: Offsets
    if dtype.itemsize == 8:
        offsets = np.frombuffer(stored, np.int64, count, position)
    else:
        offsets = np.frombuffer(stored, np.int32, count, position)
    begin, end = int(offsets[0]), int(offsets[-1])
    data = (data or _EMPTY).slice(begin, end - begin)
    return VariableWidth(offsets - offsets[0] if begin else offsets, data)


def _lists(array: pa.Array) -> FixedSizeListValues:
    size = array.type.list_size
    items = array.values.slice(array.offset * size, len(array) * size)
    validity = validity_of(items)
    if pa.types.is_fixed_size_list(items.type):
        inner = _lists(items)
        return FixedSizeListValues(
            (validity, *inner.validity), inner.values, (size, *inner.dimensions), len(array)
        )
    if len(items) and items.null_count == len(items):
        nothing = FixedWidth(_EMPTY, 0, len(items))
        return FixedSizeListValues((validity,), nothing, (size,), len(array))
    values = values_of(items)
    if not isinstance(values, FixedWidth):
        raise UnsupportedFeatureError(f"values of type {array.type} cannot be compressed")
    return FixedSizeListValues((validity,), values, (size,), len(array))


def _structs(array: pa.StructArray) -> StructValues:
    if any(child.null_count > array.null_count for child in array.flatten()):
        raise UnsupportedFeatureError("children of packed structs cannot be null")
    children = [values_of(array.field(number)) for number in range(array.type.num_fields)]
    return StructValues(tuple(children), len(array))


_SAMPLES = (
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.timestamp("s")),
    *(pa.duration("s"), pa.month_day_nano_interval(), pa.binary(1)),
    *(pa.decimal32(1), pa.decimal64(1), pa.decimal128(1), pa.decimal256(1)),
)
"""A type of each kind whose values have a fixed width."""

_FLAT: dict[int, Callable[[pa.Array], FixedWidth | VariableWidth]] = {
    **{type_.id: _fixed for type_ in _SAMPLES},
    **{t.id: _variable for t in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())},
}

_VALUES_OF: dict[int, Callable[[pa.Array], Values]] = {
    **_FLAT,
    pa.list_(pa.int8(), 1).id: _lists,
    pa.struct([]).id: _structs,
}
