"""The distances between vectors: squared Euclidean (l2), cosine, dot product and Hamming.

Ranking many vectors takes matrix products in 32 bits, whose errors `Metric.error` bounds; the
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

Scores: TypeAlias = npt.NDArray[np.float32]


class Metric(ABC):
    """A distance between the rows of two matrices of equally many columns."""

    name: str
    of_bits = False
    """True for vectors of bytes, False for vectors of floats."""

    @abstractmethod
    def approximate(self, vectors: Matrix, queries: Matrix) -> Distances:
        """The distances of all ``vectors`` (rows) from all ``queries`` (columns); NaN for none."""

    @abstractmethod
    def error(self, vectors: Matrix, queries: Matrix) -> npt.NDArray[np.float64]:
        """For each query, the most by which `approximate` may be wrong."""

    @abstractmethod
    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        """The distances of ``vectors`` from one query; NaN for vectors without a distance."""


class L2(Metric):
    """The squared Euclidean distance."""

    name = "l2"

    def approximate(self, vectors: Matrix, queries: Matrix) -> Distances:
        squares = np.einsum("ij,ij->i", vectors, vectors)
        found: Distances = vectors @ queries.T
        found *= -2
        found += squares[:, None]
        found += np.einsum("ij,ij->i", queries, queries)
        return found

    def error(self, vectors: Matrix, queries: Matrix) -> npt.NDArray[np.float64]:
        return _rounding(vectors) * (_largest(vectors) + _lengths(queries)) ** 2

    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        differences = vectors.astype(np.float64) - query.astype(np.float64)
        found: Scores = np.einsum("ij,ij->i", differences, differences).astype(np.float32)
        return found


class Cosine(Metric):
    """One minus the cosine of the angle; vectors of zeros have none."""

    name = "cosine"

    def approximate(self, vectors: Matrix, queries: Matrix) -> Distances:
        found: Distances = vectors @ queries.T
        found /= _nonzero(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))[:, None]
        found /= _nonzero(np.sqrt(np.einsum("ij,ij->i", queries, queries)))
        found *= -1
        found += 1
        return found

    def error(self, vectors: Matrix, queries: Matrix) -> npt.NDArray[np.float64]:
        return np.full(len(queries), 4 * _rounding(vectors))

    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        wide, own = vectors.astype(np.float64), query.astype(np.float64)
        lengths = _nonzero(np.sqrt(np.einsum("ij,ij->i", wide, wide)))
        own = own / _nonzero(np.sqrt(own @ own))
        found: Scores = (1 - np.einsum("ij,j->i", wide, own) / lengths).astype(np.float32)
        return found


class Dot(Metric):
    """One minus the dot product."""

    name = "dot"

    def approximate(self, vectors: Matrix, queries: Matrix) -> Distances:
        found: Distances = vectors @ queries.T
        found *= -1
        found += 1
        return found

    def error(self, vectors: Matrix, queries: Matrix) -> npt.NDArray[np.float64]:
        return _rounding(vectors) * (1 + _largest(vectors) * _lengths(queries))

    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        products = np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64))
        found: Scores = (1 - products).astype(np.float32)
        return found


class Hamming(Metric):
    """The number of different bits of vectors of bytes."""

    name = "hamming"
    of_bits = True

    def approximate(self, vectors: Matrix, queries: Matrix) -> Distances:
        return np.stack([self.exact(vectors, query) for query in queries], axis=1)

    def error(self, vectors: Matrix, queries: Matrix) -> npt.NDArray[np.float64]:
        return np.zeros(len(queries))

    def exact(self, vectors: Matrix, query: Matrix) -> Scores:
        found: Scores = _BITS[vectors ^ query].sum(axis=1, dtype=np.int64).astype(np.float32)
        return found


METRICS: dict[str, Metric] = {metric.name: metric for metric in (L2(), Cosine(), Dot(), Hamming())}
"""The metrics by name; ``euclidean`` is another name of l2."""
METRICS["euclidean"] = METRICS["l2"]

_BITS = np.array([bin(value).count("1") for value in range(256)], np.uint8)


def _nonzero(lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``lengths`` with NaN instead of zeros."""
    return np.where(lengths > 0, lengths, np.nan)


def _rounding(vectors: Matrix) -> float:
    """A bound of the relative error of a sum of products of as many numbers as a vector has."""
    return float((vectors.shape[1] + 8) * np.finfo(vectors.dtype).eps)


def _lengths(vectors: Matrix) -> npt.NDArray[np.float64]:
    wide = vectors.astype(np.float64)
    found: npt.NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return found


def _largest(vectors: Matrix) -> float:
    """The length of the longest vector, or a little more; 0 if all are NaN."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    finite = squares[np.isfinite(squares)]
    return float(np.sqrt(finite.max())) * 1.001 if len(finite) else 0.0
