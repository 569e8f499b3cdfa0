"""`recall_report`: what searches with an index find, measured against exact search."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core import LanceDataset
from lance_core.errors import InvalidInputError
from lance_core.indices import IndexDescription
from lance_core_vector.answers import RecallQueries, shares, vectors_in
from lance_core_vector.options import query_vectors

Z = 1.96
"""Standard errors on both sides of a mean in which the true one is with a probability of 0.95."""

MAX_TIMED = 20
"""Queries that are asked alone, to measure the time of one."""


@dataclass(frozen=True)
class MeasuredRecall:
    """What searches with ``options`` find: the share of the nearest rows.

    ``low`` to ``high``: the interval that has the true share with a probability of 0.95;
    ``worst``: the share of the query that finds least. ``seconds``: of processor time for a query,
    asked alone (median of 20, or of all where there are fewer).
    """

    options: Mapping[str, Any]
    recall: float
    low: float
    high: float
    worst: float
    seconds: float


@dataclass(frozen=True)
class RecallReport:
    """The recall of an index for each set of options, in their order.

    ``num_queries``: how many were asked for the ``k`` nearest rows each. ``exact_seconds``: of
    processor time for a query of the exact search, which was asked for all at once. ``drift``: how
    many times as far from the centroids of the index as the rows of its training those are that
    were added since, in squared distances; None if it is not known, and for few rows.
    """

    column: str
    k: int
    num_queries: int
    measured: tuple[MeasuredRecall, ...]
    exact_seconds: float
    drift: float | None = None

    def __repr__(self) -> str:
        exact = f"exact search: {1e3 * self.exact_seconds:.2f} ms a query"
        lines = [
            f"recall@{self.k} of {self.column!r}, {self.num_queries} queries ({exact})",
            f"{'recall':>7} {'95 % interval':>15} {'worst':>6} {'ms':>8}  options",
        ]
        for row in self.measured:
            interval = f"{row.low:.3f}-{row.high:.3f}"
            options = ", ".join(f"{name}={value}" for name, value in row.options.items())
            lines.append(
                f"{row.recall:7.3f} {interval:>15} {row.worst:6.2f} {1e3 * row.seconds:8.2f}  "
                f"{options or 'default'}"
            )
        if self.drift is not None:
            lines.append(f"rows added since the training are {self.drift:.1f} times as far")
        return "\n".join(lines)


def recall_report(  # noqa: PLR0913 (each has a default)
    dataset: LanceDataset,
    column: str,
    *,
    k: int = 10,
    queries: Any = None,
    sample: int = 100,
    options: Sequence[Mapping[str, Any]] = ({},),
    metric: str | None = None,
    seed: int = 0,
) -> RecallReport:
    """The share of the ``k`` nearest rows that searches of ``column`` with an index find.

    ``queries``: vectors, one a row; by default those of ``sample`` random rows, each of which does
    not count among its own results. ``options``: keys of ``nearest``, one set after the other;
    ``{}`` is the default. ``metric``: by default that of the index. The exact search reads the
    column once, for all queries. Issues an `IndexWarning` for the drift of an index, as
    ``index_stats`` does. Raises `InvalidInputError`.
    """
    if k < 1 or sample < 1:
        raise InvalidInputError(f"k and sample must be 1 or more, got {k} and {sample}")
    own: npt.NDArray[np.uint64] | None = None
    if queries is None:
        own, matrix = sampled_vectors(dataset, column, sample, seed)
    else:
        matrix, _ = query_vectors(queries)
    if not len(matrix):
        raise InvalidInputError(f"column {column!r} has no vectors to ask for")
    index = vector_index(dataset, column)
    metric = metric or index_metric(index)
    keys = {"column": column} | ({} if metric is None else {"metric": metric})
    queried = RecallQueries(dataset.to_table, keys, matrix, own, k)
    exact, exact_seconds = exact_answers(queried)
    measured = [measured_recall(queried, exact, keys_of_nearest) for keys_of_nearest in options]
    drift = None if index is None else _drift(dataset, index)
    return RecallReport(column, k, len(matrix), tuple(measured), exact_seconds, drift)


def vector_index(dataset: LanceDataset, column: str) -> IndexDescription | None:
    """The first vector index of ``column``; None if there is none."""
    for index in dataset.describe_indices():
        if index.field_names == [column] and "metric_type" in index.details:
            return index
    return None


def index_metric(index: IndexDescription | None) -> str | None:
    """The metric of an index; None without one."""
    return None if index is None else str(index.details["metric_type"]).lower()


def _drift(dataset: LanceDataset, index: IndexDescription) -> float | None:
    """That of all segments of an index: the mean, by the rows that were added to each."""
    segments = dataset.stats.index_stats(index.name)["segments"]
    known = [own for own in segments if own.get("drift") is not None]
    if not known:
        return None
    weights = [own["num_added_rows"] for own in known]
    return float(np.average([own["drift"] for own in known], weights=weights))


def sampled_vectors(
    dataset: LanceDataset, column: str, count: int, seed: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]:
    """The row ids and the vectors of ``count`` random rows, or of those of them that have one."""
    total = dataset.count_rows()
    random = np.random.default_rng(seed)
    offsets = np.sort(random.choice(total, min(count, total), replace=False))
    return vectors_in(dataset.take(offsets, columns=[column, "_rowid"]), column)


def exact_answers(queries: RecallQueries) -> tuple[list[set[int]], float]:
    """The answers of the exact search, and its seconds of processor time for a query."""
    start = time.process_time()
    exact = queries.answers({"use_index": False})
    return exact, (time.process_time() - start) / len(queries.matrix)


def measured_recall(
    queries: RecallQueries,
    exact: Sequence[set[int]],
    options: Mapping[str, Any],
    timed: int = MAX_TIMED,
) -> MeasuredRecall:
    """What searches with ``options`` find of ``exact``; ``timed``: queries that are asked alone."""
    recalls = shares(exact, queries.answers(options))  # reads what is cached
    seconds = []
    for number in range(min(timed, len(exact))):
        query = queries.alone(number)
        start = time.process_time()
        query.answers(options)
        seconds.append(time.process_time() - start)
    low, high = interval(recalls)
    mean, worst = (float(recalls.mean()), float(recalls.min())) if len(recalls) else (1.0, 1.0)
    return MeasuredRecall(dict(options), mean, low, high, worst, float(np.median(seconds)))


def interval(shares: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The interval of the mean of ``shares``, each from 0 to 1.

    That of Wilson for as many trials as give the variance that the shares have: it is not empty if
    all shares are 1.
    """
    count = max(1, len(shares))
    mean = float(shares.mean()) if len(shares) else 1.0
    variance = float(shares.var(ddof=1)) if len(shares) > 1 else 0.25
    trials = count if variance <= 0 else max(count, count * mean * (1 - mean) / variance)
    center = (mean + Z**2 / (2 * trials)) / (1 + Z**2 / trials)
    half = Z / (1 + Z**2 / trials) * np.sqrt(mean * (1 - mean) / trials + Z**2 / (4 * trials**2))
    return max(0.0, float(center - half)), min(1.0, float(center + half))
