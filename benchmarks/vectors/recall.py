"""The share of the nearest rows that an answer has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.vectors.vector_sets import Floats, VectorSet

TOLERANCE = 1e-5
"""A row counts as one of the nearest if it is farther than the last of them by no more than this
share: exact distances are rounded, too."""

BLOCK_QUERIES = 100
"""Queries whose distances from all vectors are in memory at once."""

Distances = npt.NDArray[np.float64]


class ExactRows:
    """The nearest of the vectors of a set for its queries.

    ``places``: a number for each row, by which filters choose rows.
    """

    def __init__(self, vector_set: VectorSet, places: npt.NDArray[np.int64]) -> None:
        self._set = vector_set
        self._places = places
        self._lengths = np.linalg.norm(vector_set.vectors, axis=1)
        self._last: dict[tuple[int, int], Distances] = {}

    def recall(self, rows: npt.NDArray[np.int64], limit: int) -> float:
        """The recall of ``rows``, one line for each query, among rows whose place is < ``limit``.

        These are the first queries, at most as many as there are. A row number of -1 is no row.
        """
        key = limit, rows.shape[1]
        if key not in self._last:
            self._last[key] = self._last_distances(*key)
        count = 0
        for query, returned, last in zip(self._set.queries, rows, self._last[key], strict=False):
            own = returned[(returned >= 0) & (self._places[returned] < limit)]
            count += int((self._exact(query, own) <= last + TOLERANCE * abs(last)).sum())
        return count / rows.size

    def _last_distances(self, limit: int, k: int) -> Distances:
        """The distance of the last of the ``k`` nearest rows of each query."""
        allowed = np.flatnonzero(self._places < limit)
        last = []
        for start in range(0, len(self._set.queries), BLOCK_QUERIES):
            queries = self._set.queries[start : start + BLOCK_QUERIES]
            scores = queries @ self._set.vectors.T
            if self._set.metric == "cosine":
                scores /= -self._lengths
            else:
                scores = self._lengths**2 - 2 * scores
            nearest = allowed[np.argpartition(scores[:, allowed], k - 1, axis=1)[:, :k]]
            last += [self._exact(*pair).max() for pair in zip(queries, nearest, strict=True)]
        return np.array(last)

    def _exact(self, query: Floats, rows: npt.NDArray[np.int64]) -> Distances:
        """The distances of ``rows`` from a query."""
        vectors, query = self._set.vectors[rows].astype(np.float64), query.astype(np.float64)
        distances: Distances
        if self._set.metric == "cosine":
            lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
            distances = 1 - vectors @ query / lengths
        else:
            distances = np.square(vectors - query).sum(axis=1)
        return distances
