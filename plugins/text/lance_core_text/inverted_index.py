"""`InvertedIndex`: an opened text index, which ranks its rows by BM25."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.indices import IndexFolder
from lance_core.hookspecs.searches import (
    AllowedRows,
    Hits,
    RankedIndex,
    RankedQuery,
    merged,
)
from lance_core_text.analyzers.lookup import analyzer_named
from lance_core_text.postings.index_files import IndexMetadata, is_by_element
from lance_core_text.postings.partition import ELEMENT, ROW_ID, Partition, has_repeated
from lance_core_text.queries.clauses import ALL_ROWS
from lance_core_text.scoring.bm25 import Statistics
from lance_core_text.scoring.scored import Scored
from lance_core_text.scoring.scorer import PartitionScorer

_FEW_ALLOWED = 0.02
"""The share of allowed rows below which all rows are masked before the best ones are chosen."""

_SPARE_ROWS = 32
"""Rows that are chosen beyond those that are wanted, since some may not be allowed."""


class PartitionQuery(Protocol):
    """What an index needs of a query."""

    @property
    def statistics(self) -> Statistics:
        """Those of all segments."""

    def score(self, scorer: PartitionScorer, count: int) -> Scored:
        """The best ``count`` documents that match, or more, in any order."""

    def explain(self, index: InvertedIndex, allowed: AllowedRows | None) -> None:
        """Explain the score of the only allowed row, if the query is asked to."""


class InvertedIndex(RankedIndex):
    """An index of terms. ``parameters``: how its texts were split. ``details``: as stored."""

    def __init__(self, folder: IndexFolder, details: bytes) -> None:
        metadata = self._metadata = IndexMetadata.of(folder)
        self.details = details
        self.by_element = is_by_element(details)
        """True if elements of lists are documents, False if rows are."""
        self.text_parameters = metadata.parameters
        analyzer_named(metadata.parameters.base_tokenizer)  # raises if it is not installed
        self.partitions = tuple(Partition(folder, number) for number in metadata.partitions)
        if any(partition.has_elements != self.by_element for partition in self.partitions):
            raise CorruptFileError("details and files differ in what is a document", field=ELEMENT)
        self._scorers: dict[tuple[int, float], PartitionScorer] = {}

    @property
    def nbytes(self) -> int:
        return sum(partition.nbytes for partition in self.partitions)

    @property
    def has_positions(self) -> bool:
        """True if phrases can be searched."""
        return all(partition.has_positions for partition in self.partitions)

    @property
    def posting_format(self) -> int:
        """The number of the format of postings, from 1 to 3."""
        return self._metadata.format_number

    @property
    def token_set(self) -> str:
        """How terms are stored, `index_files.SORTED_COLUMN` or `index_files.TRANSDUCER`."""
        return self._metadata.token_set

    @property
    def parameters(self) -> Mapping[str, Any]:
        parameters = {
            **self.text_parameters.as_mapping(),
            "format_version": self.posting_format,
            "token_set_format": self.token_set,
        }
        del parameters["lance_tokenizer"]  # which the column says
        if self.by_element:
            parameters["document_granularity"] = "list_element"
        return parameters

    def prewarm(self) -> None:
        for partition in self.partitions:
            partition.prewarm()

    def statistics(self) -> Mapping[str, Any]:
        return {
            "params": {**self.text_parameters.as_mapping()},
            "num_tokens": sum(partition.num_terms for partition in self.partitions),
            "num_docs": sum(partition.num_documents for partition in self.partitions),
        }

    def statistics_of(self, terms: Iterable[str]) -> Statistics:
        """What scores depend on, for queries of these terms; deleted rows count."""
        return Statistics(
            sum(partition.num_documents for partition in self.partitions),
            sum(partition.total_length for partition in self.partitions),
            {term: sum(_frequency(p, term) for p in self.partitions) for term in terms},
        )

    def top(self, query: RankedQuery, count: int, allowed: AllowedRows | None) -> Sequence[Hits]:
        text_query: PartitionQuery = query  # type: ignore[assignment]  # text queries choose such indices
        text_query.explain(self, allowed)
        if allowed is None:
            return [self._best(text_query, count)]
        # So many that enough of them are allowed, if those are anywhere among the best ones.
        num_candidates = int((count + _SPARE_ROWS) / max(allowed.share, _FEW_ALLOWED))
        is_all = num_candidates >= sum(partition.num_documents for partition in self.partitions)
        if is_all or allowed.share < _FEW_ALLOWED:
            hits = self._best(text_query, ALL_ROWS, allowed)
            return [hits.take(slice(count))]
        while True:
            hits = self._best(text_query, num_candidates)
            is_allowed = allowed.mask(hits.rows)
            if len(hits.rows) < num_candidates or np.count_nonzero(is_allowed) >= count:
                if not is_allowed.all():
                    hits = hits.take(is_allowed)
                return [hits.take(slice(count))]
            num_candidates *= 8

    def _best(self, query: PartitionQuery, count: int, allowed: AllowedRows | None = None) -> Hits:
        """The best ``count`` rows, of all or of those that are allowed."""
        parts = []
        for number, partition in enumerate(self.partitions):
            scored = query.score(self._scorer(number, query.statistics), count)
            rows, _, elements = partition.documents
            hits = Hits(
                rows[scored.documents],
                scored.scores,
                None if elements is None else elements[scored.documents],
            )
            parts.append(hits if allowed is None else hits.take(allowed.mask(hits.rows)))
        hits = merged(parts, count, ascending=False)
        if len(parts) > 1 and has_repeated(hits.rows, hits.elements):
            raise CorruptFileError("a row is in two documents", field=ROW_ID)
        return hits

    def _scorer(self, number: int, statistics: Statistics) -> PartitionScorer:
        """The norms of the documents of a partition, kept for the next query."""
        key = number, float(statistics.average_length)
        scorer = self._scorers.get(key)
        if scorer is None:
            if len(self._scorers) > 2 * len(self.partitions):  # of tables with other segments
                self._scorers.clear()
            partition = self.partitions[number]
            scorer = PartitionScorer(partition, statistics.norms(partition.scored_lengths))
            self._scorers[key] = scorer
        return scorer


def _frequency(partition: Partition, term: str) -> int:
    number = partition.number(term)
    return 0 if number is None else int(partition.lengths[number])
