"""`recommend_index`: which vector index holds a recall within limits, by builds of a sample."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import lance_core
from lance_core import LanceDataset
from lance_core.errors import InvalidInputError
from lance_core_vector.quality.recall_report import (
    MeasuredRecall,
    RecallReport,
    index_metric,
    recall_report,
    sampled_vectors,
    vector_index,
)

SAMPLE_ROWS = 20_000
"""Rows of the indices that are built to measure."""

QUERIES = 60

PARTITIONS = 10
"""Of the index of the sample."""

MAX_ITERATIONS = 10
"""Of a training: 50 change recalls by less than a hundredth. It is the greatest part of a build of
the sample, and does not take longer for more rows."""

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
    sample = _table_of(matrix)
    exact, candidates = 0.0, []
    try:
        for parameters in _candidates(matrix.shape[1], matrix.dtype, metric):
            candidate, exact = _measured(sample, parameters, metric, recall, k, num_rows)
            candidates.append(candidate)
    finally:
        LanceDataset.drop(sample.uri)  # a cache of stores would keep what it has in memory
    candidates.sort(key=lambda candidate: candidate.bytes)
    limits = [
        candidate
        for candidate in candidates
        if candidate.recall >= recall - 0.01
        and (bytes is None or candidate.bytes <= bytes)
        and (ms is None or candidate.ms <= ms)
    ]
    best = limits[0] if limits else None
    return IndexAdvice(column, num_rows, len(matrix), 1e3 * exact, tuple(candidates), best)


def _candidates(width: int, dtype: np.dtype[Any], metric: str) -> list[dict[str, Any]]:
    """Arguments of ``create_index`` to try."""
    candidates: list[dict[str, Any]] = [{"index_type": "IVF_FLAT"}]
    if dtype == np.uint8:
        return candidates
    candidates.append({"index_type": "IVF_SQ"})
    if width % 8 == 0:
        candidates.append({"index_type": "IVF_RQ", "num_bits": 5})
        candidates.append({"index_type": "IVF_RQ", "num_bits": 1})
    sizes = [size for size in (16, 8, 4) if width % size == 0]
    candidates += [{"index_type": "IVF_PQ", "num_sub_vectors": width // size} for size in sizes]
    if width % 8 == 0 and width >= 8:
        candidates.append({"index_type": "IVF_PQ", "num_sub_vectors": width // 4, "num_bits": 4})
    return candidates


def _table_of(matrix: npt.NDArray[Any]) -> LanceDataset:
    """A table of the vectors, in memory."""
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
    return lance_core.write_dataset(pa.table({"v": column}), "memory://")


def _measured(
    sample: LanceDataset,
    parameters: Mapping[str, Any],
    metric: str,
    recall: float,
    k: int,
    num_rows: int,
) -> tuple[IndexCandidate, float]:
    """What an index of ``num_rows`` rows would be, and the seconds of an exact search of them.

    The column ``v`` of ``sample`` has some of their vectors.
    """
    sample_rows = sample.count_rows()
    arguments = {"num_partitions": PARTITIONS, "max_iters": MAX_ITERATIONS, **parameters}
    start = time.process_time()
    sample.create_index("v", metric=metric, replace=True, **arguments)
    seconds = time.process_time() - start
    factors = (None,) if parameters["index_type"] in ("IVF_FLAT", "IVF_SQ") else FACTORS

    def measured(factors: Sequence[int | None], probes: Sequence[int]) -> RecallReport:
        tried = [
            {"nprobes": number} | ({} if factor is None else {"refine_factor": factor})
            for factor in factors
            for number in probes
        ]
        return recall_report(sample, "v", k=k, sample=QUERIES, options=tried, metric=metric)

    report = measured(factors, PROBES[-1:])
    # The least factor that is enough in all partitions, and the next one, which may need fewer.
    first = next(
        (
            at
            for at, measured_recall in enumerate(report.measured)
            if measured_recall.recall >= recall
        ),
        -1,
    )
    chosen, most = factors[first:][:2], report.measured[first:][:2]
    fewer = measured(chosen, PROBES[:-1]).measured
    best, ms = most[-1], np.inf
    for number, last in enumerate(most):
        start = number * (len(PROBES) - 1)
        same = [*fewer[start : start + len(PROBES) - 1], last]
        enough = [measured_recall for measured_recall in same if measured_recall.recall >= recall]
        expected = _expected_ms(same, enough[0], sample_rows, num_rows) if enough else np.inf
        if expected < ms:
            best, ms = enough[0], expected
    if ms == np.inf:
        ms = _expected_ms(same, best, sample_rows, num_rows)
    (description,) = sample.describe_indices()
    growth = num_rows / sample_rows
    size = int((description.total_size_bytes or 0) * growth)
    nearest = {"recall": recall} if best.recall >= recall else dict(best.options)
    candidate = IndexCandidate(parameters, nearest, best.recall, size, ms, seconds * growth)
    return candidate, report.exact_seconds * growth


def _expected_ms(
    same: Sequence[MeasuredRecall], chosen: MeasuredRecall, sample_rows: int, num_rows: int
) -> float:
    """The time of a query of the whole table that finds as much as ``chosen`` of the sample.

    ``same``: measurements that differ in the number of partitions. The time is linear in the rows
    that are searched. In a table with more partitions, the number that must be searched for the
    same recall is taken to grow with the square root of theirs.
    """
    of_sample = sample_rows / PARTITIONS
    rows = [measured_recall.options["nprobes"] * of_sample for measured_recall in same]
    slope, fixed = np.polyfit(rows, [1e3 * measured_recall.seconds for measured_recall in same], 1)
    partitions = max(1, num_rows // PARTITION_ROWS)
    probes = chosen.options["nprobes"] * max(1.0, partitions / PARTITIONS) ** 0.5
    searched = min(num_rows, probes * num_rows / partitions)
    return float(max(0.0, fixed) + max(0.0, slope) * searched)
