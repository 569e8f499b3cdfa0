"""`RecallQueries`: queries whose answers by an index are compared with those of exact search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core_vector.vectors import matrix_of

Scan: TypeAlias = Callable[..., pa.Table]
"""Runs a scan with the arguments of ``LanceDataset.to_table``."""

RowIds: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class RecallQueries:
    """Queries for the ``k`` nearest rows: ``matrix``, one a row, and further keys of ``nearest``.

    ``own``: the id of the row whose vector each is, which does not count; None if there are none.
    """

    scan: Scan
    keys: Mapping[str, Any]
    matrix: npt.NDArray[Any]
    own: RowIds | None
    k: int

    def alone(self, number: int) -> RecallQueries:
        """Only one of the queries."""
        only = slice(number, number + 1)
        own = None if self.own is None else self.own[only]
        return replace(self, matrix=self.matrix[only], own=own)

    def answers(self, options: Mapping[str, Any]) -> list[set[int]]:
        """The ids of the rows that each query finds with ``options``, keys of ``nearest``."""
        k = self.k + (self.own is not None)
        nearest = {**self.keys, "q": self.matrix, "k": k, **options}
        table = self.scan(columns=[], nearest=nearest, with_row_id=True)
        ids = to_numpy(table.column("_rowid"))
        numbers = to_numpy(table.column("query_index"))
        stops = np.searchsorted(numbers, np.arange(1, len(self.matrix)))
        nearest_rows = np.split(ids, stops)
        if self.own is not None:
            pairs = zip(nearest_rows, self.own, strict=True)
            nearest_rows = [rows[rows != row] for rows, row in pairs]
        return [set(rows[: self.k].tolist()) for rows in nearest_rows]


def shares(exact: Sequence[set[int]], answers: Sequence[set[int]]) -> npt.NDArray[np.float64]:
    """The share of its nearest rows that each query finds; of queries that have some."""
    pairs = zip(exact, answers, strict=True)
    return np.array([len(nearest & own) / len(nearest) for nearest, own in pairs if nearest])


def vectors_in(rows: pa.Table, column: str) -> tuple[RowIds, npt.NDArray[Any]]:
    """The ids and the vectors, one a row, of those of ``rows`` that others may be near.

    Vectors with NaN or infinite numbers, and of zeros, are left out.

    Raises `InvalidInputError` for several vectors a row.
    """
    values = rows.column(column).combine_chunks()
    if not pa.types.is_fixed_size_list(values.type):
        raise InvalidInputError(f"column {column!r} has not one vector a row: give queries")
    ids = to_numpy(rows.column("_rowid"))
    if values.null_count:  # else a filter would copy each number by itself
        present = to_numpy(values.is_valid())
        ids, values = ids[present], values.filter(from_numpy(present))
    matrix = matrix_of(values)
    is_usual = np.isfinite(matrix).all(axis=1) & matrix.any(axis=1)
    return (ids, matrix) if is_usual.all() else (ids[is_usual], matrix[is_usual])
