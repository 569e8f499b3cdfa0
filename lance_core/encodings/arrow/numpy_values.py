"""Arrow arrays and scalars of numpy's values, made without importing pandas.

`pa.array` and `pa.scalar` import pandas, if it is installed, to recognise its objects. That takes
longer than all the rest of a process that opens a table and reads it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_STORED = {bool: np.bool_, int: np.int64, float: np.float64}


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """An array without nulls of booleans, integers or floats; numbers are not copied."""
    stored = np.packbits(values, bitorder="little") if values.dtype == bool else values
    buffers = [None, pa.py_buffer(np.ascontiguousarray(stored))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def to_scalar(value: Any, kind: pa.DataType | None = None) -> pa.Scalar:
    """As `pa.scalar`, without pandas for booleans, numbers and strings of the usual types."""
    if type(value) is str and kind in (None, pa.string()):
        data = value.encode()
        offsets = pa.py_buffer(np.array([0, len(data)], np.int32))
        return pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(data)])[0]
    stored = _STORED.get(type(value))
    if stored is not None and kind in (None, pa.from_numpy_dtype(stored)):
        try:
            return from_numpy(np.array([value], stored))[0]
        except OverflowError:
            pass  # pyarrow has an error of its own for it
    return pa.scalar(value, kind)
