"""Values of 2.1 and 2.2 pages without their structure: one value per slot of a leaf column.

Compressive encodings take and return these types. Page layouts handle nulls and lists; they supply
a validity bitmap (bit 0 of byte 0 first, 1 is valid) when they convert values to an Arrow array.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.strings import check_utf8, is_text, is_variable, offset_dtype
from lance_core.encodings.decoding import Offsets
from lance_core.errors import CorruptFileError, ResultTooLargeError
from lance_core.lazy_dataclass import dataclass

Words = npt.NDArray[np.unsignedinteger[Any]]

_FIXED_SIZE_LIST = pa.lib.Type_FIXED_SIZE_LIST


@dataclass(frozen=True, slots=True, eq=False)
class FixedWidth:
    """``count`` values of ``bits`` bits each, without gaps.

    ``bits`` is 1 (a bitmap with bit 0 of byte 0 first) or a multiple of 8. ``data`` may have more
    bytes than the values take.
    """

    data: pa.Buffer
    bits: int
    count: int

    def __post_init__(self) -> None:
        if self.bits != 1 and self.bits % 8:
            raise CorruptFileError(f"values cannot have {self.bits} bits")
        if self.count < 0 or self.data.size * 8 < self.count * self.bits:
            raise CorruptFileError(
                f"{self.data.size} bytes cannot hold {self.count} values of {self.bits} bits"
            )

    @classmethod
    def of(cls, words: Words) -> FixedWidth:
        """Unsigned integers as values of their width."""
        return cls(pa.py_buffer(np.ascontiguousarray(words)), words.itemsize * 8, len(words))

    def octets(self) -> npt.NDArray[np.uint8]:
        """The bytes of the values."""
        return np.frombuffer(self.data, np.uint8, (self.count * self.bits + 7) // 8)

    def buffer(self) -> pa.Buffer:
        """The bytes of the values, without those that ``data`` has besides."""
        size = (self.count * self.bits + 7) // 8
        return self.data if self.data.size == size else self.data.slice(0, size)

    def words(self) -> Words:
        """Values of 8, 16, 32 or 64 bits as unsigned integers."""
        if self.bits not in (8, 16, 32, 64):
            raise CorruptFileError(f"values of {self.bits} bits are not integers")
        return np.frombuffer(self.data, f"<u{self.bits // 8}", self.count)

    def to_arrow(
        self, type_: pa.DataType, validity: pa.Buffer | None = None, validate_utf8: bool = True
    ) -> pa.Array:
        """An array over the same bytes. Raises `CorruptFileError` if ``type_`` has another width.

        Booleans may have one bit or one byte. Fixed-size lists get no null items.
        """
        if type_.id == _FIXED_SIZE_LIST:
            return self._lists(type_, validity)
        width = _bit_width(type_)
        if width == 1 and self.bits == 8:
            bits = np.packbits(self.octets() != 0, bitorder="little")
            return FixedWidth(pa.py_buffer(bits), 1, self.count).to_arrow(type_, validity)
        if width != self.bits:
            raise CorruptFileError(f"values of type {type_} cannot have {self.bits} bits")
        nulls = 0 if validity is None else -1
        if width & (width - 1) or self.data.address % 8 == 0:  # aligned for any type
            return pa.Array.from_buffers(type_, self.count, [validity, self.data], nulls)
        buffers = [validity, _aligned(self.data, width)]
        return pa.Array.from_buffers(type_, self.count, buffers, nulls)

    def _lists(self, type_: pa.DataType, validity: pa.Buffer | None) -> pa.Array:
        size = type_.list_size
        if size < 1 or self.bits % size:
            raise CorruptFileError(f"{self.bits} bits cannot be divided among {size} list items")
        items = FixedWidth(self.data, self.bits // size, self.count * size)
        return _list_array(type_, self.count, validity, items.to_arrow(type_.value_type))


@dataclass(frozen=True, slots=True, eq=False)
class VariableWidth:
    """Variable-width values: value i is ``data[offsets[i]:offsets[i + 1]]``.

    Offsets are int32 or int64, start at 0, do not descend and end within ``data``. The caller of
    the constructor must check this; `VariableWidth.checked` does. ``is_ascii``: True if all bytes
    of ``data`` are known to be ASCII.
    """

    offsets: Offsets
    data: pa.Buffer
    is_ascii: bool = False

    @classmethod
    def checked(cls, offsets: Offsets, data: pa.Buffer) -> VariableWidth:
        """Values with checked offsets. Raises `CorruptFileError` for invalid offsets."""
        if not len(offsets) or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise CorruptFileError("the offsets of values do not ascend from 0")
        if offsets[-1] > data.size:
            raise CorruptFileError(f"a value ends at byte {offsets[-1]} of {data.size}")
        return cls(offsets, data)

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    @property
    def offset_bits(self) -> int:
        """Bits of an offset, 32 or 64."""
        return self.offsets.itemsize * 8

    def octets(self) -> npt.NDArray[np.uint8]:
        """The bytes of all values."""
        return np.frombuffer(self.data, np.uint8, int(self.offsets[-1]))

    def to_arrow(
        self, type_: pa.DataType, validity: pa.Buffer | None = None, validate_utf8: bool = True
    ) -> pa.Array:
        """An array of a string or binary type over the same bytes.

        Raises `CorruptFileError` for another type or invalid UTF-8, and `ResultTooLargeError` if
        the offsets of ``type_`` cannot address the bytes.
        """
        if not is_variable(type_):
            raise CorruptFileError(f"a column of type {type_} has values of variable width")
        dtype = offset_dtype(type_)
        if dtype is np.int32 and self.offsets[-1] > MAX_OFFSET:
            raise ResultTooLargeError(f"2 GiB or more of values do not fit into {type_}")
        offsets: npt.NDArray[Any] = np.ascontiguousarray(self.offsets, dtype)
        if validate_utf8 and is_text(type_) and not self.is_ascii:
            check_utf8(offsets, self.data.slice(0, int(offsets[-1])))
        buffers = [validity, pa.py_buffer(offsets), self.data]
        nulls = 0 if validity is None else -1
        return pa.Array.from_buffers(type_, len(self.offsets) - 1, buffers, nulls)


@dataclass(frozen=True, slots=True, eq=False)
class FixedSizeListValues:
    """Fixed-size lists, possibly nested, of fixed-width values.

    ``dimensions`` has the list sizes, outermost first. ``validity[k]`` is a bitmap of the items of
    the lists at level k (count * dimensions[0] * … * dimensions[k] bits), or None if no item is
    null. ``values`` are the innermost items, of 0 bits if all are null. ``count`` is the number of
    outermost lists.
    """

    validity: tuple[pa.Buffer | None, ...]
    values: FixedWidth
    dimensions: tuple[int, ...]
    count: int

    def __post_init__(self) -> None:
        items = self.count
        if not self.dimensions or len(self.dimensions) != len(self.validity):
            raise CorruptFileError("fixed-size lists have no size")
        for size, bitmap in zip(self.dimensions, self.validity, strict=True):
            items *= size
            if bitmap is not None and bitmap.size * 8 < items:
                raise CorruptFileError(
                    f"a validity bitmap of {bitmap.size} bytes is too short for {items} items"
                )
        if items != self.values.count:
            raise CorruptFileError(
                f"{self.values.count} items cannot be divided into fixed-size lists of {items}"
            )

    def to_arrow(
        self, type_: pa.DataType, validity: pa.Buffer | None = None, validate_utf8: bool = True
    ) -> pa.Array:
        """An array over the same bytes. Raises `CorruptFileError` for a type of another shape."""
        if type_.id != _FIXED_SIZE_LIST or type_.list_size != self.dimensions[0]:
            raise CorruptFileError(
                f"a column of type {type_} has lists of {self.dimensions[0]} items"
            )
        inner: Values = self.values
        if len(self.dimensions) == 1 and not self.values.bits:
            items = all_null(type_.value_type, self.values.count)
            return _list_array(type_, self.count, validity, items)
        if len(self.dimensions) > 1:
            count = self.count * self.dimensions[0]
            inner = FixedSizeListValues(self.validity[1:], self.values, self.dimensions[1:], count)
        items = inner.to_arrow(type_.value_type, self.validity[0])
        return _list_array(type_, self.count, validity, items)


@dataclass(frozen=True, slots=True, eq=False)
class StructValues:
    """Structs, as the values of each child. Children have no nulls of their own."""

    children: tuple[Values, ...]
    count: int

    def __post_init__(self) -> None:
        for child in self.children:
            if child.count != self.count:
                raise CorruptFileError(f"a child of {self.count} structs has {child.count} values")

    def to_arrow(
        self, type_: pa.DataType, validity: pa.Buffer | None = None, validate_utf8: bool = True
    ) -> pa.Array:
        """An array over the same bytes. Raises `CorruptFileError` for a type of another shape."""
        if not pa.types.is_struct(type_) or type_.num_fields != len(self.children):
            raise CorruptFileError(
                f"a column of type {type_} has {len(self.children)} packed children"
            )
        children = [
            child.to_arrow(field.type, None, validate_utf8)
            for child, field in zip(self.children, type_, strict=True)
        ]
        nulls = _nulls(validity)
        return pa.Array.from_buffers(type_, self.count, [validity], nulls, 0, children)


Values = FixedWidth | VariableWidth | FixedSizeListValues | StructValues


FlatValues = FixedWidth | VariableWidth
"""Values that have no parts of their own."""


def as_fixed(values: Values) -> FixedWidth:
    """``values`` if they have fixed width. Raises `CorruptFileError` otherwise."""
    if not isinstance(values, FixedWidth):
        raise CorruptFileError("an encoding of fixed-width values contains other values")
    return values


def as_variable(values: Values) -> VariableWidth:
    """``values`` if they have variable width. Raises `CorruptFileError` otherwise."""
    if not isinstance(values, VariableWidth):
        raise CorruptFileError("an encoding of variable-width values contains other values")
    return values


@lru_cache(maxsize=1024)
def _bit_width(type_: pa.DataType) -> int:
    is_fixed = (
        pa.types.is_primitive(type_)
        or pa.types.is_fixed_size_binary(type_)
        or pa.types.is_decimal(type_)
    )
    if not is_fixed:
        raise CorruptFileError(f"a column of type {type_} has values of fixed width")
    return int(type_.bit_width)


def _aligned(data: pa.Buffer, bits: int) -> pa.Buffer:
    """``data``, copied if words of ``bits`` bits would not be aligned in memory."""
    width = bits // 8
    # Types of other widths than powers of two are made of bytes, which need no alignment.
    if width & (width - 1) or data.address % max(1, min(8, width)) == 0:
        return data
    return pa.py_buffer(np.frombuffer(data, np.uint8).copy())


def _nulls(validity: pa.Buffer | None) -> int:
    return 0 if validity is None else -1


def _list_array(
    type_: pa.DataType, count: int, validity: pa.Buffer | None, items: pa.Array
) -> pa.Array:
    return pa.Array.from_buffers(type_, count, [validity], _nulls(validity), 0, [items])


def joined(parts: Sequence[npt.NDArray[np.uint8]]) -> npt.NDArray[np.uint8]:
    """All parts concatenated; a single part is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.uint8), *parts])
