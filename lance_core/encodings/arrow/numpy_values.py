"""Build Arrow arrays and scalars from numpy values, and name their types, without importing pandas.

`pa.array` and `pa.scalar` import pandas, if it is installed, to recognise pandas objects. That
import takes longer than opening and reading a small table. `pa.DataType.to_pandas_dtype` requires
pandas in releases of pyarrow before 26, although its result is a type of numpy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_USUAL = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
"""The types that `pa.scalar` infers from those of Python's values."""


@lru_cache(maxsize=1024)
def numpy_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """The numpy type of the values of a boolean, integer or floating-point type."""
    if pa.types.is_boolean(kind):
        return np.dtype(np.bool_)
    if pa.types.is_floating(kind):
        return np.dtype(f"f{kind.bit_width // 8}")
    sign = "u" if pa.types.is_unsigned_integer(kind) else "i"
    return np.dtype(f"{sign}{kind.bit_width // 8}")


def from_numpy(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """An array of booleans, integers or floats; numbers are not copied.

    ``missing``: true for nulls, None if there are none.
    """
    stored = np.packbits(values, bitorder="little") if values.dtype == bool else values
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(stored))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def from_values(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Equal to `pa.array`, but without pandas for values of Python that are not None.

    These are booleans, integers as numbers or as the counts of dates and times, floats, strings and
    bytes, lists of all of them, and scalars of ``type_``.
    """
    kinds = set(map(type, values))
    if not kinds:
        return pa.nulls(0, type_)
    if all(isinstance(value, pa.Scalar) and value.type == type_ for value in values):
        return pa.concat_arrays([pa.repeat(value, 1) for value in values])
    made = None
    if len(kinds) == 1:
        with contextlib.suppress(OverflowError, UnicodeError):  # `pa.array` raises its own error
            made = _of_class(kinds.pop(), values, type_)
    return pa.array(values, type_) if made is None else made


def _of_class(kind: type, values: Sequence[Any], type_: pa.DataType) -> pa.Array | None:
    """The array of values that all have the class ``kind``; None for other classes."""
    types = pa.types
    if kind is str and types.is_string(type_):
        return _of_bytes([value.encode() for value in values], type_, np.int32)
    if kind is str and types.is_large_string(type_):
        return _of_bytes([value.encode() for value in values], type_, np.int64)
    if kind is bytes and (types.is_binary(type_) or types.is_large_binary(type_)):
        return _of_bytes(values, type_, np.int32 if types.is_binary(type_) else np.int64)
    if kind is list and (types.is_list(type_) or types.is_large_list(type_)):
        items = from_values([item for value in values for item in value], type_.value_type)
        edges = np.cumsum([0, *map(len, values)])
        offsets = edges.astype(np.int32 if types.is_list(type_) else np.int64)
        buffers = [None, pa.py_buffer(offsets)]
        return pa.Array.from_buffers(type_, len(values), buffers, 0, 0, [items])
    if kind is int and types.is_temporal(type_) and not types.is_interval(type_):
        return from_numpy(_integers(values, np.dtype(f"i{type_.bit_width // 8}"))).view(type_)
    if kind is int and types.is_integer(type_):
        return from_numpy(_integers(values, numpy_dtype(type_)))
    if (kind is bool and types.is_boolean(type_)) or (kind is float and types.is_float64(type_)):
        return from_numpy(np.array(values, numpy_dtype(type_)))
    return None


def _integers(values: Sequence[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The values as an array. Raises ``OverflowError`` where numpy 1 would only warn."""
    limits = np.iinfo(dtype)
    if min(values) < limits.min or max(values) > limits.max:
        raise OverflowError
    return np.array(values, dtype)


def _of_bytes(values: Sequence[bytes], type_: pa.DataType, unit: type) -> pa.Array:
    offsets = np.cumsum([0, *map(len, values)])
    if offsets[-1] > np.iinfo(unit).max:
        raise OverflowError
    buffers = [None, pa.py_buffer(offsets.astype(unit)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(type_, len(values), buffers, 0)


def to_scalar(value: Any, type_: pa.DataType | None = None) -> pa.Scalar:
    """Equal to `pa.scalar`, but without pandas for nulls, and for the values of `from_values`."""
    if value is None and type_ is not None:
        return pa.nulls(1, type_)[0]
    kind = _USUAL.get(type(value)) if type_ is None else type_
    if kind is not None:
        with contextlib.suppress(OverflowError, UnicodeError):  # `pa.scalar` raises its own error
            made = _of_class(type(value), [value], kind)
            if made is not None:
                return made[0]
    return pa.scalar(value, type_)


def to_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Equal to the column's own `to_numpy`, but without pandas for numbers and booleans, not null.

    The numbers of a single chunk are not copied, and cannot be written.
    """
    if isinstance(column, pa.ChunkedArray):
        chunks = column.chunks
        if len(chunks) != 1:
            if not chunks or column.null_count:
                return np.asarray(column.to_numpy())
            return np.concatenate([to_numpy(chunk) for chunk in chunks])
        column = chunks[0]
    type_ = column.type
    is_number = type_.id in _NUMBERS or type_.id == _BOOLEAN
    data = column.buffers()[1] if is_number and not column.null_count else None
    if data is None:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if type_.id == _BOOLEAN:
        stop = column.offset + len(column)
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=stop, bitorder="little")
        return bits[column.offset :].view(np.bool_)
    width: int = type_.bit_width // 8
    return np.frombuffer(data, numpy_dtype(type_), len(column), column.offset * width)


_BOOLEAN = pa.bool_().id

_NUMBERS = frozenset(
    pa.from_numpy_dtype(np.dtype(name)).id
    for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
)
