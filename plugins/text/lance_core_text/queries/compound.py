"""Queries of other queries: the rows of their answers, combined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.searches import Hits, RankedQuery, best_of
from lance_core_text.queries.clauses import ALL_ROWS, RoleCounts
from lance_core_text.queries.text_query import SCORE
from lance_core_text.queries.united_hits import boolean_scores, united
from lance_core_text.scoring.explanation import Explanation


class CompoundQuery(RankedQuery):
    """A query of ``parts``, which are answered with all their rows."""

    score_name = SCORE
    ascending = False
    is_final = True

    def __init__(self, parts: Sequence[RankedQuery], k: int = ALL_ROWS) -> None:
        self.parts = parts
        self.column = parts[0].column
        self.element_name = parts[0].element_name
        self.k = self.num_candidates = k

    @abstractmethod
    def with_k(self, k: int) -> RankedQuery:
        """The same query for ``k`` rows."""

    @abstractmethod
    def total(self, scores: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        """The score of each row from those of all parts, which are NaN where a part has none.

        NaN for a row that does not match.
        """

    @property
    def scored_parts(self) -> Sequence[RankedQuery]:
        """The parts that rows are returned for."""
        return self.parts

    def combined(self, hits: Sequence[Hits]) -> Hits:
        rows, elements, scores = united(hits)
        return best_of(rows, self.total(scores), self.k, ascending=False, elements=elements)

    def explained_by_parts(self, parts: Sequence[Explanation | None]) -> Explanation | None:
        """How the score of a row is computed from those of `parts`, None for one without it."""
        scores = [np.float32(np.nan if part is None else part.value) for part in parts]
        (total,) = self.total([np.array([score]) for score in scores])
        if np.isnan(total):
            return None
        details = tuple(part for part in self.explained_details(parts) if part is not None)
        return Explanation(float(total), self.explained_text, details)

    def explained_details(
        self, parts: Sequence[Explanation | None]
    ) -> Sequence[Explanation | None]:
        """What `explained_text` says, from the explanations of all parts."""
        return parts[: len(self.scored_parts)]

    @property
    @abstractmethod
    def explained_text(self) -> str:
        """How the score is computed from those of the parts."""

    def up_to(self, count: int) -> RankedQuery:
        return self.with_k(min(self.k, count))

    def best(self, values: pa.Array, count: int) -> Sequence[Hits]:
        raise NotImplementedError  # its parts are answered

    def scores(self, values: pa.Array, query: int) -> npt.NDArray[np.float32]:
        raise NotImplementedError

    def step(self, index_name: str | None) -> tuple[str, str]:
        return type(self).__name__, "; ".join(part.step(None)[1] for part in self.parts)


class BooleanTextQuery(CompoundQuery):
    """The rows of parts in any columns, by `boolean_scores`."""

    def __init__(self, parts: Sequence[RankedQuery], counts: RoleCounts, k: int = ALL_ROWS) -> None:
        super().__init__(parts, k)
        self._counts = counts

    def with_k(self, k: int) -> RankedQuery:
        return BooleanTextQuery(self.parts, self._counts, k)

    @property
    def scored_parts(self) -> Sequence[RankedQuery]:
        return self.parts[: self._counts[0] + self._counts[1]]

    @property
    def explained_text(self) -> str:
        return "sum of the clauses that match"

    def total(self, scores: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        return boolean_scores(scores, self._counts)


class BoostTextQuery(CompoundQuery):
    """The rows of the first of two parts; scores lose ``factor`` times those of the second."""

    def __init__(self, parts: Sequence[RankedQuery], factor: float, k: int = ALL_ROWS) -> None:
        super().__init__(parts, k)
        self._factor = factor

    def with_k(self, k: int) -> RankedQuery:
        return BoostTextQuery(self.parts, self._factor, k)

    @property
    def scored_parts(self) -> Sequence[RankedQuery]:
        return self.parts[:1]

    @property
    def explained_text(self) -> str:
        return "positive - negative_boost * negative"

    def explained_details(
        self, parts: Sequence[Explanation | None]
    ) -> Sequence[Explanation | None]:
        positive, negative = parts
        if negative is None:
            return [positive]
        return [positive, Explanation(self._factor, "negative_boost"), negative]

    def total(self, scores: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        positive, negative = scores
        lost = np.where(np.isnan(negative), np.float32(0), negative)
        return (positive - np.float32(self._factor) * lost).astype(np.float32)


class BestTextQuery(CompoundQuery):
    """The rows of any part, with the best of its scores."""

    def with_k(self, k: int) -> RankedQuery:
        # The best rows of all parts have those with the best scores.
        return BestTextQuery([part.up_to(k) for part in self.parts], k)

    @property
    def explained_text(self) -> str:
        return "best score of a column"

    def total(self, scores: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        best: npt.NDArray[np.float32] = np.fmax.reduce(list(scores))
        return best
