"""`Shortlist`: the rows that may be among the nearest of a query, from approximate distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

HEAD = 512
"""Rows of a first block whose distances give the first limit."""

SLACK = 64
"""Rows above twice the wanted number from which a list is shortened again."""


class Shortlist:
    """For each of several queries, the rows that may be among the ``count`` nearest.

    Blocks of distances are added one after the other. Once ``count`` rows are known, a row is kept
    if it may be nearer than the worst of these, so that few of many rows are kept.
    """

    def __init__(self, num_queries: int, count: int) -> None:
        self._count = count
        self._rows = [np.empty(0, np.int64)] * num_queries
        self._distances = [np.empty(0, np.float64)] * num_queries
        self._limits = np.full(num_queries, np.inf)
        """Distances above which a row is not among the nearest, whatever the errors."""

    def add(self, distances: npt.NDArray[Any], errors: npt.NDArray[np.float64], first: int) -> None:
        """Add rows from number ``first`` on: their ``distances`` (rows) from queries (columns).

        The distances may be wrong by ``errors``, one for each query. Rows whose distance is NaN, as
        that of an infinite vector is, are kept.
        """
        unknown = np.flatnonzero(np.isinf(self._limits))
        if len(unknown) and len(distances) > self._count:
            # The first rows give a limit that is good enough, and are sorted in little time.
            head = distances[: max(HEAD, 4 * self._count), unknown]
            kth = np.partition(head, self._count - 1, axis=0)[self._count - 1]
            known = np.isfinite(kth)
            self._limits[unknown[known]] = kth[known] + 2 * errors[unknown[known]]
        limits = np.nextafter(self._limits.astype(distances.dtype), distances.dtype.type(np.inf))
        if len(self._rows) == 1:
            rows = np.flatnonzero(~(distances[:, 0] > limits[0]))
            self._append(0, rows, distances, errors, first)
            return
        rows, queries = np.nonzero(~(distances > limits))
        order = np.argsort(queries, kind="stable")
        rows, queries = rows[order], queries[order]
        cuts = np.searchsorted(queries, np.arange(len(self._rows) + 1))
        for number in np.flatnonzero(np.diff(cuts)).tolist():
            self._append(number, rows[cuts[number] : cuts[number + 1]], distances, errors, first)

    def _append(
        self,
        number: int,
        rows: npt.NDArray[np.int64],
        distances: npt.NDArray[Any],
        errors: npt.NDArray[np.float64],
        first: int,
    ) -> None:
        """Add ``rows`` of a block to the list of a query, and shorten it if it is long."""
        near = distances[rows, number].astype(np.float64)
        every = np.concatenate([self._rows[number], rows + first])
        near = np.concatenate([self._distances[number], near])
        if len(every) > 2 * self._count + SLACK:
            kth = np.partition(near, self._count - 1)[self._count - 1]
            if np.isfinite(kth):
                self._limits[number] = min(self._limits[number], kth + 2 * errors[number])
            is_near = ~(near > self._limits[number])
            every, near = every[is_near], near[is_near]
        self._rows[number], self._distances[number] = every, near

    def rows(self) -> list[npt.NDArray[np.int64]]:
        """The rows for each query, ascending."""
        return self._rows
