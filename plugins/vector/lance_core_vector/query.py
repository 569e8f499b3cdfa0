"""`VectorQuery`: one or several query vectors, and how their neighbours are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import IndexWarning, InvalidInputError
from lance_core.hookspecs.indices import OpenIndex
from lance_core.hookspecs.options import warn_caller
from lance_core.hookspecs.searches import (
    Hits,
    RankedIndex,
    RankedQuery,
    ValueBatches,
    best_of,
)
from lance_core_vector.batch_ranking import MAX_WAITING_BYTES, BatchRanking, RowRules
from lance_core_vector.distances import Metric
from lance_core_vector.flat_search import MAX_SHORT, candidates
from lance_core_vector.loops.float_scan import SPARE_ROWS
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.tuned_effort import known_effort, sampled_queries, tuned_effort
from lance_core_vector.vectors import Vectors

if TYPE_CHECKING:
    from lance_core_vector.answers import Scan
    from lance_core_vector.distances import Matrix
    from lance_core_vector.options import NearestOptions


class NearestIndex(RankedIndex):
    """An index that ranks vectors.

    ``metric``: the distance; ``refinement``: see `Quantizer.refinement`. ``has_graphs``: True if a
    search follows graphs, for which ``ef`` counts.
    """

    metric: Metric
    refinement: int | None
    num_partitions: int
    has_graphs = False


class VectorQuery(RankedQuery):
    """Query vectors against a column.

    ``queries``: one a row. ``is_multivector``: True if the rows of the column have several vectors;
    all ``queries`` are then one query, whose distance is the sum of the distance of each of its
    vectors from the nearest one of a row. ``scan``: runs the scans that measure a recall.
    """

    score_name = "_distance"
    ascending = True

    def __init__(
        self,
        options: NearestOptions,
        queries: Matrix,
        metric: Metric,
        *,
        is_multivector: bool,
        scan: Scan | None = None,
    ) -> None:
        self.options = options
        self.queries = queries
        self.metric = metric
        self.is_multivector = is_multivector
        self.column = options.column
        self.k = options.k
        self.num_queries = 1 if is_multivector else len(queries)
        self.is_batch = options.is_batch and not is_multivector
        self.num_candidates = options.k * (options.refine_factor or 1)
        self.is_fast = options.approx_mode == "fast"
        self.refines = options.refine_factor is not None
        self.best_score = options.distance_range[0]
        self.uses_indices = options.use_index
        self._scan = scan
        self._indices: Sequence[NearestIndex] = ()

    def accepts(self, scores: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
        low, high = self.options.distance_range
        is_accepted = np.ones(len(scores), np.bool_)
        if low is not None:
            is_accepted &= scores >= np.float32(low)
        if high is not None:
            is_accepted &= scores < np.float32(high)
        return is_accepted

    @property
    def has_range(self) -> bool:
        """True if results may not have every distance."""
        return self.options.distance_range != (None, None)

    def for_index(self, segments: Sequence[OpenIndex]) -> RankedQuery | None:
        indices = [segment for segment in segments if isinstance(segment, NearestIndex)]
        if len(indices) < len(segments) or any(
            index.metric is not indices[0].metric for index in indices
        ):
            return None
        metric, options = indices[0].metric, self.options
        if options.metric is not None and metric is not self.metric:
            warn_caller(
                f"all rows are compared: the index of column {self.column!r} has the metric "
                f"{metric.name}, and the query {self.metric.name}",
                IndexWarning,
            )
            return None
        if metric.of_bits != self.metric.of_bits:
            return None
        if self.is_multivector and options.recall is not None:
            raise InvalidInputError(
                "the recall of columns with several vectors a row is not measured: give "
                "minimum_nprobes and refine_factor"
            )
        if indices[0].has_graphs and options.ef is not None and options.ef < self.num_candidates:
            refined = f" times a refine_factor of {options.refine_factor}" if self.refines else ""
            raise InvalidInputError(
                f"ef must be greater than or equal to k, got an ef of {options.ef} and a k of "
                f"{self.k}{refined}"
            )
        if metric is not self.metric:
            warn_of_undefined(self.queries, metric)
        options = replace(options, metric=metric)
        refinement = max(index.refinement or 0 for index in indices)
        if options.leaves_effort and refinement > (options.refine_factor or 0):
            options = replace(options, refine_factor=refinement)
        if options.recall is not None:
            effort = known_effort(indices, self.k, options.recall)
            options = options if effort is None else replace(options, **effort._asdict())
        return self._with(options, indices)

    def tuned(self) -> RankedQuery:
        options, scan = self.options, self._scan
        if options.recall is None or options.probes is not None or scan is None:
            return self
        make = partial(sampled_queries, scan, self.column, self.metric.name, self.k)
        most = max(index.num_partitions for index in self._indices)
        effort = tuned_effort(self._indices, options.recall, self.k, most, make)
        return self._with(replace(options, **effort._asdict()), self._indices)

    def _with(self, options: NearestOptions, indices: Sequence[NearestIndex]) -> VectorQuery:
        metric = options.metric or self.metric
        other = VectorQuery(
            options, self.queries, metric, is_multivector=self.is_multivector, scan=self._scan
        )
        other._indices = indices
        return other

    def rank(self, batches: ValueBatches, count: int) -> Sequence[Hits]:
        low, _ = self.options.distance_range
        size = self.num_queries * (count + SPARE_ROWS) * self.queries.shape[1] * 4
        if (
            self.is_multivector
            or self.metric.of_bits
            or low is not None
            or (self.num_queries == 1 and is_compiled())  # takes one pass over the vectors
            or count > MAX_SHORT
            or size > MAX_WAITING_BYTES
            or not np.isfinite(self.queries).all()
        ):
            return super().rank(batches, count)
        rules = RowRules(self.accepts, self.best)
        ranking = BatchRanking(self.metric, self.queries, count, rules)
        for values, rows in batches:
            ranking.add(values, rows)
        return ranking.hits()

    def best(self, values: pa.Array, count: int) -> Sequence[Hits]:
        vectors = Vectors.of(values)
        with np.errstate(all="ignore"):  # infinite and undefined distances are handled
            candidates = self._candidates(vectors, len(values), count)
        answers = []
        for number, rows in enumerate(candidates):
            scores = self._exact(vectors, rows, number)
            accepted = self.accepts(scores)
            answers.append(best_of(rows[accepted], scores[accepted], count, ascending=True))
        return answers

    def scores(self, values: pa.Array, query: int) -> npt.NDArray[np.float32]:
        return self._exact(Vectors.of(values), np.arange(len(values)), query)

    def step(self, index_name: str | None) -> tuple[str, str]:
        if index_name is None:
            return "KNNVectorDistance", f"metric={self.metric.name}, k={self.k}"
        text = f"name={index_name}, k={self.num_candidates}, metric={self.metric.name}"
        if self.refines:
            text += f", refine_factor={self.options.refine_factor}"
        if self.options.probes is not None:
            text += f", nprobes={self.options.probes}"
        elif self.options.recall is not None:
            text += f", recall={self.options.recall}, nprobes=measured when run"
        return "ANNSubIndex", text

    def _candidates(
        self, vectors: Vectors, num_rows: int, count: int
    ) -> Sequence[npt.NDArray[np.int64]]:
        """For each query, rows among which the ``count`` best ones are."""
        low, _ = self.options.distance_range
        if self.is_multivector:
            distances = np.full((num_rows, 1), np.nan)
            rows = vectors.rows
            assert rows is not None
            if len(rows):
                firsts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
                every, _ = self.metric.approximate(vectors.matrix, self._own(vectors))
                nearest = np.minimum.reduceat(every, firsts)
                distances[rows[firsts], 0] = nearest.sum(axis=1, dtype=np.float64)
            return [np.flatnonzero(~np.isnan(distances[:, 0]))]
        if not np.isfinite(self.queries).all():
            every = np.arange(num_rows) if vectors.rows is None else vectors.rows
            return [every] * self.num_queries
        matrix, queries = vectors.matrix, self._own(vectors)
        if low is not None:
            count = num_rows
        near = candidates(self.metric, matrix, queries, count)
        return near if vectors.rows is None else [vectors.rows[own] for own in near]

    def _own(self, vectors: Vectors) -> Matrix:
        return self.queries.astype(vectors.matrix.dtype, copy=False)

    def _exact(
        self, vectors: Vectors, rows: npt.NDArray[np.int64], number: int
    ) -> npt.NDArray[np.float32]:
        """The exact distances of ``rows`` from query ``number``."""
        with np.errstate(all="ignore"):
            return self._distances(vectors, rows, number)

    def _distances(
        self, vectors: Vectors, rows: npt.NDArray[np.int64], number: int
    ) -> npt.NDArray[np.float32]:
        if vectors.rows is None:
            return self.metric.exact(vectors.matrix[rows], self._own(vectors)[number])
        scores = np.full(len(rows), np.nan, np.float32)
        firsts = np.searchsorted(vectors.rows, rows)
        stops = np.searchsorted(vectors.rows, rows, side="right")
        if not self.is_multivector:
            there = stops > firsts
            some = vectors.matrix[firsts[there]]
            scores[there] = self.metric.exact(some, self._own(vectors)[number])
            return scores
        for at, (first, stop) in enumerate(zip(firsts.tolist(), stops.tolist(), strict=True)):
            some = vectors.matrix[first:stop]
            if len(some):
                each = [self.metric.exact(some, query).min() for query in self._own(vectors)]
                scores[at] = np.sum(each, dtype=np.float64)
        return scores


def warn_of_undefined(queries: Matrix, metric: Metric) -> None:
    """Warn of query vectors of floats from which no row has a finite distance by ``metric``."""
    if not np.isfinite(queries).all():
        warn_caller("q of nearest has numbers that are not finite: no row is near it")
    elif metric.name == "cosine" and not queries.any(axis=1).all():
        warn_caller("q of nearest is a vector of zeros, which has no angle: no row is near it")
