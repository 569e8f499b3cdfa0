"""`TextQuery`: words, phrases and boolean combinations of them in one column, ranked by BM25."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import IndexWarning, InvalidInputError
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.indices import OpenIndex
from lance_core.hookspecs.searches import (
    AllowedRows,
    Hits,
    RankedQuery,
    ValueBatches,
    best_of,
)
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.inverted_index import InvertedIndex
from lance_core_text.queries.clauses import ALL_ROWS, Clause, Role, RoleCounts, role_counts
from lance_core_text.queries.united_hits import boolean_scores, united
from lance_core_text.queries.words import TextMatch
from lance_core_text.scoring.bm25 import NO_STATISTICS, Statistics
from lance_core_text.scoring.explain import best_explanation, explain_boolean, explain_document
from lance_core_text.scoring.explanation import Explanation
from lance_core_text.scoring.score_partition import score_partition
from lance_core_text.scoring.score_values import TextRanking
from lance_core_text.scoring.scored import Scored
from lance_core_text.scoring.scorer import PartitionScorer

SCORE = "_score"
DOCUMENT_INDEX = "_doc_index"
"""The column with the position of an element in its list."""

UNINDEXED = TextParameters(
    stem=False,
    lower_case=False,
    remove_stop_words=False,
    ascii_folding=False,
    max_token_length=None,
)
"""How texts are split if no index of the column says it; pylance has the same rule."""


RoleMatches: TypeAlias = "Sequence[tuple[Role, TextMatch]]"
"""What is searched, and what a match means; first what must match, then what should."""


@dataclass
class ExplainedRow:
    """The row at ``address``, and the ``explanation`` of its score, once a query is answered.

    ``is_alone``: True while a scan allows no other row, so that only an index can explain it.
    ``is_in_index``: True if an index has it.
    """

    address: int
    explanation: Explanation | None = None
    is_alone: bool = True
    is_in_index: bool = False


class TextQuery(RankedQuery):
    """What ``asked`` says, as an index with ``parameters`` has the terms.

    ``statistics``: those of the index that answers, None before there is one. ``clauses``: those of
    ``asked`` with terms of the index that are near their words. ``row``: one to explain.
    """

    score_name = SCORE
    ascending = False
    is_final = True
    ranks_deep = True

    def __init__(
        self,
        matches: RoleMatches,
        parameters: TextParameters = UNINDEXED,
        statistics: Statistics | None = None,
        k: int = ALL_ROWS,
        clauses: tuple[Clause, ...] | None = None,
        row: ExplainedRow | None = None,
    ) -> None:
        self.matches = matches
        self.parameters = parameters
        self.column = matches[0][1].column
        self._by_element = matches[0][1].by_element
        self.element_name = DOCUMENT_INDEX if self._by_element else None
        self.k = self.num_candidates = k
        self._statistics = statistics
        self._clauses = clauses
        self.row = row

    @property
    def statistics(self) -> Statistics:
        """Those of all segments of the index; none without an index."""
        return self._statistics or NO_STATISTICS

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """What is searched, with terms. Raises `PluginNotFoundError` if the analyzer is missing."""
        if self._clauses is not None:
            return self._clauses
        pairs = self.matches
        return tuple(Clause(match, role, match.words(self.parameters)) for role, match in pairs)

    def score(self, scorer: PartitionScorer, count: int) -> Scored:
        """The best ``count`` documents of a partition that match, or more, in any order."""
        return score_partition(scorer, self.clauses, self.statistics, count)

    def for_index(self, segments: Sequence[OpenIndex]) -> RankedQuery | None:
        indices = [segment for segment in segments if isinstance(segment, InvertedIndex)]
        parameters = indices[0].text_parameters if indices else UNINDEXED
        others = [
            index
            for index in indices
            if (index.text_parameters, index.by_element) != (parameters, self._by_element)
        ]
        if others or not len(indices) == len(segments) > 0:
            return None
        clauses = TextQuery(self.matches, parameters).clauses
        if any(match.fuzziness is not None for _, match in self.matches):
            vocabularies = [
                partition.vocabulary for index in indices for partition in index.partitions
            ]
            clauses = tuple(
                clause._replace(words=clause.match.expanded(clause.words, vocabularies))
                for clause in clauses
            )
        has_phrase = any(clause.match.slop is not None for clause in clauses)
        terms = {term for clause in clauses for word in clause.words for term in word.terms}
        statistics = NO_STATISTICS
        for index in indices:
            if has_phrase and not index.has_positions:
                raise InvalidInputError(
                    f"a phrase is searched in column {self.column!r}, whose index has no "
                    "positions: build it again with_position=True"
                )
            own = index.statistics_of(terms)
            statistics = own if statistics is NO_STATISTICS else statistics.plus(own)
        return TextQuery(self.matches, parameters, statistics, self.k, clauses, self.row)

    def explaining(self, row: ExplainedRow) -> TextQuery:
        """The same query, which explains the score of ``row`` when it is answered."""
        return TextQuery(
            self.matches, self.parameters, self._statistics, self.k, self._clauses, row
        )

    def explain(self, index: InvertedIndex, allowed: AllowedRows | None) -> None:
        """Explain the score of the only allowed row, if ``index`` has it."""
        row = self.row
        if row is None or not row.is_alone or allowed is None:
            return
        for partition in index.partitions:
            for document in np.flatnonzero(allowed.mask(partition.documents.rows)).tolist():
                row.is_in_index = True
                own = explain_document(partition, document, self.clauses, self.statistics)
                row.explanation = best_explanation([row.explanation, own])

    def without_index(self) -> RankedQuery:
        return TextQuery(self.matches, self.parameters, NO_STATISTICS, self.k, row=self.row)

    def up_to(self, count: int) -> RankedQuery:
        k = min(self.k, count)
        return TextQuery(
            self.matches, self.parameters, self._statistics, k, self._clauses, self.row
        )

    def rank(self, batches: ValueBatches, count: int) -> Sequence[Hits]:
        most = count if len(self.clauses) == 1 else ALL_ROWS
        rankings, row = self._rankings(batches, most), self.row
        if row is not None and not row.is_alone and not row.is_in_index:
            parts = [ranking.explained(row.address) for ranking in rankings]
            is_one = len(parts) == 1
            row.explanation = parts[0] if is_one else explain_boolean(parts, self._counts)
        hits = [ranking.hits() for ranking in rankings]
        if len(hits) == 1:
            return hits
        rows, elements, scores = united(hits)
        total = boolean_scores(scores, self._counts)
        return [best_of(rows, total, count, ascending=False, elements=elements)]

    def _rankings(self, batches: ValueBatches, count: int) -> Sequence[TextRanking]:
        """A ranking of all rows for each clause."""
        if self._statistics is None:
            warnings.warn(
                f"column {self.column!r} has no text index that can be used: all rows are read, "
                "and words match as they are written",
                IndexWarning,
                stacklevel=2,
            )
        rankings = [
            TextRanking(clause.match, clause.words, self.parameters, self.statistics, count)
            for clause in self.clauses
        ]
        for values, rows in batches:
            for ranking in rankings:
                ranking.add(values, rows)
        return rankings

    def best(self, values: pa.Array, count: int) -> Sequence[Hits]:
        return self.rank([(values, np.arange(len(values)))], count)

    def scores(self, values: pa.Array, query: int) -> npt.NDArray[np.float32]:
        scores = np.full(len(values), np.nan, np.float32)
        (hits,) = self.best(values, len(values))
        scores[hits.rows] = hits.scores
        return scores

    def step(self, index_name: str | None) -> tuple[str, str]:
        query_type = "MatchQuery" if self.matches[0][1].slop is None else "PhraseQuery"
        query_type = query_type if len(self.matches) == 1 else "BooleanQuery"
        texts = ", ".join(match.text for _, match in self.matches)
        text = f"column={self.column}, query=[{texts}]"
        return (
            (f"Flat{query_type}", text)
            if index_name is None
            else (query_type, f"name={index_name}, {text}")
        )

    @property
    def _counts(self) -> RoleCounts:
        return role_counts([role for role, _ in self.matches])
