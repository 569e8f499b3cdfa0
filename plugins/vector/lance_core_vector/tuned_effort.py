"""The effort that holds a recall: how many partitions to search, and how many rows to refine."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.hookspecs.indices import OpenIndex
from lance_core_vector.answers import RecallQueries, Scan, shares, vectors_in

MAX_QUERIES = 128
"""Rows whose vectors are the queries of a measurement: a recall of 0.95 at 10 rows is then known to
about 0.01."""

_ONE_SIDED = 1.64
"""Standard errors above a recall at which it is reached with a probability of 0.95."""

FACTORS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Multiples of the wanted rows that may be refined."""


class Effort(NamedTuple):
    """Partitions to search at first, and the multiple of rows that are refined (None: none)."""

    probes: int
    refine_factor: int | None


class _Measurement:
    """The effort, None before it is measured, and a lock for who measures it."""

    def __init__(self) -> None:
        self.lock = ForkSafeLock()
        self.effort: Effort | None = None


_Key: TypeAlias = tuple[int, float, tuple[ref[OpenIndex], ...]]

_measured: WeakKeyDictionary[OpenIndex, dict[_Key, _Measurement]] = WeakKeyDictionary()
"""A cache: by the first segment, the number of rows, the recall and the other segments."""

_measured_lock = ForkSafeLock()


def _measurement(segments: Sequence[OpenIndex], k: int, recall: float) -> _Measurement:
    first, *others = segments
    key = k, recall, tuple(map(ref, others))
    with _measured_lock:
        known = _measured.setdefault(first, {})
        for old in [old for old in known if any(other() is None for other in old[2])]:
            del known[old]  # a segment was replaced
        return known.setdefault(key, _Measurement())


def known_effort(segments: Sequence[OpenIndex], k: int, recall: float) -> Effort | None:
    """What `tuned_effort` returned before; None if it is not measured yet."""
    return _measurement(segments, k, recall).effort


def tuned_effort(
    segments: Sequence[OpenIndex],
    recall: float,
    k: int,
    partitions: int,
    queries: Callable[[], RecallQueries],
) -> Effort:
    """The least effort with which an index finds a share of the ``k`` nearest rows.

    ``segments``: the opened index; ``partitions``: the most of one of them. ``queries`` are made
    only if nothing is known. They read the whole column once for each index, ``k`` and recall, in
    each process; threads wait for it.
    """
    measurement = _measurement(segments, k, recall)
    with measurement.lock:
        if measurement.effort is None:
            measurement.effort = _measure(queries(), recall, partitions)
        return measurement.effort


def _measure(queries: RecallQueries, recall: float, partitions: int) -> Effort:
    if not len(queries.matrix):
        return Effort(partitions, None)
    exact = queries.answers({"use_index": False})

    def recalls(probes: int, factor: int) -> npt.NDArray[np.float64]:
        refined = {} if factor == 1 else {"refine_factor": factor}
        return shares(exact, queries.answers({"nprobes": probes, **refined}))

    def is_fine(factor: int) -> bool:
        # Half of what may be missed is left to the partitions that are not searched.
        return bool(recalls(partitions, factor).mean() >= (1 + recall) / 2)

    def is_enough(probes: int) -> bool:
        each = recalls(probes, factor)
        return bool(each.mean() - _ONE_SIDED * each.std() / np.sqrt(len(each)) >= recall)

    factor = 1 if is_fine(1) else _first(FACTORS[1:], is_fine)
    return Effort(_first(_numbers(partitions), is_enough), factor if factor > 1 else None)


def _first(numbers: Sequence[int], is_enough: Callable[[int], bool]) -> int:
    """The lowest of ``numbers``, which ascend, that is enough; the last one if none is."""
    at = bisect_left(numbers[:-1], True, key=is_enough)
    return numbers[at]


def _numbers(partitions: int) -> list[int]:
    """Numbers of partitions to try: each about a fourth above the one before."""
    numbers = [1]
    while numbers[-1] < partitions:
        numbers.append(min(partitions, max(numbers[-1] + 1, numbers[-1] * 5 // 4)))
    return numbers


def sampled_queries(scan: Scan, column: str, metric: str, k: int) -> RecallQueries:
    """The vectors of random rows as queries."""
    total = scan(columns=[]).num_rows
    offsets = np.random.default_rng(0).choice(total, min(MAX_QUERIES, total), replace=False)
    rows = [
        scan(columns=[column], with_row_id=True, offset=offset, limit=1)
        for offset in np.sort(offsets).tolist()
    ]
    own, matrix = vectors_in(pa.concat_tables(rows), column)
    return RecallQueries(scan, {"column": column, "metric": metric}, matrix, own, k)
