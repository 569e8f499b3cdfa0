"""`FlatQuantizer`: vectors are stored as they are, for cosine with the length one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.searches import Hits, best_of
from lance_core_vector.distances import Metric, sum_rounding
from lance_core_vector.loops.best_rows import Masks
from lance_core_vector.loops.float_scan import SPARE_ROWS, Score, best_by_floats, is_conclusive
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.quantizers.base import (
    Codes,
    Distances,
    Quantizer,
    Scorer,
    Vector,
    check_metric,
    matrix,
    places_of,
    rows_at,
)

if TYPE_CHECKING:
    from lance_core_vector.partitions.partition_cache import Partition

COLUMN = "flat"

_ROWS_AT_ONCE = 4096
"""Rows whose exact distances are computed at once."""


_PART_NUMBERS = 1 << 21
"""Numbers that are compared in a millisecond, see `Scorer.rows_of_part`."""


class FlatQuantizer(Quantizer):
    """The vectors themselves: distances are exact."""

    def __init__(self, vector: pa.DataType, metric: Metric, path: str) -> None:
        if not metric.of_bits:
            check_metric(metric.name)
        self.columns = {COLUMN: pa.list_(vector.value_type, vector.list_size)}
        self.bytes_per_row = vector.list_size * (vector.value_type.bit_width // 8) + 4
        self._metric = metric
        self._path = path

    def load(self, arrays: Sequence[pa.Array]) -> Codes:
        """The vectors and, for floats, the square of the length of each, the least and greatest."""
        vectors = matrix(arrays[0], self._path)
        if vectors.dtype == np.uint8:
            return (vectors,)
        if vectors.dtype == np.float16:
            vectors = vectors.astype(np.float32)
        with np.errstate(all="ignore"):  # damaged files have infinite numbers
            squares = np.einsum("ij,ij->i", vectors, vectors)
            return vectors, squares, np.array([squares.min(), squares.max()])

    def scorer(self, query: Vector) -> Scorer:
        of_bits = self._metric.of_bits
        return _Scorer(self._metric, query) if of_bits else _FloatScorer(self._metric, query)


class _Scorer(Scorer):
    """Compares vectors by the exact distance."""

    def __init__(self, metric: Metric, query: Vector) -> None:
        self._metric = metric
        self._query = query
        self.rows_of_part = _PART_NUMBERS // len(query)

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        return np.concatenate(
            [self._metric.exact(partition.codes[0], self._query) for partition in partitions]
        )

    def exact(
        self, partitions: Sequence[Partition], positions: npt.NDArray[np.intp], scores: Distances
    ) -> npt.NDArray[np.float32]:
        distances = np.empty(len(positions), np.float32)
        for start in range(0, len(positions), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            vectors = vectors_at(partitions, positions[some])
            distances[some] = self._metric.exact(vectors, self._query.astype(vectors.dtype))
        return distances


class _FloatScorer(_Scorer):
    """Compares vectors by products in their own precision; their lengths are known."""

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        name, dtype = self._metric.name, partitions[0].codes[0].dtype
        query = self._query.astype(dtype)
        own = float(query @ query)
        distances = np.empty(sum(len(partition.rows) for partition in partitions), dtype)
        start, largest = 0, 0.0
        for partition in partitions:
            vectors, squares, _ = partition.codes
            part = distances[start : start + len(squares)]
            # As fast as the BLAS product, without threads that wait for each other.
            np.einsum("ij,j->i", vectors, query, out=part)
            if name == "l2":
                part *= -2
                part += squares
            elif name == "cosine":
                part /= -np.sqrt(squares)
            else:
                part *= -1
            largest = max(largest, float(np.fmax.reduce(squares)))
            start += len(squares)
        distances += own if name == "l2" else 1
        rounding = sum_rounding(len(query), dtype)
        reach = {"l2": (largest**0.5 + own**0.5) ** 2, "dot": 1 + (largest * own) ** 0.5}
        self.error = max(self.error, rounding * reach.get(name, 4.0))
        return distances

    def top(self, partitions: Sequence[Partition], count: int, masks: Masks | None) -> Hits:
        """By compiled loops, if rows that these leave out cannot be among the best."""
        codes = [partition.codes[0] for partition in partitions]
        if not is_compiled() or codes[0].dtype != np.float32:
            return super().top(partitions, count, masks)
        query, rows = self._query.astype(np.float32), [partition.rows for partition in partitions]
        low, high = np.array([partition.codes[2] for partition in partitions]).T
        rounding = sum_rounding(len(query))
        score: Score = "differences" if self._metric.name == "l2" else "products"
        error = rounding * float(np.sqrt(high.max() * (query @ query)))
        if self._metric.name == "cosine":
            # Cosines are products of vectors of the length one.
            error += float(max(1 - low.min(), high.max() - 1, 0))
        bounds = (0.0, rounding) if score == "differences" else (error, 0.0)
        best = best_by_floats(codes, rows, masks, query, score, count + SPARE_ROWS)
        if best is None or not is_conclusive(best.scores, count, *bounds):
            return super().top(partitions, count, masks)
        exact = self.exact(partitions, best.positions, best.scores)
        return best_of(best.rows, exact, count, ascending=True)


def vectors_at(
    partitions: Sequence[Partition], positions: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[Any]:
    """The vectors at ``positions`` in all partitions, one after the other."""
    which, at = places_of([len(partition.rows) for partition in partitions], positions)
    return rows_at([partition.codes[0] for partition in partitions], which, at)
