"""The best rows for several queries, by the products of their vectors with those of the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.best_rows import BestRows
from lance_core_vector.loops.library import is_compiled, native

Floats = npt.NDArray[np.float32]

_NO_MASK = np.empty(0, np.bool_)


class Block(NamedTuple):
    """Vectors, one a row, with their row numbers, and what makes scores of their products.

    The score of a row is ``added + factors * product``. ``mask``: True for rows that count.
    """

    vectors: Floats
    rows: npt.NDArray[np.uint64]
    added: Floats
    factors: Floats
    mask: npt.NDArray[np.bool_] | None = None


class BestOfQueries:
    """The ``count`` rows with the lowest scores for each of ``queries``, one a row.

    ``limits``: for each query, the score above which rows are left out; None for none.
    """

    def __init__(self, queries: Floats, count: int, limits: Floats | None = None) -> None:
        self._queries = np.ascontiguousarray(queries, np.float32)
        shape = len(queries), count
        self._limits = np.full(len(queries), np.inf, np.float32) if limits is None else limits
        self.scores = np.full(shape, np.inf, np.float32)
        self.rows = np.zeros(shape, np.uint64)
        self.positions = np.zeros(shape, np.int64)
        self.sizes = np.zeros(len(queries), np.int64)

    def offer(self, block: Block, numbers: npt.NDArray[np.int64], position: int) -> None:
        """Add rows, the first one at ``position``, for the queries ``numbers``, each once.

        NaN scores are left out.
        """
        vectors, rows, added, factors, mask = block
        queries = self._queries[numbers]
        if is_compiled():
            native.offer_batch(
                np.require(vectors, np.float32, ["C", "A"]),
                vectors.shape[1],
                queries,
                added,
                factors,
                rows,
                _NO_MASK if mask is None else mask,
                numbers,
                position,
                self._limits,
                self.scores,
                self.rows,
                self.positions,
                self.sizes,
            )
            return
        products = queries @ vectors.T
        for number, own in zip(numbers.tolist(), products, strict=True):
            size, count = int(self.sizes[number]), self.scores.shape[1]
            limit = self._limits[number]
            if size == count:
                limit = min(limit, self.scores[number].max())
            scores = added + factors * own
            near = np.flatnonzero((scores <= limit) if mask is None else (scores <= limit) & mask)
            every = np.append(self.scores[number, :size], scores[near])
            row_numbers = np.append(self.rows[number, :size], rows[near])
            positions = np.append(self.positions[number, :size], near + position)
            if len(every) > 4 * count:
                kth = np.partition(every, count - 1)[count - 1]
                some = np.flatnonzero(every <= kth)
                every, row_numbers, positions = every[some], row_numbers[some], positions[some]
            order = np.lexsort((row_numbers, every))[:count]
            size = len(order)
            self.sizes[number] = size
            self.scores[number, :size] = every[order]
            self.rows[number, :size] = row_numbers[order]
            self.positions[number, :size] = positions[order]

    def of_query(self, number: int) -> BestRows:
        """The best rows for a query."""
        some = slice(int(self.sizes[number]))
        scores, rows = self.scores[number, some], self.rows[number, some]
        order = np.lexsort((rows, scores))
        return BestRows(rows[order], scores[order], self.positions[number, some][order])
