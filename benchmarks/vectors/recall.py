"""The share of the nearest rows that an answer has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.vectors.vector_sets import VectorSet

TOLERANCE = 1e-5
"""A row counts as one of the nearest if it is farther than the last of them by no more than this
share: exact distances are rounded, too."""


class ExactRows:
    """The exact distances of the first ``count`` queries of a set from all vectors.

    ``places``: a number for each row, by which filters choose rows.
    """

    def __init__(self, vector_set: VectorSet, places: npt.NDArray[np.int64], count: int) -> None:
        vectors, queries = vector_set.vectors, vector_set.queries[:count]
        self._places = places
        products = queries @ vectors.T
        if vector_set.metric == "cosine":
            lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(vectors, axis=1)
            self._distances = 1 - products / lengths
        else:
            squares = np.square(vectors).sum(axis=1)
            self._distances = squares - 2 * products + np.square(queries).sum(axis=1)[:, None]

    def recall(self, rows: npt.NDArray[np.int64], limit: int) -> float:
        """The recall of ``rows``, one line for each query, among rows whose place is < ``limit``.

        These are the first queries, at most as many as there are. A row number of -1 is no row.
        """
        k, count = rows.shape[1], 0
        is_allowed = self._places < limit
        for returned, distances in zip(rows, self._distances, strict=False):
            last = np.partition(distances[is_allowed], k - 1)[k - 1]
            own = returned[returned >= 0]
            is_near = distances[own] <= last + TOLERANCE * abs(last)
            count += int((is_near & is_allowed[own]).sum())
        return count / rows.size
