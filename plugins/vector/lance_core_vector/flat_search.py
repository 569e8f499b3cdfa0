"""Exact search: the rows of a block of vectors among which the nearest ones of queries are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lance_core.errors import UnsupportedFeatureError
from lance_core_vector.loops.batch_scan import BestOfQueries, Terms
from lance_core_vector.loops.float_scan import SPARE_ROWS, Score, best_by_floats, is_conclusive
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.shortlist import Shortlist

if TYPE_CHECKING:
    from lance_core_vector.distances import Matrix, Metric

BLOCK_BYTES = 4 << 20
"""Bytes of vectors, and of their distances, that are compared at once: they stay in the cache."""

MAX_SHORT = 1 << 12
"""Rows for each query that a heap holds; more are found by sorting."""

Rows = npt.NDArray[np.int64]

_SCORES: dict[str, Score] = {"l2": "differences", "cosine": "angles", "dot": "products"}


def candidates(metric: Metric, vectors: Matrix, queries: Matrix, count: int) -> list[Rows]:
    """For each of ``queries``, which are finite, rows with the ``count`` nearest among them."""
    found: dict[int, Rows] = {}
    if is_compiled() and vectors.dtype == np.float32 and count <= MAX_SHORT and len(vectors):
        one = len(queries) == 1
        found = (_of_one if one else _of_several)(metric.name, vectors, queries, count)
    others = [number for number in range(len(queries)) if number not in found]
    if others:
        found |= zip(others, _shortlisted(metric, vectors, queries[others], count), strict=True)
    return [found[number] for number in range(len(queries))]


def _blocks(vectors: Matrix, num_queries: int) -> range:
    width = vectors.shape[1] * vectors.itemsize + 4 * num_queries
    return range(0, len(vectors), max(256, BLOCK_BYTES // max(1, width)))


def _shortlisted(metric: Metric, vectors: Matrix, queries: Matrix, count: int) -> Sequence[Rows]:
    shortlist = Shortlist(len(queries), count)
    blocks = _blocks(vectors, len(queries))
    for start in blocks:
        distances, errors = metric.approximate(vectors[start : start + blocks.step], queries)
        shortlist.add(distances, errors, start)
    return shortlist.rows()


def _of_one(name: str, vectors: Matrix, queries: Matrix, count: int) -> dict[int, Rows]:
    """One query: its scores are computed, and compared with the best ones, row by row."""
    (query,), kind = queries, _SCORES[name]
    rows = np.arange(len(vectors), dtype=np.uint64)
    found = best_by_floats([vectors], [rows], None, query, kind, count + SPARE_ROWS)
    if found is None:
        return {}
    rounding = (len(query) + 8) * float(np.finfo(np.float32).eps)
    length = float(np.sqrt(query @ query))
    error, relative = 2 * rounding * length, 0.0
    if kind == "differences":
        error, relative = 0.0, rounding
    elif kind == "products":
        error = rounding * length * _longest(vectors)
    is_enough = is_conclusive(found.scores, count, error, relative)
    return {0: found.positions} if is_enough else {}


def _longest(vectors: Matrix) -> float:
    """A bound of the lengths of the vectors."""
    most = max(float(vectors.max()), -float(vectors.min()))
    return float(most * np.sqrt(vectors.shape[1]))


def _of_several(name: str, vectors: Matrix, queries: Matrix, count: int) -> dict[int, Rows]:
    """Several queries: the products of all are one of matrices, block by block."""
    best = BestOfQueries(len(queries), count + SPARE_ROWS)
    numbers, longest = np.arange(len(queries)), 0.0
    lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries))
    if name == "cosine":
        queries = queries / np.where(lengths > 0, lengths, np.nan)[:, None]
    blocks = _blocks(vectors, len(queries))
    for start in blocks:
        block = vectors[start : start + blocks.step]
        squares = np.einsum("ij,ij->i", block, block)
        longest = max(longest, float(squares.max()) ** 0.5)
        if not np.isfinite(longest):
            return {}
        rows = np.arange(start, start + len(block), dtype=np.uint64)
        best.offer(queries @ block.T, terms(name, squares), rows, None, numbers, start)
    errors = rounding_errors(name, longest, lengths, vectors.shape[1])
    found = {}
    for number, error in enumerate(errors.tolist()):
        near = best.found(number)
        if is_conclusive(near.scores, count, error):
            found[number] = near.positions
    return found


def terms(name: str, squares: npt.NDArray[np.float32]) -> Terms:
    """The terms of the scores of a metric.

    ``squares``: of the lengths of vectors. The score of l2 lacks the square of the query; queries
    have the length one for cosine. Raises UnsupportedFeatureError for other metrics.
    """
    zeros = np.zeros(len(squares), np.float32)
    match name:
        case "l2":
            return Terms(squares, np.full(len(squares), -2, np.float32))
        case "dot":
            return Terms(zeros, np.full(len(squares), -1, np.float32))
        case "cosine":
            with np.errstate(divide="ignore"):
                factors = np.where(squares > 0, -1 / np.sqrt(squares), np.float32(np.nan))
            return Terms(zeros, factors)
    raise UnsupportedFeatureError(f"scores of the metric {name}")


def rounding_errors(
    name: str, longest: float, lengths: npt.NDArray[Any], width: int
) -> npt.NDArray[np.float64]:
    """By how much scores may be wrong, for queries with ``lengths``.

    Raises UnsupportedFeatureError for metrics without `terms`.
    """
    rounding = (width + 8) * float(np.finfo(np.float32).eps)
    match name:
        case "l2":
            return rounding * (longest + lengths.astype(np.float64)) ** 2
        case "dot":
            return rounding * longest * lengths.astype(np.float64)
        case "cosine":
            return np.full(len(lengths), 4 * rounding)
    raise UnsupportedFeatureError(f"scores of the metric {name}")
