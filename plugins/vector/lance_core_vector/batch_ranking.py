"""`BatchRanking`: the nearest rows for queries, of vectors that come window by window.

The distances of all rows are rounded. Rows that may be among the nearest, whatever the rounding,
wait with their vectors, and only at the end the exact distances of these are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.searches import Hits, best_of, merged
from lance_core_vector.flat_search import ComparedQueries, NearRows, near_rows
from lance_core_vector.vectors import Vectors

if TYPE_CHECKING:
    from lance_core_vector.distances import Matrix, Metric

Floats = npt.NDArray[np.float32]

MAX_WAITING_BYTES = 128 << 20
"""Bytes of vectors that wait; above, their exact distances are computed."""

SPARE_VECTORS = 4096
"""Vectors beyond twice the waiting ones that are kept before those that wait are copied."""


class RowRules(NamedTuple):
    """``accepts``: which distances results may have. ``best``: ranks values by nothing else."""

    accepts: Callable[[Floats], npt.NDArray[np.bool_]]
    best: Callable[[pa.Array, int], Sequence[Hits]]


class _Waiting(NamedTuple):
    """Rows that may be among the nearest of a query each.

    The number of the query, the rounded score, the number of the row, and where its vector is.
    """

    queries: npt.NDArray[np.intp]
    scores: Floats
    rows: npt.NDArray[Any]
    vector_indices: npt.NDArray[np.intp]

    def at(self, which: npt.NDArray[Any]) -> _Waiting:
        return _Waiting(*(field[which] for field in self))

    def and_others(self, others: _Waiting) -> _Waiting:
        pairs: list[Any] = [*zip(self, others, strict=True)]
        return _Waiting(*map(np.concatenate, pairs))


_NONE = _Waiting(
    np.empty(0, np.intp), np.empty(0, np.float32), np.empty(0, np.uint64), np.empty(0, np.intp)
)


class BatchRanking:
    """The ``count`` nearest rows for each of ``queries``: finite numbers, one query a row."""

    def __init__(self, metric: Metric, queries: Matrix, count: int, rules: RowRules) -> None:
        self._metric, self._count, self._rules = metric, count, rules
        self._queries = queries.astype(np.float32)
        self._compared = ComparedQueries.of(metric.name, self._queries)
        self._limits = np.full(len(queries), np.inf)
        """Scores above which a row is not among the nearest, whatever the errors."""
        self._longest = 0.0
        self._waiting = _NONE
        self._vectors = [np.empty((0, queries.shape[1]), np.float32)]
        self._hits: list[list[Hits]] = [[] for _ in queries]

    def add(self, values: pa.Array, rows: npt.NDArray[Any]) -> None:
        """Add ``rows``, which have these values."""
        vectors = Vectors.of(values)
        near = None
        with np.errstate(all="ignore"):  # infinite numbers are left to others
            if vectors.matrix.dtype == np.float32:
                near = near_rows(self._compared, vectors.matrix, self._limits, self._count)
            if near is None:
                self._add_hits(range(len(self._queries)), values, rows)
                return
            if near.is_open.any():
                self._add_hits(np.flatnonzero(near.is_open).tolist(), values, rows)
            own = rows if vectors.rows is None else rows[vectors.rows]
            self._add_near(near, own, vectors.matrix)

    def hits(self) -> list[Hits]:
        """The nearest of the rows for each query. It is called once, at the end."""
        self._settle()
        return [merged(some, self._count, ascending=True) for some in self._hits]

    def _add_hits(self, numbers: Sequence[int], values: pa.Array, rows: npt.NDArray[Any]) -> None:
        """Rank values for the queries ``numbers`` by themselves."""
        answers = self._rules.best(values, self._count)
        for number in numbers:
            hits = answers[number]
            self._hits[number].append(Hits(rows[hits.rows], hits.scores))

    def _add_near(self, near: NearRows, rows: npt.NDArray[Any], matrix: Floats) -> None:
        """Let near rows wait, but for the open queries; ``matrix`` has the vector of each."""
        self._longest = max(self._longest, near.longest)
        closed = ~near.is_open[near.queries]
        positions = near.positions[closed]
        new = _Waiting(near.queries[closed], near.scores[closed], rows[positions], positions)
        stored = sum(len(block) for block in self._vectors)
        self._set_limits(self._waiting.and_others(new))
        new = new.at(new.scores <= self._limits[new.queries])
        old = self._waiting.at(self._waiting.scores <= self._limits[self._waiting.queries])
        positions, inverse = np.unique(new.vector_indices, return_inverse=True)
        self._vectors.append(matrix[positions])
        self._waiting = old.and_others(new._replace(vector_indices=inverse.reshape(-1) + stored))
        if stored + len(positions) > 2 * len(self._waiting.rows) + SPARE_VECTORS:
            used, inverse = np.unique(self._waiting.vector_indices, return_inverse=True)
            self._vectors = [np.concatenate(self._vectors)[used]]
            self._waiting = self._waiting._replace(vector_indices=inverse.reshape(-1))
        if sum(block.nbytes for block in self._vectors) > MAX_WAITING_BYTES:
            self._settle()

    def _set_limits(self, every: _Waiting) -> None:
        """Set the limits by the scores of ``every`` row that waits."""
        order = np.lexsort((every.scores, every.queries))
        numbers = np.arange(len(self._queries))
        starts, stops = (
            np.searchsorted(every.queries[order], numbers, side=side) for side in ("left", "right")
        )
        known = stops - starts >= self._count
        last = every.scores[order[starts[known] + self._count - 1]].astype(np.float64)
        limits = last + 2 * self._compared.errors(self._longest)[known]
        self._limits[known] = np.minimum(self._limits[known], limits)

    def _settle(self) -> None:
        """Compute the exact distances of the rows that wait."""
        waiting, vectors = self._waiting, np.concatenate(self._vectors)
        order = np.argsort(waiting.queries, kind="stable")
        starts = np.searchsorted(waiting.queries[order], np.arange(len(self._queries) + 1))
        self._waiting, self._vectors = _NONE, [vectors[:0]]
        for number in np.flatnonzero(np.diff(starts)).tolist():
            mine = waiting.at(order[starts[number] : starts[number + 1]])
            with np.errstate(all="ignore"):
                exact = self._metric.exact(vectors[mine.vector_indices], self._queries[number])
            some = self._rules.accepts(exact)
            hits = best_of(mine.rows[some], exact[some], self._count, ascending=True)
            self._hits[number].append(hits)
