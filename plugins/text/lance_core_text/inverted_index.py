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
    best_of,
)
from lance_core_text.analyzers.lookup import analyzer_named
from lance_core_text.postings.index_files import IndexMetadata
from lance_core_text.postings.partition import ROW_ID, Partition, has_repeated
from lance_core_text.scoring.bm25 import Floats, Statistics
from lance_core_text.scoring.score_partition import Scored

_FEW_ALLOWED = 0.3
"""The share of allowed rows below which all rows are masked before the best ones are chosen."""

_SPARE_ROWS = 32
"""Rows that are chosen beyond those that are wanted, since some may not be allowed."""


class PartitionQuery(Protocol):
    """What an index needs of a query."""

    @property
    def statistics(self) -> Statistics:
        """Those of all segments."""

    def score(self, partition: Partition, norms: Floats) -> Scored:
        """The documents that match, with their scores."""


class InvertedIndex(RankedIndex):
    """An index of terms. ``parameters``: how its texts were split. ``details``: as stored."""

    def __init__(self, folder: IndexFolder, details: bytes) -> None:
        metadata = IndexMetadata.of(folder)
        self.details = details
        self.text_parameters = metadata.parameters
        analyzer_named(metadata.parameters.base_tokenizer)  # raises if it is not installed
        self.partitions = tuple(Partition(folder, number) for number in metadata.partitions)
        self._norms: dict[tuple[int, float], Floats] = {}

    @property
    def nbytes(self) -> int:
        return sum(partition.nbytes for partition in self.partitions)

    @property
    def has_positions(self) -> bool:
        """True if phrases can be searched."""
        return all(partition.has_positions for partition in self.partitions)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.text_parameters.as_mapping()

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
        asked: PartitionQuery = query  # type: ignore[assignment]  # text queries choose such indices
        rows, scores = [], []
        for number, partition in enumerate(self.partitions):
            found = asked.score(partition, self._norms_of(number, asked.statistics))
            rows.append(partition.documents.rows[found.documents])
            scores.append(found.scores)
        if not rows:
            return [Hits(np.empty(0, np.uint64), np.empty(0, np.float32))]
        hits = _best(np.concatenate(rows), np.concatenate(scores), count, allowed)
        if len(rows) > 1 and has_repeated(hits.rows):
            raise CorruptFileError("a row is in two documents", field=ROW_ID)
        return [hits]

    def _norms_of(self, number: int, statistics: Statistics) -> Floats:
        """The norms of the documents of a partition, kept for the next query."""
        key = number, float(statistics.average_length)
        found = self._norms.get(key)
        if found is None:
            if len(self._norms) > 2 * len(self.partitions):  # of tables with other segments
                self._norms.clear()
            found = statistics.norms(self.partitions[number].scored_lengths)
            self._norms[key] = found
        return found


def _frequency(partition: Partition, term: str) -> int:
    number = partition.number(term)
    return 0 if number is None else int(partition.lengths[number])


def _best(rows: np.ndarray, scores: Floats, count: int, allowed: AllowedRows | None) -> Hits:
    """The best allowed rows."""
    if allowed is not None and (allowed.share < _FEW_ALLOWED or count >= len(rows)):
        is_allowed = allowed.mask(rows)
        rows, scores, allowed = rows[is_allowed], scores[is_allowed], None
    if allowed is None:
        return best_of(rows, scores, count, ascending=False)
    wanted = count + _SPARE_ROWS
    while True:
        hits = best_of(rows, scores, wanted, ascending=False)
        is_allowed = allowed.mask(hits.rows)
        if wanted >= len(rows) or np.count_nonzero(is_allowed) >= count:
            return Hits(hits.rows[is_allowed][:count], hits.scores[is_allowed][:count])
        wanted *= 8
