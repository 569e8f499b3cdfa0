"""Tables of vectors, from plain Python and numpy values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt


def vec_to_table(
    data: Mapping[Any, Sequence[float]] | Sequence[Sequence[float]] | npt.NDArray[Any],
    names: str | Sequence[str] | None = None,
    ndim: int | None = None,
    check_ndim: bool = True,
) -> pa.Table:
    """A table with a column of float32 vectors, a fixed-size list.

    ``data``: vectors by id, or a list or two-dimensional array of vectors. ``names``: the names of
    the columns, by default ``id`` (only for vectors by id) and ``vector``. ``ndim``: the values of
    a vector, by default those of the first one. ``check_ndim`` is kept for pylance's callers:
    vectors of different lengths are always refused. Raises ``ValueError`` for them, for no vectors
    without ``ndim``, and for the wrong number of names.
    """
    by_id = isinstance(data, Mapping)
    column_names = ["id", "vector"] if by_id else ["vector"]
    if names is not None:
        column_names = [names] if isinstance(names, str) else list(names)
    if len(column_names) != 1 + by_id:
        raise ValueError(f"{1 + by_id} column names are needed, got {column_names}")
    vectors = _vectors(list(data.values()) if isinstance(data, Mapping) else data, ndim)
    columns = [pa.array(data.keys()), vectors] if isinstance(data, Mapping) else [vectors]
    return pa.Table.from_arrays(columns, names=column_names)


def _vectors(rows: Sequence[Any] | npt.NDArray[Any], ndim: int | None) -> pa.Array:
    if ndim is None:
        if not len(rows):
            raise ValueError("no vectors: their number of dimensions must be given as ndim")
        ndim = len(rows[0])
    for number, row in enumerate(rows if not isinstance(rows, np.ndarray) else rows[:1]):
        if len(row) != ndim:
            raise ValueError(f"vector {number} has {len(row)} dimensions, expected {ndim}")
    values = np.asarray(rows, np.float32).reshape(-1)
    return pa.FixedSizeListArray.from_arrays(pa.array(values), ndim)
