"""`recommend_index`: which vector index holds a recall within limits, by builds of a sample."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import lance_core
from lance_core import LanceDataset
from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_numpy
from lance_core_vector.answers import RecallQueries
from lance_core_vector.builder.indices_builder import IndicesBuilder
from lance_core_vector.quality.recall_report import (
    MeasuredRecall,
    exact_answers,
    index_metric,
    measured_recall,
    sampled_vectors,
    vector_index,
)

SAMPLE_ROWS = 20_000
"""Rows of the indices that are built to measure."""

QUERIES = 50
TIMED_QUERIES = 6
"""Queries whose answers are compared, and those that are asked alone to be timed."""

PARTITIONS = 10
"""Of the index of the sample."""

MAX_ITERATIONS = 4
"""Of a training: ten, or 50, change recalls by less than two hundredths, as much as other queries
do. It is the greatest part of a build of the sample, and does not take longer for more rows."""

PART_SIZES = (16, 8, 4)
"""Numbers of a part of product-quantised codes of 8 bits to try."""

MAX_WIDTH_OF_SMALL_PARTS = 256
"""Numbers of a vector above which the smallest parts are not tried: they take the longest, and find
no more rows after refinement than larger ones do."""

PARTITION_ROWS = 8192
"""Rows of a partition of the index of the whole table."""

PROBES = (1, 2, 3, 5, 10)
FACTORS = (None, 4, 10, 30)
"""Numbers of partitions and factors of refinement to try."""


@dataclass(frozen=True)
class IndexCandidate:
    """An index of the whole table, as a sample of its rows lets expect.

    ``parameters``: arguments of ``create_index``; ``nearest``: keys that queries need to find
    ``recall`` of the nearest rows. ``bytes`` on disk; ``ms`` of processor time for a query with
    everything in memory; ``build_seconds`` of processor time.
    """

    parameters: Mapping[str, Any]
    nearest: Mapping[str, Any]
    recall: float
    bytes: int
    ms: float
    build_seconds: float


@dataclass(frozen=True)
class IndexAdvice:
    """The candidates, and the best one: the smallest that keeps all limits; None if none does.

    ``exact_ms``: of processor time for a query without an index.
    """

    column: str
    num_rows: int
    sample_rows: int
    exact_ms: float
    candidates: tuple[IndexCandidate, ...]
    best: IndexCandidate | None

    def __repr__(self) -> str:
        exact = f"without an index: {self.exact_ms:.1f} ms, exact"
        lines = [
            f"index of {self.column!r}, {self.num_rows:,} rows, by {self.sample_rows:,} ({exact})",
            f"  {'recall':>6} {'MB':>9} {'ms':>7} {'build s':>8}  create_index; nearest",
        ]
        for candidate in self.candidates:
            mark = "*" if candidate is self.best else " "
            parameters, nearest = (
                ", ".join(f"{name}={value!r}" for name, value in arguments.items())
                for arguments in (candidate.parameters, candidate.nearest)
            )
            lines.append(
                f"{mark} {candidate.recall:6.3f} {candidate.bytes / 1e6:9.1f} {candidate.ms:7.2f} "
                f"{candidate.build_seconds:8.1f}  {parameters}; {nearest}"
            )
        if self.best is None:
            lines.append("no index keeps the limits")
        return "\n".join(lines)


def recommend_index(  # noqa: PLR0913 (each has a default)
    dataset: LanceDataset,
    column: str,
    *,
    recall: float = 0.95,
    bytes: int | None = None,
    ms: float | None = None,
    k: int = 10,
    metric: str | None = None,
    sample_rows: int = SAMPLE_ROWS,
    seed: int = 0,
) -> IndexAdvice:
    """Which index of ``column`` finds a share of the ``k`` nearest rows within limits.

    ``bytes`` on disk and ``ms`` of processor time for a query are limits for the whole table.
    Builds an index of each kind for ``sample_rows`` random rows in memory, measures it with more
    and less effort, and computes what an index of all rows would cost: bytes in proportion to the
    rows, and time in proportion to the rows of the partitions that must be searched. ``metric``:
    by default that of the column's index, or l2, or hamming for bytes. Takes some seconds. Raises
    `InvalidInputError`.
    """
    if not 0 < recall <= 1:
        raise InvalidInputError(f"recall must be above 0 and at most 1, got {recall}")
    _, matrix = sampled_vectors(dataset, column, sample_rows, seed)
    default = "hamming" if matrix.dtype == np.uint8 else "l2"
    metric = metric or index_metric(vector_index(dataset, column)) or default
    if len(matrix) < 1000:
        raise InvalidInputError(
            f"column {column!r} has {len(matrix)} vectors in the sample: fewer than 1,000 need no "
            "index"
        )
    num_rows = dataset.count_rows()
    table = _table_of(matrix)
    try:
        sample = _Sample.of(table, metric, k)
        candidates = [
            _measured(sample, parameters, recall, num_rows)
            for parameters in _candidates(matrix.shape[1], matrix.dtype)
        ]
    finally:
        LanceDataset.drop(table.uri)  # a cache of stores would keep what it has in memory
    candidates.sort(key=lambda candidate: candidate.bytes)
    limits = [
        candidate
        for candidate in candidates
        if candidate.recall >= recall - 0.01
        and (bytes is None or candidate.bytes <= bytes)
        and (ms is None or candidate.ms <= ms)
    ]
    best = limits[0] if limits else None
    exact_ms = 1e3 * sample.exact_seconds * num_rows / len(matrix)
    return IndexAdvice(column, num_rows, len(matrix), exact_ms, tuple(candidates), best)


def _candidates(width: int, dtype: np.dtype[Any]) -> list[dict[str, Any]]:
    """Arguments of ``create_index`` to try."""
    candidates: list[dict[str, Any]] = [{"index_type": "IVF_FLAT"}]
    if dtype == np.uint8:
        return candidates
    candidates.append({"index_type": "IVF_SQ"})
    if width % 8 == 0:
        candidates.append({"index_type": "IVF_RQ", "num_bits": 5})
        candidates.append({"index_type": "IVF_RQ", "num_bits": 1})
    sizes = [size for size in PART_SIZES if width % size == 0]
    if width > MAX_WIDTH_OF_SMALL_PARTS:
        sizes = [size for size in sizes if size > PART_SIZES[-1]]
    candidates += [{"index_type": "IVF_PQ", "num_sub_vectors": width // size} for size in sizes]
    if width % 8 == 0 and width >= 8:
        candidates.append({"index_type": "IVF_PQ", "num_sub_vectors": width // 4, "num_bits": 4})
    return candidates


def _table_of(matrix: npt.NDArray[Any]) -> LanceDataset:
    """A table of the vectors, in memory."""
    flat = from_numpy(np.ascontiguousarray(matrix).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
    return lance_core.write_dataset(pa.table({"v": column}), "memory://")


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some rows of a table, and what is the same for all indices of them.

    ``table`` has them in the column ``v``; ``exact``: the answers to ``queries``;
    ``exact_seconds``: of a query; ``centroids`` took ``train_seconds``.
    """

    table: LanceDataset
    metric: str
    queries: RecallQueries
    exact: Sequence[set[int]]
    exact_seconds: float
    centroids: pa.Array
    train_seconds: float

    @classmethod
    def of(cls, table: LanceDataset, metric: str, k: int) -> _Sample:
        own, matrix = sampled_vectors(table, "v", QUERIES, seed=0)
        queries = RecallQueries(table.to_table, {"column": "v", "metric": metric}, matrix, own, k)
        exact, exact_seconds = exact_answers(queries)
        start = time.process_time()
        rate = min(256, table.count_rows() // PARTITIONS)
        model = IndicesBuilder(table, "v").train_ivf(
            PARTITIONS, distance_type=metric, sample_rate=rate, max_iters=MAX_ITERATIONS
        )
        seconds = time.process_time() - start
        return cls(table, metric, queries, exact, exact_seconds, model.centroids, seconds)

    def measured(self, options: Mapping[str, Any]) -> MeasuredRecall:
        """What searches with ``options`` find."""
        return measured_recall(self.queries, self.exact, options, TIMED_QUERIES)


def _measured(
    sample: _Sample, parameters: Mapping[str, Any], recall: float, num_rows: int
) -> IndexCandidate:
    """What an index of ``num_rows`` rows would be."""
    table = sample.table
    arguments = {"ivf_centroids": sample.centroids, "max_iters": MAX_ITERATIONS, **parameters}
    start = time.process_time()
    table.create_index("v", metric=sample.metric, replace=True, **arguments)
    seconds = sample.train_seconds + time.process_time() - start
    growth = num_rows / table.count_rows()
    least, ms = _least_effort(sample, parameters, recall, num_rows)
    (description,) = table.describe_indices()
    size = int((description.total_size_bytes or 0) * growth)
    nearest = {"recall": recall} if least.recall >= recall else dict(least.options)
    return IndexCandidate(parameters, nearest, least.recall, size, ms, seconds * growth)


def _least_effort(
    sample: _Sample, parameters: Mapping[str, Any], recall: float, num_rows: int
) -> tuple[MeasuredRecall, float]:
    """The search that finds ``recall`` in the least time, and the milliseconds of `_expected_ms`.

    The most effort, if none is enough. The least factor of refinement that is enough in all
    partitions is tried, and the next one, which may need fewer of them.
    """
    factors = (None,) if parameters["index_type"] in ("IVF_FLAT", "IVF_SQ") else FACTORS
    efforts: list[tuple[MeasuredRecall, float]] = []
    for factor in factors:
        keys = {} if factor is None else {"refine_factor": factor}
        in_all = sample.measured({**keys, "nprobes": PROBES[-1]})
        if in_all.recall < recall and factor != factors[-1]:
            continue
        fewest, by_probes = _fewest_probes(sample, in_all, recall)
        ms = _expected_ms(by_probes, fewest, sample.table.count_rows(), num_rows)
        efforts.append((fewest, ms))
        if len(efforts) == 2:
            break
    return min(efforts, key=lambda effort: effort[1])


def _fewest_probes(
    sample: _Sample, in_all: MeasuredRecall, recall: float
) -> tuple[MeasuredRecall, list[MeasuredRecall]]:
    """The search of the fewest partitions that finds ``recall``, and all that were measured.

    ``in_all``: the search of all partitions, whose other options the others share. It is the first
    of those that were measured, and the result if none finds ``recall``.
    """
    by_probes = {PROBES[-1]: in_all}

    def is_enough(probes: int) -> bool:
        by_probes[probes] = sample.measured({**in_all.options, "nprobes": probes})
        return by_probes[probes].recall >= recall

    fewest = PROBES[bisect_left(PROBES[:-1], True, key=is_enough)]
    return by_probes[fewest], list(by_probes.values())


def _expected_ms(
    by_probes: Sequence[MeasuredRecall], fewest: MeasuredRecall, sample_rows: int, num_rows: int
) -> float:
    """The time of a query of the whole table that finds as much as ``fewest`` of the sample.

    ``by_probes``: searches that differ in the number of partitions. The time is linear in the rows
    that are searched. In a table with more partitions, the number that must be searched for the
    same recall is taken to grow with the square root of theirs.
    """
    of_sample = sample_rows / PARTITIONS
    rows = [measured.options["nprobes"] * of_sample for measured in by_probes]
    ms = [1e3 * measured.seconds for measured in by_probes]
    slope, fixed = np.polyfit(rows, ms, 1)
    partitions = max(1, num_rows // PARTITION_ROWS)
    probes = fewest.options["nprobes"] * max(1.0, partitions / PARTITIONS) ** 0.5
    searched = min(num_rows, probes * num_rows / partitions)
    return float(max(0.0, fixed) + max(0.0, slope) * searched)
