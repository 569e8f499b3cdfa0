"""`HnswIndex`: an index whose partitions have graphs, which are followed to the nearest codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from lance_core.hookspecs.searches import AllowedRows, Hits
from lance_core_vector.graphs.comparison import Comparison
from lance_core_vector.graphs.graph_cache import GraphCache, stored_graph
from lance_core_vector.graphs.stored_graph import GraphParameters, StoredGraph
from lance_core_vector.kinds.ivf_index import IvfIndex, best_in
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.query import VectorQuery

if TYPE_CHECKING:
    from lance_core_vector.quantizers.base import Scorer

MIN_EF = 100
"""Nodes near a query that are searched by default, at least: pylance's default, 1.5 for each row
that is wanted, finds fewer of the nearest ten rows (0.90 instead of 0.99 of them on 152,286 SIFT
descriptors), and takes hardly less time."""

EF_PER_ROW = 2

SCANNED_ROWS = 32
"""All codes are compared in partitions that have fewer rows than so many for each node that a
search would visit: that finds more, in about the same time."""

_GROWTH = 4
"""How many times more nodes are searched if too few of those found are allowed."""


class HnswIndex(IvfIndex):
    """An index with a graph for each partition.

    Where some rows are not allowed, more nodes are searched. All codes are compared where that
    takes no longer, or where there are no compiled loops, and for ranges of distances and rows of
    several vectors.
    """

    has_graphs = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._comparison = Comparison.of(self.quantizer, self.metric)
        self._graphs = None
        if self._comparison is not None and is_compiled():
            self._graphs = GraphCache(self.files, self.model, self.quantizer, self._comparison)

    def best_rows(
        self,
        numbers: Sequence[int],
        scorer: Scorer,
        vector: npt.NDArray[Any],
        query: VectorQuery,
        count: int,
        allowed: AllowedRows | None,
    ) -> Hits:
        comparison, graphs = self._comparison, self._graphs
        if comparison is None or graphs is None or query.has_range:
            return super().best_rows(numbers, scorer, vector, query, count, allowed)
        share = 1.0 if allowed is None else max(allowed.share, 1e-6)
        # For more rows than ``k``, as for deleted ones, also more nodes than ``ef`` are visited.
        ef = max(count, query.options.ef or max(MIN_EF, EF_PER_ROW * count))
        while True:
            ef_in_all = int(ef / share)
            # To follow a graph of few rows takes longer than to compare all of their codes.
            limit = SCANNED_ROWS * ef_in_all
            large = [number for number in numbers if self.model.lengths[number] > limit]
            small = [number for number in numbers if self.model.lengths[number] <= limit]
            partitions = self._partitions.get(small)
            for partition in graphs.each(large):
                form = comparison.query(vector, partition.number)
                partitions.append(partition.near(form, ef_in_all, self.quantizer))
            hits = best_in(partitions, scorer, query, count, allowed)
            if len(hits.rows) >= count or not large:
                return hits
            ef *= _GROWTH

    def _of_batch(
        self,
        vectors: npt.NDArray[Any],
        query: VectorQuery,
        count: int,
        allowed: AllowedRows | None,
    ) -> list[Hits | None]:
        if self._graphs is None:
            return super()._of_batch(vectors, query, count, allowed)
        return [None] * len(vectors)  # graphs are followed for one query after the other

    def graph(self, number: int) -> StoredGraph:
        """The graph of a partition that has rows. Raises `CorruptFileError`."""
        return stored_graph(self.files, self.model, number)

    @property
    def parameters(self) -> Mapping[str, Any]:
        graph = GraphParameters.of(self.files.graph[0])
        names = {"m": graph.m, "ef_construction": graph.ef, "max_level": graph.max_level}
        return {**super().parameters, **names}

    def prewarm(self) -> None:
        if self._graphs is None:
            super().prewarm()
        else:
            self._graphs.load_all()
