"""`KeyIndex`: the distinct keys of a source, and the search for them in other rows.

A key is one value or a tuple of values of several columns. A key with a null is equal to no key.
Floating-point values are equal if their bits are, so NaN equals NaN, and 0.0 differs from -0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.numpy_values import from_numpy, to_scalar
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.kernels import NUMPY, Kernels
from lance_core.encodings.kernels.numpy.integer_index import (
    Int64Array,
    IntegerIndex,
    MemberRows,
    distinct_sorted,
)
from lance_core.errors import UnsupportedFeatureError

_NOTHING: Int64Array = np.empty(0, np.int64)


class KeyIndex:
    """The distinct keys of some rows, numbered from 0.

    ``keys``: for each of the rows, the number of its key, -1 if the key has a null.
    """

    def __init__(self, columns: Sequence[pa.ChunkedArray], kernels: Kernels = NUMPY) -> None:
        """``columns``: the key columns of the rows. ``kernels``: search integers.

        Raises `UnsupportedFeatureError` for a type that cannot be a key.
        """
        self._kernels = kernels
        self._columns: list[_ColumnIndex] = []
        self._tuples: list[IntegerIndex] = []
        rows, members = np.arange(len(columns[0])), _NOTHING
        for number, column in enumerate(columns):
            index = _column_index(column, kernels)
            self._columns.append(index)
            matches = _search(index, column, rows, is_whole=number == 0)
            rows, codes = rows[matches.rows], matches.members
            if number == 0:
                members = codes
                continue
            codes += members[matches.rows] * len(index)
            tuples, members = np.unique(codes, return_inverse=True)
            self._tuples.append(IntegerIndex(tuples))
        self.keys = np.full(len(columns[0]), -1, np.int64)
        self.keys[rows] = members

    def __len__(self) -> int:
        return len(self._tuples[-1] if self._tuples else self._columns[0])

    def find(self, columns: Sequence[pa.ChunkedArray]) -> MemberRows:
        """The rows of ``columns`` whose key is in the index, and the numbers of their keys."""
        matches = self._columns[0].find(columns[0])
        later = zip(self._columns[1:], columns[1:], self._tuples, strict=True)
        for index, column, tuples in later:
            here = _search(index, column, matches.rows)
            codes = here.members + matches.members[here.rows] * len(index)
            whole, members = self._kernels.find_integers(codes, tuples)
            matches = MemberRows(matches.rows[here.rows[whole]], members)
        return matches

    def integers(self, types: Sequence[pa.DataType]) -> IntegerIndex | None:
        """The keys as integers of the same bits; None unless ``types`` is their one type.

        They have the numbers of the keys.
        """
        index = self._columns[0]
        if not isinstance(index, _Bits) or list(types) != [index.type]:
            return None
        return index.integers


class _ColumnIndex(Protocol):
    """The distinct values of one column, without null."""

    def __len__(self) -> int: ...

    def find(self, column: pa.ChunkedArray) -> MemberRows:
        """The rows of ``column`` whose value is in the index."""


def _search(
    index: _ColumnIndex, column: pa.ChunkedArray, rows: Int64Array, *, is_whole: bool = False
) -> MemberRows:
    """The search in the given ``rows`` of ``column``; the result counts in ``rows``."""
    if is_whole or len(rows) == len(column):
        return index.find(column)
    chosen = take_rows(pa.table({"": column}), from_numpy(rows)).column(0)
    return index.find(chosen)


def _column_index(column: pa.ChunkedArray, kernels: Kernels) -> _ColumnIndex:
    type_ = column.type
    if _is_encoded(type_):
        return _Converted(column, kernels)
    if pa.types.is_null(type_):
        return _Bits(pa.chunked_array([pa.array([], pa.int8())]), kernels)
    if has_bits(type_):
        return _Bits(column, kernels)
    if pa.types.is_struct(type_):
        return _Structs(column, kernels)
    return _Values(column)


def has_bits(type_: pa.DataType) -> bool:
    """True if at most 64 bits identify each value of ``type_``."""
    if pa.types.is_boolean(type_):
        return True
    is_number = pa.types.is_primitive(type_) or pa.types.is_decimal(type_)
    return is_number and int(type_.bit_width) <= 64


class _Bits:
    """Values of at most 64 bits."""

    def __init__(self, column: pa.ChunkedArray, kernels: Kernels) -> None:
        self.type = column.type
        self._kernels = kernels
        parts = [_NOTHING]
        for chunk in column.chunks:
            values = as_integers(chunk)
            parts.append(values[np.asarray(chunk.is_valid())] if chunk.null_count else values)
        self.integers = IntegerIndex(distinct_sorted(np.concatenate(parts)))

    def __len__(self) -> int:
        return len(self.integers)

    def find(self, column: pa.ChunkedArray) -> MemberRows:
        if pa.types.is_null(column.type):
            return MemberRows(_NOTHING, _NOTHING)
        matches, start = [], 0
        for chunk in column.chunks:
            rows, members = self._kernels.find_integers(as_integers(chunk), self.integers)
            if chunk.null_count:
                is_valid = np.asarray(chunk.is_valid())[rows]
                rows, members = rows[is_valid], members[is_valid]
            matches.append(MemberRows(rows + start, members))
            start += len(chunk)
        if len(matches) == 1:
            return matches[0]
        return MemberRows(
            np.concatenate([_NOTHING, *(part.rows for part in matches)]),
            np.concatenate([_NOTHING, *(part.members for part in matches)]),
        )


def as_integers(array: pa.Array) -> Int64Array:
    """The bits of each value as a number; anything for nulls."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    width = array.type.bit_width // 8
    first, count = array.offset, len(array)
    buffer = array.buffers()[1]
    if buffer is None or not count:
        return np.zeros(count, np.int64)
    bits = np.frombuffer(buffer, f"<i{width}", count, first * width)
    return bits.astype(np.int64, copy=False)


class _Converted:
    """Values of a dictionary or an extension type, as plain values."""

    def __init__(self, column: pa.ChunkedArray, kernels: Kernels) -> None:
        self._index = _column_index(plain(column), kernels)

    def __len__(self) -> int:
        return len(self._index)

    def find(self, column: pa.ChunkedArray) -> MemberRows:
        return self._index.find(plain(column))


def _is_encoded(type_: pa.DataType) -> bool:
    return isinstance(type_, pa.BaseExtensionType) or pa.types.is_dictionary(type_)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The storage of an extension column, or the values of a dictionary column."""
    type_ = column.type
    if isinstance(type_, pa.BaseExtensionType):
        chunks = [getattr(chunk, "storage", chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks, type_.storage_type)
    return column.cast(type_.value_type)


class _Values:
    """Values of any type that Arrow compares."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        try:
            self._values = combine_chunks(pa.chunked_array([column.unique().drop_null()]))
        except (pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError) as error:
            raise UnsupportedFeatureError(
                f"values of type {column.type} cannot be keys of a merge: {error}"
            ) from None

    def __len__(self) -> int:
        return len(self._values)

    def find(self, column: pa.ChunkedArray) -> MemberRows:
        import pyarrow.compute as pc

        positions = pc.index_in(column, value_set=self._values, skip_nulls=True)
        rows = np.flatnonzero(np.asarray(combine_chunks(positions.is_valid())))
        members = np.asarray(combine_chunks(positions.drop_null())).astype(np.int64)
        return MemberRows(rows, members)


class _Structs:
    """Structs. A null struct is no value; a null child is equal to a null child."""

    def __init__(self, column: pa.ChunkedArray, kernels: Kernels) -> None:
        if not column.type.num_fields:
            raise UnsupportedFeatureError("structs without fields cannot be keys of a merge")
        rows = _valid_rows(column)
        self._index = KeyIndex(_children(column, rows), kernels)

    def __len__(self) -> int:
        return len(self._index)

    def find(self, column: pa.ChunkedArray) -> MemberRows:
        rows = _valid_rows(column)
        matches = self._index.find(_children(column, rows))
        return MemberRows(rows[matches.rows], matches.members)


def _valid_rows(column: pa.ChunkedArray) -> Int64Array:
    return np.flatnonzero(np.asarray(combine_chunks(column.is_valid())))


def _children(column: pa.ChunkedArray, rows: Int64Array) -> list[pa.ChunkedArray]:
    """The children of the structs at ``rows``, each as two columns: validity and values."""
    import pyarrow.compute as pc

    structs = combine_chunks(column).take(from_numpy(rows))
    columns = []
    for number in range(column.type.num_fields):
        child = pa.chunked_array([pc.struct_field(structs, [number])])
        while _is_encoded(child.type):
            child = plain(child)
        columns += [child.is_valid(), _without_nulls(child)]
    return columns


def _without_nulls(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """``column`` with an arbitrary, always equal, value in place of null."""
    if pa.types.is_null(column.type):
        return pa.chunked_array([pa.array(np.zeros(len(column), np.int8))])
    return column.fill_null(_default(column.type)) if column.null_count else column


def _default(type_: pa.DataType) -> pa.Scalar:
    """The empty value of a type of variable width; of any other, the one whose bits are all 0."""
    if pa.types.is_nested(type_):
        raise UnsupportedFeatureError(f"nulls of type {type_} cannot be in keys of a merge")
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return to_scalar(b"", type_)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return to_scalar("", type_)
    zero = pa.py_buffer(bytes(type_.bit_width // 8 + 1))
    return pa.Array.from_buffers(type_, 1, [None, zero])[0]
