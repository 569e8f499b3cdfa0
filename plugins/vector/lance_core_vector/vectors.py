"""Columns of vectors as matrices.

A column has one vector a row (a fixed-size list) or several (a list of them, "multivector").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.arrays import from_numpy, to_numpy

NUMBERS: dict[pa.DataType, np.dtype[Any]] = {
    pa.float16(): np.dtype(np.float16),
    pa.float32(): np.dtype(np.float32),
    pa.float64(): np.dtype(np.float64),
    pa.uint8(): np.dtype(np.uint8),
}
"""The numbers that vectors may have, as numpy has them."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors of an array.

    ``matrix``: all of them, one a row, in float32, float64 or uint8. ``rows``: the position in the
    array of each, ascending; None if vector i is that of row i.
    """

    matrix: npt.NDArray[Any]
    rows: npt.NDArray[np.int64] | None

    @classmethod
    def of(cls, values: pa.Array) -> Vectors:
        """The vectors of ``values``, which have a type that `vector_type` knows; no nulls."""
        rows = None
        if not pa.types.is_fixed_size_list(values.type):
            rows = to_numpy(pa.compute.list_parent_indices(values)).astype(np.int64)
            values = values.flatten()
        if values.null_count:
            present = np.flatnonzero(to_numpy(values.is_valid()))
            values = values.take(from_numpy(present))
            rows = present if rows is None else rows[present]
        width = values.type.list_size
        flat = values.flatten()
        if pa.types.is_float16(flat.type):
            matrix = to_numpy(flat).astype(np.float32)
        else:
            matrix = to_numpy(flat)
        return cls(matrix.reshape(-1, width), rows)


def matrix_of(vectors: pa.FixedSizeListArray) -> npt.NDArray[Any]:
    """Vectors without nulls as they are, one a row."""
    flat: npt.NDArray[Any] = to_numpy(vectors.flatten())
    return flat.reshape(-1, vectors.type.list_size)


def vector_type(data_type: pa.DataType) -> tuple[pa.DataType, bool] | None:
    """The type of one vector of a column of type ``data_type``, and True for several a row.

    None if the column has no vectors.
    """
    is_multi = pa.types.is_list(data_type) or pa.types.is_large_list(data_type)
    vector = data_type.value_type if is_multi else data_type
    return (vector, is_multi) if pa.types.is_fixed_size_list(vector) else None


def one_vector(data_type: pa.DataType) -> pa.FixedSizeListType:
    """The type of one vector of a column, which has a type that `vector_type` knows."""
    known = vector_type(data_type)
    assert known is not None
    return known[0]
