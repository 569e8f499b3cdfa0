"""`TextQuery`: words or a phrase in one column, ranked by BM25."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import IndexWarning, InvalidInputError
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.indices import OpenIndex
from lance_core.hookspecs.searches import Hits, RankedQuery, ValueRanking
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.inverted_index import InvertedIndex
from lance_core_text.postings.partition import Partition
from lance_core_text.queries.words import TextMatch, Word
from lance_core_text.scoring.bm25 import NO_STATISTICS, Floats, Statistics
from lance_core_text.scoring.score_partition import Scored, score_partition
from lance_core_text.scoring.score_values import TextRanking

SCORE = "_score"

ALL_ROWS = 1 << 62
"""The ``k`` of queries without a limit."""

UNINDEXED = TextParameters(
    stem=False,
    lower_case=False,
    remove_stop_words=False,
    ascii_folding=False,
    max_token_length=None,
)
"""How texts are split if no index of the column says it; pylance has the same rule."""


class TextQuery(RankedQuery):
    """What ``match`` says, as an index with ``parameters`` has the terms.

    ``statistics``: those of the index that answers, None before there is one. ``words``: those of
    ``match`` with terms of the index that are near them.
    """

    score_name = SCORE
    ascending = False
    is_final = True

    def __init__(
        self,
        match: TextMatch,
        parameters: TextParameters = UNINDEXED,
        statistics: Statistics | None = None,
        k: int = ALL_ROWS,
        words: tuple[Word, ...] | None = None,
    ) -> None:
        self.match = match
        self.parameters = parameters
        self.column = match.column
        self.k = self.num_candidates = k
        self._statistics = statistics
        self._words = words

    @property
    def statistics(self) -> Statistics:
        """Those of all segments of the index; none without an index."""
        return self._statistics or NO_STATISTICS

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The words of the query. Raises `PluginNotFoundError` if the analyzer is missing."""
        return self.match.words(self.parameters) if self._words is None else self._words

    def score(self, partition: Partition, norms: Floats) -> Scored:
        """The documents of a partition of an index that match, with their scores."""
        return score_partition(partition, self.match, self.words, self.statistics, norms)

    def for_index(self, index: OpenIndex) -> RankedQuery | None:
        if not isinstance(index, InvertedIndex):
            return None
        if self._statistics is not None:  # of a further segment
            return self if index.text_parameters == self.parameters else None
        return TextQuery(self.match, index.text_parameters, NO_STATISTICS, self.k)

    def with_segments(self, segments: Sequence[OpenIndex]) -> RankedQuery:
        indices = [segment for segment in segments if isinstance(segment, InvertedIndex)]
        words = self.words
        if self.match.fuzziness is not None:
            partitions = [partition for index in indices for partition in index.partitions]
            words = self.match.expanded(words, [one.vocabulary for one in partitions])
        terms = {term for word in words for term in word.terms}
        statistics = NO_STATISTICS
        for segment in indices:
            if self.match.slop is not None and not segment.has_positions:
                raise InvalidInputError(
                    f"a phrase is searched in column {self.column!r}, whose index has no "
                    "positions: build it again with_position=True"
                )
            statistics = statistics.plus(segment.statistics_of(terms))
        return TextQuery(self.match, self.parameters, statistics, self.k, words)

    def without_index(self) -> RankedQuery:
        return TextQuery(self.match, self.parameters, NO_STATISTICS, self.k)

    def up_to(self, count: int) -> RankedQuery:
        k = min(self.k, count)
        return TextQuery(self.match, self.parameters, self._statistics, k, self._words)

    def ranking(self, count: int) -> ValueRanking:
        if self._statistics is None:
            warnings.warn(
                f"column {self.column!r} has no text index that can be used: all rows are read, "
                "and words match as they are written",
                IndexWarning,
                stacklevel=2,
            )
        return TextRanking(self.match, self.words, self.parameters, self.statistics, count)

    def best(self, values: pa.Array, count: int) -> Sequence[Hits]:
        ranking = self.ranking(count)
        ranking.add(values, np.arange(len(values)))
        return ranking.hits()

    def scores(self, values: pa.Array, query: int) -> npt.NDArray[np.float32]:
        found = np.full(len(values), np.nan, np.float32)
        (hits,) = self.best(values, len(values))
        found[hits.rows] = hits.scores
        return found

    def step_text(self, index_name: str | None) -> str:
        name = "" if index_name is None else f"name={index_name}, "
        return f"{name}column={self.column}, query=[{self.match.text}]"

    @property
    def step_names(self) -> tuple[str, str]:
        kind = "MatchQuery" if self.match.slop is None else "PhraseQuery"
        return kind, f"Flat{kind}"
