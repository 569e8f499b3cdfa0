"""The best rows for several queries, from the products of their vectors with those of the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.best_rows import BestRows
from lance_core_vector.loops.library import is_compiled, native

Floats = npt.NDArray[np.float32]

_NO_MASK = np.empty(0, np.bool_)


class Terms(NamedTuple):
    """What makes scores of products, for each row: ``added + factors * product``."""

    added: Floats
    factors: Floats


class BestOfQueries:
    """The ``count`` rows with the lowest scores for each of several queries."""

    def __init__(self, num_queries: int, count: int) -> None:
        self._scores = np.full((num_queries, count), np.inf, np.float32)
        self._rows = np.zeros((num_queries, count), np.uint64)
        self._positions = np.zeros((num_queries, count), np.int64)
        self._sizes = np.zeros(num_queries, np.int64)

    def offer(
        self,
        products: Floats,
        terms: Terms,
        rows: npt.NDArray[np.uint64],
        mask: npt.NDArray[np.bool_] | None,
        queries: npt.NDArray[np.int64],
        position: int,
    ) -> None:
        """Add rows, the first one at ``position``; NaN scores are left out.

        ``products``: of vectors (columns) and ``queries`` (rows), which are numbers of queries.
        ``mask``: True for rows that count.
        """
        if is_compiled():
            mine = self._scores, self._rows, self._positions, self._sizes
            mask = _NO_MASK if mask is None else mask
            native.offer_batch(products, *terms, rows, mask, queries, position, *mine)
            return
        for number, own in zip(queries.tolist(), products, strict=True):
            size, count = int(self._sizes[number]), self._scores.shape[1]
            limit = self._scores[number].max() if size == count else np.float32(np.inf)
            scores = terms.added + terms.factors * own
            near = np.flatnonzero((scores <= limit) if mask is None else (scores <= limit) & mask)
            every = np.append(self._scores[number, :size], scores[near])
            numbers = np.append(self._rows[number, :size], rows[near])
            places = np.append(self._positions[number, :size], near + position)
            if len(every) > 4 * count:
                kth = np.partition(every, count - 1)[count - 1]
                some = np.flatnonzero(every <= kth)
                every, numbers, places = every[some], numbers[some], places[some]
            order = np.lexsort((numbers, every))[:count]
            size = len(order)
            self._sizes[number] = size
            self._scores[number, :size] = every[order]
            self._rows[number, :size] = numbers[order]
            self._positions[number, :size] = places[order]

    def found(self, number: int) -> BestRows:
        """The best rows for a query."""
        some = slice(int(self._sizes[number]))
        scores, rows = self._scores[number, some], self._rows[number, some]
        order = np.lexsort((rows, scores))
        return BestRows(rows[order], scores[order], self._positions[number, some][order])
