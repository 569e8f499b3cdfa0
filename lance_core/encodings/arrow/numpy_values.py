"""Build Arrow arrays and scalars from numpy values, and name their types, without importing pandas.

`pa.array` and `pa.scalar` import pandas, if it is installed, to recognise pandas objects. That
import takes longer than opening and reading a small table. `pa.DataType.to_pandas_dtype` requires
pandas in releases of pyarrow before 26, although its result is a type of numpy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_STORED = {bool: np.bool_, int: np.int64, float: np.float64}


@lru_cache(maxsize=1024)
def numpy_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """The numpy type of the values of a boolean, integer or floating-point type."""
    if pa.types.is_boolean(kind):
        return np.dtype(np.bool_)
    if pa.types.is_floating(kind):
        return np.dtype(f"f{kind.bit_width // 8}")
    sign = "u" if pa.types.is_unsigned_integer(kind) else "i"
    return np.dtype(f"{sign}{kind.bit_width // 8}")


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """An array of booleans, integers or floats without nulls; numbers are not copied."""
    stored = np.packbits(values, bitorder="little") if values.dtype == bool else values
    buffers = [None, pa.py_buffer(np.ascontiguousarray(stored))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def to_scalar(value: Any, type_: pa.DataType | None = None) -> pa.Scalar:
    """Equal to `pa.scalar`, but without pandas for nulls, booleans, numbers and common strings."""
    if value is None and type_ is not None:
        return pa.nulls(1, type_)[0]
    if type(value) is bytes and type_ == pa.large_binary():
        edges = pa.py_buffer(np.array([0, len(value)], np.int64))
        return pa.Array.from_buffers(type_, 1, [None, edges, pa.py_buffer(value)])[0]
    if type(value) is str and type_ in (None, pa.string()):
        data = value.encode()
        offsets = pa.py_buffer(np.array([0, len(data)], np.int32))
        return pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(data)])[0]
    stored = _STORED.get(type(value))
    if stored is not None and type_ in (None, pa.from_numpy_dtype(stored)):
        try:
            return from_numpy(np.array([value], stored))[0]
        except OverflowError:
            pass  # let pa.scalar raise its own error
    return pa.scalar(value, type_)


def to_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Equal to the column's own `to_numpy`, but without pandas for numbers without nulls.

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
    data = column.buffers()[1] if type_.id in _NUMBERS and not column.null_count else None
    if data is None:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    width: int = type_.bit_width // 8
    return np.frombuffer(data, numpy_dtype(type_), len(column), column.offset * width)


_NUMBERS = frozenset(
    pa.from_numpy_dtype(np.dtype(name)).id
    for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
)
