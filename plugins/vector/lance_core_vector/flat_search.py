"""Exact search: the rows of a block of vectors among which the nearest ones of queries are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.errors import UnsupportedFeatureError
from lance_core_vector.distances import Matrix, Metric, sum_rounding
from lance_core_vector.loops.batch_scan import BestOfQueries, Block
from lance_core_vector.loops.float_scan import SPARE_ROWS, Score, best_by_floats, is_conclusive
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.loops.passes import squares_of
from lance_core_vector.loops.threads import PART_PRODUCTS, blocks_of, in_threads, parts_of
from lance_core_vector.shortlist import HEAD, Shortlist

BLOCK_BYTES = 4 << 20
"""Bytes of vectors, and of their distances, that are compared at once: they stay in the cache."""

_CACHED_BYTES = 512 << 10
"""Bytes of vectors that numpy reads twice without the memory being asked twice."""

MAX_SHORT = 1 << 12
"""Rows for each query that a heap holds; more are found by sorting."""

Rows = npt.NDArray[np.int64]

Floats = npt.NDArray[np.float32]

_SCORES: dict[str, Score] = {"l2": "differences", "cosine": "angles", "dot": "products"}


def candidates(metric: Metric, vectors: Matrix, queries: Matrix, count: int) -> list[Rows]:
    """For each of ``queries``, which are finite, rows with the ``count`` nearest among them."""
    rows_of: dict[int, Rows] = {}
    if is_compiled() and vectors.dtype == np.float32 and count <= MAX_SHORT and len(vectors):
        is_single = len(queries) == 1
        rows_of = (_of_one if is_single else _of_several)(metric.name, vectors, queries, count)
    others = [number for number in range(len(queries)) if number not in rows_of]
    if others:
        rows_of |= zip(others, _shortlisted(metric, vectors, queries[others], count), strict=True)
    return [rows_of[number] for number in range(len(queries))]


def _blocks(vectors: Matrix, num_queries: int) -> Sequence[range]:
    width = vectors.shape[1] * vectors.itemsize + 4 * num_queries
    return blocks_of(len(vectors), max(256, BLOCK_BYTES // max(1, width)))


def _shortlisted(metric: Metric, vectors: Matrix, queries: Matrix, count: int) -> Sequence[Rows]:
    shortlist = Shortlist(len(queries), count)
    for block in _blocks(vectors, len(queries)):
        distances, errors = metric.approximate(vectors[block.start : block.stop], queries)
        shortlist.add(distances, errors, block.start)
    return shortlist.rows()


def _of_one(name: str, vectors: Matrix, queries: Matrix, count: int) -> dict[int, Rows]:
    """One query: its scores are computed, and compared with the best ones, row by row."""
    (query,), score = queries, _SCORES[name]
    rows = np.arange(len(vectors), dtype=np.uint64)
    best = best_by_floats([vectors], [rows], None, query, score, count + SPARE_ROWS)
    if best is None:
        return {}
    rounding = sum_rounding(len(query))
    length = float(np.sqrt(query @ query))
    error, relative = 2 * rounding * length, 0.0
    if score == "differences":
        error, relative = 0.0, rounding
    elif score == "products":
        error = rounding * length * _longest(vectors)
    is_enough = is_conclusive(best.scores, count, error, relative)
    return {0: best.positions} if is_enough else {}


def _longest(vectors: Matrix) -> float:
    """A bound of the lengths of the vectors."""
    most = max(float(vectors.max()), -float(vectors.min()))
    return float(most * np.sqrt(vectors.shape[1]))


def _of_several(name: str, vectors: Matrix, queries: Matrix, count: int) -> dict[int, Rows]:
    """Several queries: the products of all are those of matrices, block by block."""
    compared = ComparedQueries.of(name, queries)
    near = near_rows(compared, vectors, np.full(len(queries), np.inf), count)
    if near is None:
        return {}
    order = np.argsort(near.queries, kind="stable")
    cuts = np.searchsorted(near.queries[order], np.arange(1, len(queries)))
    parts = np.split(near.positions[order], cuts)
    return {number: own for number, own in enumerate(parts) if not near.is_open[number]}


class ComparedQueries(NamedTuple):
    """Queries for the metric ``name``, one a row, and their lengths; of length one for cosine."""

    name: str
    queries: Floats
    lengths: Floats

    @classmethod
    def of(cls, name: str, queries: Floats) -> ComparedQueries:
        """``queries``, prepared."""
        lengths: Floats = np.sqrt(np.einsum("ij,ij->i", queries, queries))
        if name == "cosine":
            nonzero = np.where(lengths > 0, lengths, np.float32(np.nan))
            queries = (queries / nonzero[:, None]).astype(np.float32, copy=False)
        return cls(name, queries, lengths)

    def errors(self, longest: float) -> npt.NDArray[np.float64]:
        """By how much scores of vectors up to the length ``longest`` may be wrong."""
        return rounding_errors(self.name, longest, self.lengths, self.queries.shape[1])


class NearRows(NamedTuple):
    """Rows that may be among the nearest of queries: the query, the score and the position of each.

    ``is_open``: True for queries of which rows may be missing. ``longest``: a bound of the lengths
    of all vectors.
    """

    queries: npt.NDArray[np.intp]
    scores: Floats
    positions: Rows
    is_open: npt.NDArray[np.bool_]
    longest: float


def near_rows(
    compared: ComparedQueries, vectors: Floats, limits: npt.NDArray[np.float64], count: int
) -> NearRows | None:
    """The rows of ``vectors`` that may be among the ``count`` nearest of queries.

    Rows with a score above the ``limits`` of queries are left out. None for vectors that are too
    long, or not finite.
    """
    highest = np.nextafter(limits.astype(np.float32), np.float32(np.inf))

    def search(some: range) -> NearRows:
        block, start = vectors[some.start : some.stop], some.start
        if is_compiled():
            squares, products = squares_of(block), None
        else:
            products, squares = _products_and_squares(block, compared.queries)
        longest = float(squares.max(initial=0)) ** 0.5
        arguments = terms(compared.name, squares), highest, count, longest
        if products is None:
            near = _near_by_heaps(compared, block, *arguments)
        else:
            near = _near_by_limits(compared, products, *arguments)
        return near._replace(positions=near.positions + start)

    if is_compiled():
        products = len(compared.queries) * vectors.shape[1]
        parts = parts_of(len(vectors), PART_PRODUCTS // max(1, products))
    else:
        parts = _blocks(vectors, len(compared.queries))
    queries, scores, positions, is_open, longest = zip(*in_threads(search, parts), strict=True)
    if not np.isfinite(longest).all():
        return None
    return NearRows(
        np.concatenate(queries),
        np.concatenate(scores),
        np.concatenate(positions),
        np.any(is_open, axis=0),
        max(longest),
    )


def _near_by_heaps(
    compared: ComparedQueries,
    vectors: Floats,
    each: Terms,
    highest: Floats,
    count: int,
    longest: float,
) -> NearRows:
    """By a heap for each query: it has some rows more than are wanted, since scores are rounded."""
    capacity = min(count + SPARE_ROWS, len(vectors) + 1)  # never full with all rows
    best = BestOfQueries(compared.queries, capacity, highest)
    rows = np.arange(len(vectors), dtype=np.uint64)
    best.offer(Block(vectors, rows, *each), np.arange(len(compared.queries)), 0)
    there = np.arange(capacity) < best.sizes[:, None]
    is_open = best.sizes == capacity
    if is_open.any():
        own = best.scores[is_open].astype(np.float64)
        last = np.partition(own, count - 1, axis=1)[:, count - 1]
        errors = compared.errors(longest)[is_open]
        is_open[is_open] = ~(own.max(axis=1) - last > 2 * errors)
    owners = np.nonzero(there)[0]
    return NearRows(owners, best.scores[there], best.positions[there], is_open, longest)


def _products_and_squares(vectors: Floats, queries: Floats) -> tuple[Floats, Floats]:
    """The products of vectors (rows) with queries (columns), and the squares of the vectors."""
    if len(queries) > 1:
        return vectors @ queries.T, squares_of(vectors)
    # The product of a matrix and a vector is faster, and takes as long as reading the vectors does.
    products, squares = np.empty((len(vectors), 1), np.float32), np.empty(len(vectors), np.float32)
    for part in blocks_of(len(vectors), max(1, _CACHED_BYTES // (4 * vectors.shape[1]))):
        some = slice(part.start, part.stop)
        np.dot(vectors[some], queries[0], out=products[some, 0])
        squares[some] = squares_of(vectors[some])
    return products, squares


def _near_by_limits(
    compared: ComparedQueries,
    products: Floats,
    each: Terms,
    highest: Floats,
    count: int,
    longest: float,
) -> NearRows:
    """All rows up to the limits; where there is none yet, the first rows give one."""
    scores = products
    scores *= each.factors[:, None]
    scores += each.added[:, None]
    unknown = np.flatnonzero(np.isinf(highest))
    if len(unknown) and len(scores) > count:
        head = scores[: max(HEAD, 4 * count), unknown]
        last = np.partition(head, count - 1, axis=0)[count - 1]
        errors = compared.errors(longest)[unknown]
        highest = highest.copy()
        highest[unknown] = np.nextafter((last + 2 * errors).astype(np.float32), np.float32(np.inf))
        highest[np.isnan(highest)] = np.inf
    positions, queries = np.nonzero(scores <= highest)
    is_open = np.zeros(len(compared.queries), np.bool_)
    return NearRows(queries, scores[positions, queries], positions, is_open, longest)


class Terms(NamedTuple):
    """What makes scores of products, for each row: ``added + factors * product``."""

    added: Floats
    factors: Floats


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
    rounding = sum_rounding(width)
    match name:
        case "l2":
            return rounding * (longest + lengths.astype(np.float64)) ** 2
        case "dot":
            return rounding * longest * lengths.astype(np.float64)
        case "cosine":
            return np.full(len(lengths), 4 * rounding)
    raise UnsupportedFeatureError(f"scores of the metric {name}")
