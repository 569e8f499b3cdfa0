"""The effort that holds a recall: how many partitions to search, and how many rows to refine."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.hookspecs.indices import OpenIndex
from lance_core_vector.vectors import Vectors

if TYPE_CHECKING:
    from lance_core.hookspecs.searches import Hits, RankedQuery, RankedRows

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


def _measurement(rows: RankedRows, k: int, recall: float) -> _Measurement:
    first, *others = rows.segments
    key = k, recall, tuple(map(ref, others))
    with _measured_lock:
        known = _measured.setdefault(first, {})
        for old in [old for old in known if any(other() is None for other in old[2])]:
            del known[old]  # a segment was replaced
        return known.setdefault(key, _Measurement())


def known_effort(rows: RankedRows, k: int, recall: float) -> Effort | None:
    """What `tuned_effort` returned before; None if it is not measured yet."""
    return _measurement(rows, k, recall).effort


def tuned_effort(
    rows: RankedRows,
    query: Callable[..., RankedQuery],
    partitions: int,
    k: int,
    recall: float,
) -> Effort:
    """The least effort with which an index of ``rows`` finds a share of the ``k`` nearest rows.

    ``query(vectors, k, **options)`` is a query for several vectors; ``partitions``: the most of a
    segment. Vectors of rows are the queries, each of which does not count among its own results.
    Reads the whole column once for each index and ``k``, in each process; threads wait for it.
    """
    measurement = _measurement(rows, k, recall)
    with measurement.lock:
        if measurement.effort is None:
            measurement.effort = _measure(rows, query, partitions, k, recall)
        return measurement.effort


def _measure(
    rows: RankedRows, query: Callable[..., RankedQuery], partitions: int, k: int, recall: float
) -> Effort:
    own, values = rows.sample(MAX_QUERIES)
    vectors = Vectors.of(values)
    if vectors.rows is not None:
        own = own[vectors.rows]
    if not len(own):
        return Effort(partitions, None)
    nearest = _others(rows.exact(query(vectors.matrix, k + 1)), own, k)

    def places(**effort: Any) -> list[npt.NDArray[np.int64]]:
        """The places of the nearest rows in the order of the index; many for those it misses."""
        found = rows.indexed(query(vectors.matrix, k + 1, **effort))
        pairs = zip(_others(found, own, None), nearest, strict=True)
        return [_places_in(hits, wanted) for hits, wanted in pairs]

    def shares(places: Sequence[npt.NDArray[np.int64]], factor: int) -> npt.NDArray[np.float64]:
        """The share of the nearest rows that each query finds."""
        return np.array([(one < factor * k).mean() if len(one) else 1.0 for one in places])

    every = places(search_effort=1.0, refine_factor=FACTORS[-1])
    # Half of what may be missed is left to the partitions that are not searched.
    enough = (1 + recall) / 2
    found = [float(shares(every, factor).mean()) for factor in FACTORS]
    factor = FACTORS[next((at for at, one in enumerate(found) if one >= enough), -1)]

    def is_enough(probes: int) -> bool:
        each = shares(places(probes=probes, refine_factor=factor), factor)
        return bool(each.mean() - _ONE_SIDED * each.std() / np.sqrt(len(each)) >= recall)

    numbers = _numbers(partitions)
    at = bisect_left(numbers, True, key=is_enough)
    return Effort(numbers[min(at, len(numbers) - 1)], factor if factor > 1 else None)


def _numbers(partitions: int) -> list[int]:
    """Numbers of partitions to try: each about a fourth above the one before."""
    found = [1]
    while found[-1] < partitions:
        found.append(min(partitions, max(found[-1] + 1, found[-1] * 5 // 4)))
    return found


def _others(
    hits: Sequence[Hits], own: npt.NDArray[np.uint64], count: int | None
) -> list[npt.NDArray[np.uint64]]:
    """The rows of each query, without the one whose vector it is."""
    pairs = zip(hits, own.tolist(), strict=True)
    return [one.rows[one.rows != row][:count] for one, row in pairs]


def _places_in(
    rows: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """The position in ``rows`` of each of ``wanted``; beyond all positions if it is not there."""
    order = np.argsort(rows)
    at = np.minimum(np.searchsorted(rows[order], wanted), max(0, len(rows) - 1))
    if not len(rows):
        return np.full(len(wanted), np.iinfo(np.int64).max)
    found: npt.NDArray[np.int64] = order[at]
    return np.where(rows[found] == wanted, found, np.iinfo(np.int64).max)
