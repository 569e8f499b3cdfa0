"""The first difference between two tables, as text.

Values are compared bit by bit, so that NaN equals itself and 0.0 differs from -0.0. Dictionaries
may be in another order. What lies below nulls does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

LONGEST = 200

Mask = npt.NDArray[np.bool_]


def first_difference(found: pa.Table, expected: pa.Table) -> str | None:
    """None if rows and values are equal; schemas are compared by `schema_difference`."""
    if found.column_names != expected.column_names:
        return f"columns {found.column_names} instead of {expected.column_names}"
    if found.num_rows != expected.num_rows:
        return f"{found.num_rows} rows instead of {expected.num_rows}"
    for name, here, there in zip(found.column_names, found, expected, strict=True):
        row = 0
        for one, other in _aligned(here, there):
            if not _same(one, other):
                place = _first_row(one, other)
                shown = _shown(one, place), _shown(other, place)
                kind = _shorten(str(expected.schema.field(name)))
                return f"{name} ({kind}), row {row + place}: {shown[0]} instead of {shown[1]}"
            row += len(one)
    return None


def schema_difference(found: pa.Schema, expected: pa.Schema) -> str | None:
    """None if types, nullability and metadata are equal."""
    if found.equals(expected, check_metadata=True):
        return None
    if len(found) != len(expected):
        return f"fields {found.names} instead of {expected.names}"
    for one, other in zip(found, expected, strict=True):
        if not one.equals(other, check_metadata=True):
            shown = one.to_string(show_metadata=True) if hasattr(one, "to_string") else str(one)
            if str(one) == str(other):
                return f"metadata of {one}: {one.metadata} instead of {other.metadata}"
            return f"{shown}, nullable={one.nullable} instead of {other}"
    return f"metadata {found.metadata} instead of {expected.metadata}"


def _aligned(here: pa.ChunkedArray, there: pa.ChunkedArray) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Both columns cut wherever either has a chunk's end, as arrays of plain types."""
    ends: set[int] = {0}
    for column in (here, there):
        ends.update(np.cumsum([len(chunk) for chunk in column.chunks]).tolist())
    for start, end in pairwise(sorted(ends)):
        yield _part(here, start, end), _part(there, start, end)


def _part(column: pa.ChunkedArray, start: int, end: int) -> pa.Array:
    (chunk,) = (c for c in column.slice(start, end - start).chunks if len(c))
    return as_plain(chunk)


class _Retyped:
    """The memory of an array, as one of another type of the same layout."""

    def __init__(self, array: pa.Array, type_: pa.DataType) -> None:
        self.array, self.type = array, type_

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self.type.__arrow_c_schema__(), self.array.__arrow_c_array__()[1]


def as_plain(array: pa.Array) -> pa.Array:
    """Without extension types and maps: kernels do not know all of them."""
    return retyped(array, plain_type(array.type))


def retyped(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """``array`` as one of another type of the same layout."""
    return pa.array(_Retyped(array, type_))


def plain_type(type_: pa.DataType) -> pa.DataType:
    if isinstance(type_, pa.BaseExtensionType):
        return plain_type(type_.storage_type)
    if pa.types.is_struct(type_):
        return pa.struct([_plain_field(member) for member in type_])
    if pa.types.is_map(type_):
        return pa.list_(pa.struct([_plain_field(type_.key_field), _plain_field(type_.item_field)]))
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_plain_field(type_.value_field), type_.list_size)
    if pa.types.is_large_list(type_):
        return pa.large_list(_plain_field(type_.value_field))
    if pa.types.is_list(type_):
        return pa.list_(_plain_field(type_.value_field))
    return type_


def _plain_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, plain_type(field.type), field.nullable)


@dataclass(frozen=True)
class _Slots:
    """An array, and which of its slots count: those that no null above hides.

    Kernels are used on leaves only: some of those of nested types are wrong for slices.
    """

    array: pa.Array
    counts: Mask

    def valid(self) -> Mask:
        """Of the slots that count, which are not null."""
        return _bits(self.array.is_valid())[self.counts]

    def members(self) -> list[_Slots]:
        shown = self.counts & _bits(self.array.is_valid())
        return [
            _Slots(self.array.field(number), shown) for number in range(self.array.type.num_fields)
        ]

    def lengths(self) -> npt.NDArray[np.int64]:
        """Of all lists, also those that do not count."""
        if pa.types.is_fixed_size_list(self.array.type):
            return np.full(len(self.array), self.array.type.list_size)
        return np.diff(self.array.offsets.to_numpy()).astype(np.int64)

    def items(self) -> _Slots:
        lengths, shown = self.lengths(), self.counts & _bits(self.array.is_valid())
        if pa.types.is_fixed_size_list(self.array.type):
            first = self.array.offset * self.array.type.list_size
        else:
            first = self.array.offsets[0].as_py()
        values = self.array.values.slice(first, int(lengths.sum()))
        return _Slots(values, np.repeat(shown, lengths))

    def leaves(self) -> pa.Array:
        return self.array.filter(pa.array(self.counts))


def _bits(array: pa.BooleanArray) -> Mask:
    return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _same(found: pa.Array, expected: pa.Array) -> bool:
    """Whether two arrays of plain types hold the same values."""
    everything = np.ones(len(expected), bool)
    if len(found) != len(expected):
        return False
    return _same_slots(_Slots(found, everything), _Slots(expected, everything))


def _same_slots(found: _Slots, expected: _Slots) -> bool:
    type_ = expected.array.type
    if pa.types.is_nested(type_):
        valid = expected.valid()
        if not np.array_equal(found.valid(), valid):
            return False
        if pa.types.is_struct(type_):
            pairs = zip(found.members(), expected.members(), strict=True)
            return all(_same_slots(one, other) for one, other in pairs)
        here, there = (slots.lengths()[slots.counts][valid] for slots in (found, expected))
        return np.array_equal(here, there) and _same_slots(found.items(), expected.items())
    return _same_leaves(_decoded(found.leaves()), _decoded(expected.leaves()))


def _same_leaves(found: pa.Array, expected: pa.Array) -> bool:
    if pa.types.is_floating(expected.type):
        bits = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[expected.type.bit_width]
        found, expected = found.view(bits), expected.view(bits)
    return bool(found.equals(expected))


def _decoded(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _first_row(found: pa.Array, expected: pa.Array) -> int:
    low, high = 0, len(expected) - 1
    while low < high:
        middle = (low + high) // 2
        if _same(found.slice(0, middle + 1), expected.slice(0, middle + 1)):
            low = middle + 1
        else:
            high = middle
    return low


def _shown(array: pa.Array, row: int) -> str:
    try:
        return _shorten(repr(array[row].as_py()))
    except (ValueError, OverflowError, pa.ArrowInvalid):  # not a date of Python's
        return _shorten(str(array[row]))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def member(column: pa.ChunkedArray, path: list[str]) -> pa.ChunkedArray:
    """What ``path`` names below a struct column; null where a struct above it is null."""
    for name in path:
        column = pc.struct_field(column, [_position(column.type, name)])
    return column


def _position(type_: pa.StructType, name: str) -> int:
    return int(type_.get_field_index(name))
