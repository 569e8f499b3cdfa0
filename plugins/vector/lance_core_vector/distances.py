"""The distances between vectors: squared Euclidean (l2), cosine, dot product and Hamming.

Ranking many vectors takes matrix products in 32 bits, whose errors `Metric.approximate` bounds; the
distances of results are computed in 64 bits by `Metric.exact`, by the same rule wherever a vector
comes from. Smaller is nearer for all: cosine is ``1 - cos``, dot is ``1 - x·q``, as in pylance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Matrix: TypeAlias = npt.NDArray[Any]
"""Vectors, one a row: float16, float32, float64, or uint8 for `Hamming`."""

Distances: TypeAlias = npt.NDArray[Any]
"""One row for each vector, one column for each query."""

Errors: TypeAlias = npt.NDArray[np.float64]

Scores: TypeAlias = npt.NDArray[np.float32]


class Metric(ABC):
    """A distance between the rows of two matrices of equally many columns."""

    name: str
    of_bits = False
    """True for vectors of bytes, False for vectors of floats."""

    @abstractmethod
    def approximate(self, vectors: Matrix, queries: Matrix) -> tuple[Distances, Errors]:
        """The distances of all ``vectors`` (rows) from all ``queries`` (columns); NaN for none.

        Also, for each query, the most by which its distances may be wrong.
        """

    @abstractmethod
    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        """The distances of ``vectors`` from one query; NaN for vectors without a distance."""


class L2(Metric):
    """The squared Euclidean distance."""

    name = "l2"

    def approximate(self, vectors: Matrix, queries: Matrix) -> tuple[Distances, Errors]:
        squares, own = _squares(vectors), _squares(queries)
        distances = _products(vectors, queries)
        distances *= -2
        distances += squares[:, None]
        distances += own
        return distances, sum_rounding(vectors.shape[1], vectors.dtype) * (
            _largest(squares) + np.sqrt(own)
        ) ** 2

    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        differences = vectors.astype(np.float64) - query.astype(np.float64)
        scores: Scores = _squares(differences).astype(np.float32)
        return scores


class Cosine(Metric):
    """One minus the cosine of the angle; vectors of zeros have none."""

    name = "cosine"

    def approximate(self, vectors: Matrix, queries: Matrix) -> tuple[Distances, Errors]:
        distances = _products(vectors, queries)
        distances /= _nonzero(np.sqrt(_squares(vectors)))[:, None]
        distances /= -_nonzero(np.sqrt(_squares(queries)))
        distances += 1
        return distances, np.full(len(queries), 4 * sum_rounding(vectors.shape[1], vectors.dtype))

    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        wide, own = vectors.astype(np.float64), query.astype(np.float64)
        lengths = _nonzero(np.sqrt(_squares(wide)))
        own = own / _nonzero(np.sqrt(own @ own))
        scores: Scores = (1 - np.einsum("ij,j->i", wide, own) / lengths).astype(np.float32)
        return scores


class Dot(Metric):
    """One minus the dot product."""

    name = "dot"

    def approximate(self, vectors: Matrix, queries: Matrix) -> tuple[Distances, Errors]:
        distances = _products(vectors, queries)
        distances *= -1
        distances += 1
        # A bound of the length of all vectors takes half the time of the lengths.
        finite = (
            vectors if np.isfinite(distances).all() else vectors[np.isfinite(vectors).all(axis=1)]
        )
        bound = max(finite.max(initial=0), -finite.min(initial=0)) * np.sqrt(vectors.shape[1])
        return distances, sum_rounding(vectors.shape[1], vectors.dtype) * (
            1 + float(bound) * np.sqrt(_squares(queries))
        )

    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        products = np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64))
        scores: Scores = (1 - products).astype(np.float32)
        return scores


class Hamming(Metric):
    """The number of different bits of vectors of bytes."""

    name = "hamming"
    of_bits = True

    def approximate(self, vectors: Matrix, queries: Matrix) -> tuple[Distances, Errors]:
        distances = np.stack([self.exact(vectors, query) for query in queries], axis=1)
        return distances, np.zeros(len(queries))

    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        scores: Scores = _BITS[vectors ^ query].sum(axis=1, dtype=np.int64).astype(np.float32)
        return scores


METRICS: dict[str, Metric] = {metric.name: metric for metric in (L2(), Cosine(), Dot(), Hamming())}
"""The metrics by name; ``euclidean`` is another name of l2."""
METRICS["euclidean"] = METRICS["l2"]

STORED_METRICS = ("l2", "cosine", "dot", "hamming")
"""The metrics by their numbers in ``VectorIndexDetails``."""

_BITS = np.array([bin(value).count("1") for value in range(256)], np.uint8)


def _nonzero(lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``lengths`` with NaN instead of zeros."""
    return np.where(lengths > 0, lengths, np.nan)


def _products(vectors: Matrix, queries: Matrix) -> Distances:
    """The dot products; of one query by the product of a matrix and a vector, which is faster."""
    products: Distances
    products = (vectors @ queries[0])[:, None] if len(queries) == 1 else vectors @ queries.T
    return products


def _squares(vectors: Matrix) -> npt.NDArray[Any]:
    """The squared length of each vector."""
    squares: npt.NDArray[Any] = np.einsum("ij,ij->i", vectors, vectors)
    return squares


def sum_rounding(width: int, dtype: npt.DTypeLike = np.float32) -> float:
    """A bound of the relative error of a sum of ``width`` products of numbers of ``dtype``."""
    return (width + 8) * float(np.finfo(dtype).eps)


def _largest(squares: npt.NDArray[Any]) -> float:
    """The greatest of the lengths with these squares, or a little more; 0 if none is finite."""
    most = squares.max(initial=0)
    if not np.isfinite(most):
        finite = squares[np.isfinite(squares)]
        most = finite.max(initial=0)
    return float(np.sqrt(most)) * 1.001
