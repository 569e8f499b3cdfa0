"""`IvfIndex`: an opened vector index, which ranks its rows by their codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.searches import (
    NO_HITS,
    AllowedRows,
    Hits,
    RankedQuery,
    best_of,
    lowest,
    merged,
)
from lance_core_vector.kinds.query_batch import FEW_ALLOWED, best_by_decoded, best_of_queries
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.loops.threads import in_threads, parts_of
from lance_core_vector.partitions.index_files import ROW_ID
from lance_core_vector.partitions.partition_cache import PartitionCache
from lance_core_vector.partitions.probing import num_probes
from lance_core_vector.partitions.training_fit import TrainingFit, warn_of_drift
from lance_core_vector.quantizers.flat import FlatQuantizer
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer
from lance_core_vector.query import NearestIndex, VectorQuery

if TYPE_CHECKING:
    from lance_core_vector.distances import Metric
    from lance_core_vector.loops.best_rows import Masks
    from lance_core_vector.partitions.index_files import IndexFiles, IvfModel
    from lance_core_vector.partitions.partition_cache import Partition
    from lance_core_vector.quantizers.base import Quantizer, Scorer

_SPARE_ROWS = 32
"""Rows that are ranked beyond those that are wanted, since some may not be allowed."""

_UNSHOWN = ("codebook_position", "codebook_tensor")
"""Metadata of codes that statistics leave out: where the codebook is."""


class IvfIndex(NearestIndex):
    """An index of partitions and codes.

    ``metric``: the distance of the index. ``vector``: the type of one vector of the column.
    """

    def __init__(
        self,
        files: IndexFiles,
        model: IvfModel,
        quantizer: Quantizer,
        metric: Metric,
        details: bytes,
        vector: pa.DataType,
    ) -> None:
        self.files = files
        self.model = model
        self.quantizer = quantizer
        self.metric = metric
        self.refinement = quantizer.refinement
        self.num_partitions = len(model.lengths)
        self.details = details
        self.vector = vector
        self._partitions = PartitionCache(files.codes, model, quantizer)
        self._coarse = quantizer.coarse
        self._coarse_partitions = self._partitions
        if self._coarse is not quantizer:
            self._coarse_partitions = PartitionCache(files.codes, model, self._coarse)
        centroids = model.centroids
        self._squares = None
        if metric.name in ("l2", "cosine"):
            self._squares = np.einsum("ij,ij->i", centroids, centroids)

    @property
    def nbytes(self) -> int:
        size = self.model.nbytes + self._partitions.nbytes
        if self._coarse_partitions is not self._partitions:
            size += self._coarse_partitions.nbytes
        return size

    @property
    def parameters(self) -> Mapping[str, Any]:
        parameters: dict[str, Any] = {"kind": self.files.kind, "metric": self.metric.name}
        if isinstance(self.quantizer, ProductQuantizer):
            parameters["num_bits"] = self.quantizer.bits
            parameters["num_sub_vectors"] = len(self.quantizer.codebook)
        if isinstance(self.quantizer, RabitQuantizer):
            parameters["num_bits"] = self.quantizer.bits
        return parameters

    @property
    def fit(self) -> TrainingFit | None:
        """How far rows are from the centroids; None if it is not known. See `TrainingFit.of`."""
        return TrainingFit.of(self.files.index)

    def prewarm(self) -> None:
        self._partitions.load_all()

    def statistics(self) -> Mapping[str, Any]:
        files, fit = self.files, self.fit
        drift = None if fit is None else fit.drift
        warn_of_drift(drift, files.index.path)
        return {
            "index_type": files.kind,
            "uuid": files.index.path.split("/")[-2],
            "uri": files.index.path,
            "metric_type": files.metric,
            "num_partitions": len(self.model.lengths),
            "sub_index": {
                **(files.graph[0] if files.graph else {}),
                **{name: value for name, value in files.quantizer.items() if name not in _UNSHOWN},
                "metric_type": files.metric,
                "index_type": files.kind.split("_")[1],
            },
            "partitions": [{"size": size} for size in self.model.lengths.tolist()],
            "loss": self.model.loss,
            "drift": drift,
            "num_added_rows": None if fit is None else fit.num_added,
            "index_file_version": "V3",
        }

    def top(self, query: RankedQuery, count: int, allowed: AllowedRows | None) -> Sequence[Hits]:
        assert isinstance(query, VectorQuery)
        if not len(self.model.lengths) or not self.model.lengths.any():
            return [NO_HITS] * query.num_queries
        with np.errstate(all="ignore"):  # queries may have infinite numbers
            vectors = self._prepared(query)
            if query.is_multivector:
                return [self._of_lists(vectors, query, count, allowed)]
            answers: list[Hits | None] = [None] * len(vectors)
            if len(vectors) > 1 and self._is_batched(query):
                answers = self._of_batch(vectors, query, count, allowed)

        def answer(number: int) -> Hits:
            hits = answers[number]
            if hits is not None:
                return hits
            with np.errstate(all="ignore"):
                return self._of_vector(vectors[number], query, count, allowed)

        return list(in_threads(answer, range(len(vectors))))

    def distances_in(self, number: int, vector: npt.NDArray[Any]) -> npt.NDArray[np.floating]:
        """The distances of the rows of a partition from ``vector``, by their codes."""
        return self.quantizer.scorer(vector).scores(self._partitions.get([number]))

    def _prepared(self, query: VectorQuery) -> npt.NDArray[Any]:
        """The query vectors in the type of the centroids; of length one for cosine."""
        dtype = self.model.centroids.dtype
        vectors = query.queries
        if self.metric.name == "cosine":
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            vectors = vectors / lengths[:, None]
        return vectors.astype(dtype)

    def _nearest_centroids(
        self, vector: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.floating]]:
        """All partitions, the nearest first, and the distances of their centroids."""
        centroids = self.model.centroids
        if self._squares is not None:
            distances = centroids @ vector
            distances *= -2
            distances += self._squares
            distances += vector @ vector
        else:
            distances = self.metric.approximate(centroids, vector[None])[0][:, 0]
        order = np.argsort(distances, kind="stable")
        return order, distances[order]

    def _is_batched(self, query: VectorQuery) -> bool:
        """True if several queries take less time at once than one by one."""
        if isinstance(self.quantizer, ProductQuantizer):
            return query.refines and not is_compiled()
        return isinstance(self.quantizer, FlatQuantizer) and not query.has_range

    def _of_batch(
        self,
        vectors: npt.NDArray[Any],
        query: VectorQuery,
        count: int,
        allowed: AllowedRows | None,
    ) -> list[Hits | None]:
        """The best rows for several vectors; None where more has to be searched."""
        chosen, is_last = [], []
        for vector in vectors:
            order, distances = self._nearest_centroids(vector)
            if np.isnan(distances[0]):
                return [None] * len(vectors)
            stop, most = num_probes(distances, self.metric.name, query.k, query.options)
            chosen.append(order[:stop])
            is_last.append(stop >= most)
        owners = np.repeat(np.arange(len(vectors)), [len(numbers) for numbers in chosen])
        every = np.concatenate(chosen)
        partitions = self._partitions.get(np.unique(every).tolist())
        searched = [(partition, owners[every == partition.number]) for partition in partitions]
        if not searched:
            return [None] * len(vectors)
        answers: list[Hits | None]
        if isinstance(self.quantizer, ProductQuantizer):
            floats = vectors.astype(np.float32, copy=False)
            answers = best_by_decoded(self.quantizer, floats, searched, count, allowed)
        else:
            answers = best_of_queries(self.metric, vectors, searched, count, allowed)
        return [
            None if hits is None or (len(hits.rows) < count and not last) else hits
            for hits, last in zip(answers, is_last, strict=True)
        ]

    def _of_vector(
        self,
        vector: npt.NDArray[Any],
        query: VectorQuery,
        count: int,
        allowed: AllowedRows | None,
    ) -> Hits:
        """The best rows for one query vector."""
        order, distances = self._nearest_centroids(vector)
        if np.isnan(distances[0]):
            return NO_HITS
        stop, most = num_probes(distances, self.metric.name, query.k, query.options)
        scorer = self._scorer(vector, query)
        hits, start = NO_HITS, 0
        while True:
            numbers = order[start:stop].tolist()
            more = self.best_rows(numbers, scorer, vector, query, count, allowed)
            hits = merged([hits, more], count, ascending=True) if len(hits.rows) else more
            if len(hits.rows) >= count or stop >= most:
                break
            start, stop = stop, min(most, 2 * stop)
        if len(set(hits.rows.tolist())) < len(hits.rows):
            raise CorruptFileError("a row has two vectors", self.files.codes.path, field=ROW_ID)
        return hits

    def best_rows(
        self,
        numbers: Sequence[int],
        scorer: Scorer,
        vector: npt.NDArray[Any],
        query: VectorQuery,
        count: int,
        allowed: AllowedRows | None,
    ) -> Hits:
        """The best rows for ``vector``, which ``scorer`` compares, in some partitions."""
        return best_in(self._partitions_for(query).get(numbers), scorer, query, count, allowed)

    def _scorer(self, vector: npt.NDArray[Any], query: VectorQuery) -> Scorer:
        if query.is_fast:
            return self._coarse.scorer(vector)
        is_thorough = query.options.approx_mode == "accurate"
        return (self.quantizer.thorough_scorer if is_thorough else self.quantizer.scorer)(vector)

    def _partitions_for(self, query: VectorQuery) -> PartitionCache:
        """The partitions with the codes that `_scorer` compares."""
        return self._coarse_partitions if query.is_fast else self._partitions

    def _of_lists(
        self,
        vectors: npt.NDArray[Any],
        query: VectorQuery,
        count: int,
        allowed: AllowedRows | None,
    ) -> Hits:
        """The best rows of a column with several vectors a row.

        The distance of a row is the sum, over the query vectors, of the distance of its nearest
        vector in the partitions that are searched for any of them.
        """
        orders = [self._nearest_centroids(vector) for vector in vectors]
        if any(np.isnan(distances[0]) for _, distances in orders):
            return NO_HITS
        probes = [
            num_probes(distances, self.metric.name, query.k, query.options)
            for _, distances in orders
        ]
        scorers = [self._scorer(vector, query) for vector in vectors]
        factor = 1
        while True:
            stops = [min(first * factor, most) for first, most in probes]
            chosen = np.unique(
                np.concatenate([o[:stop] for (o, _), stop in zip(orders, stops, strict=True)])
            )
            partitions = self._partitions_for(query).get(chosen.tolist())
            hits = _best_lists(partitions, scorers, query, count, allowed)
            is_last = all(stop >= most for stop, (_, most) in zip(stops, probes, strict=True))
            if len(hits.rows) >= count or is_last:
                return hits
            factor *= 2


def best_in(
    partitions: Sequence[Partition],
    scorer: Scorer,
    query: VectorQuery,
    count: int,
    allowed: AllowedRows | None,
) -> Hits:
    """The best ``count`` allowed rows of ``partitions``."""
    num_rows = sum(len(partition.rows) for partition in partitions)
    if not num_rows:
        return NO_HITS
    count = min(count, num_rows)  # scans make room for as many rows
    if query.has_range and not query.refines:
        return _best_in_range(partitions, scorer, query, count, allowed)
    if allowed is None:
        return _top(partitions, scorer, count, None)
    if allowed.share >= FEW_ALLOWED:
        more = min(num_rows, int(1.25 * count / allowed.share) + _SPARE_ROWS)
        for num_candidates in (count, more) if allowed.share == 1 else (more,):
            hits = _top(partitions, scorer, num_candidates, None)
            mask = allowed.mask(hits.rows)
            is_all = num_candidates == num_rows or len(hits.rows) < num_candidates
            if is_all or np.count_nonzero(mask) >= count:
                return Hits(hits.rows[mask][:count], hits.scores[mask][:count])
    mask = allowed.mask(np.concatenate([partition.rows for partition in partitions]))
    ends = np.cumsum([len(partition.rows) for partition in partitions])
    return _top(partitions, scorer, count, np.split(mask, ends[:-1]))


def _top(partitions: Sequence[Partition], scorer: Scorer, count: int, masks: Masks | None) -> Hits:
    """See `Scorer.top`; in threads where there are rows enough for them."""
    sizes = [len(partition.rows) for partition in partitions]
    parts = min(len(partitions), len(parts_of(sum(sizes), scorer.rows_of_part)))
    if parts < 2:
        return scorer.top(partitions, count, masks)
    groups: list[list[int]] = [[] for _ in range(parts)]
    filled = [0] * parts
    for number in np.argsort(sizes)[::-1].tolist():
        least = filled.index(min(filled))
        filled[least] += sizes[number]
        groups[least].append(number)

    def best(group: list[int]) -> Hits:
        group.sort()  # the nearest first
        some = [partitions[number] for number in group]
        own = None if masks is None else [masks[number] for number in group]
        size = sum(sizes[number] for number in group)
        with np.errstate(all="ignore"):  # threads have their own
            return copy(scorer).top(some, min(count, size), own)  # scorers note their errors

    return merged(list(in_threads(best, groups)), count, ascending=True)


def _best_in_range(
    partitions: Sequence[Partition],
    scorer: Scorer,
    query: VectorQuery,
    count: int,
    allowed: AllowedRows | None,
) -> Hits:
    """The best of the rows whose distances a query accepts."""
    rows = np.concatenate([partition.rows for partition in partitions])
    scores = scorer.scores(partitions)
    scores = scorer.exact(partitions, np.arange(len(scores)), scores)
    mask = query.accepts(scores)
    if allowed is not None:
        mask &= allowed.mask(rows)
    return best_of(rows[mask], scores[mask], count, ascending=True)


def _best_lists(
    partitions: Sequence[Partition],
    scorers: Sequence[Scorer],
    query: VectorQuery,
    count: int,
    allowed: AllowedRows | None,
) -> Hits:
    """The best rows; the distances that may be among the best are computed exactly."""
    if not partitions:
        return NO_HITS
    rows = np.concatenate([partition.rows for partition in partitions])
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    firsts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    total, error, each = np.zeros(len(firsts)), 0.0, []
    for scorer in scorers:
        each.append(scorer.scores(partitions))
        total += np.fmin.reduceat(each[-1][order], firsts)
        error += scorer.error
    distinct = ordered[firsts]
    if allowed is not None:
        total[~allowed.mask(distinct)] = np.nan
    near = lowest(total, len(total) if query.has_range else count, 2 * error)
    distinct, total = distinct[near], total[near]
    if error and len(near):
        sizes = np.diff(np.append(firsts, len(order)))[near]
        starts = np.cumsum(sizes) - sizes
        positions = order[np.arange(sizes.sum()) + np.repeat(firsts[near] - starts, sizes)]
        total = np.zeros(len(near))
        for scorer, scores in zip(scorers, each, strict=True):
            exact = scorer.exact(partitions, positions, scores[positions])
            total += np.fmin.reduceat(exact, starts)
    distances = total.astype(np.float32)
    mask = query.accepts(distances)
    return best_of(distinct[mask], distances[mask], count, ascending=True)
