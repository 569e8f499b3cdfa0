"""The partitions of a read: the rows and the batch size of each Spark task."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

if TYPE_CHECKING:
    from lance_core.dataset import ScanSplit

MAX_PARTITION_BYTES = 256 << 20
"""Maximum bytes of the rows of a partition in memory, estimated."""

MIN_PARTITION_BYTES = 32 << 20
"""Bytes below which more tasks take longer: each costs Spark as much as some megabytes of rows."""

FRAGMENT_BYTES = 128 << 10
"""Bytes of rows that take about as long to read as it takes to open the files of a fragment."""

MAX_BATCH_ROWS = 1 << 16
BATCH_BYTES = 16 << 20
"""Default maximum rows and estimated bytes of a batch; both limits apply."""

MAX_NARROW_BATCH_ROWS = 1 << 18
NARROW_BATCH_BYTES = 6 << 20
"""Default maximum rows of a batch that has at most these estimated bytes: with a few narrow columns
each batch costs Spark and Python more than its rows do."""

MIN_BATCH_ROWS = 64

SNAP = 0.1
"""The share of a partition by which it may be smaller or larger to end where a fragment ends."""

RowRange = tuple[int, int, int]
"""Fragment id, first physical row, end of the physical rows (exclusive)."""


@dataclass(frozen=True)
class LancePartition(InputPartition):
    """The rows that one task reads, in order: ``ranges``, or ``splits`` if they are not None."""

    ranges: tuple[RowRange, ...]
    splits: tuple[ScanSplit, ...] | None = None

    def of(self, splits: Sequence[ScanSplit]) -> LancePartition:
        """The parts of ``splits`` if ``ranges`` have positions in ``splits`` as fragment ids."""
        parts = (splits[number].part(first, end) for number, first, end in self.ranges)
        return LancePartition((), tuple(parts))


@dataclass(frozen=True, slots=True)
class FragmentSize:
    """The physical rows of a fragment that has live rows, and the estimated bytes of each."""

    fragment_id: int
    rows: int
    row_bytes: float


def batch_rows(fragments: Sequence[FragmentSize], is_filtered: bool = False) -> int:
    """The default maximum rows of a batch; ``is_filtered``: of which a filter selects some."""
    widest = max((1, *(fragment.row_bytes for fragment in fragments)))
    narrow = 0 if is_filtered else min(MAX_NARROW_BATCH_ROWS, int(NARROW_BATCH_BYTES / widest))
    return max(MIN_BATCH_ROWS, min(MAX_BATCH_ROWS, int(BATCH_BYTES / widest)), narrow)


def partition_count(
    fragments: Sequence[FragmentSize], parallelism: int, min_count: int | None = None
) -> int:
    """The default number of partitions: limited by bytes, and a multiple of ``parallelism``.

    There are fewer than ``parallelism`` if they would have less than `MIN_PARTITION_BYTES` each,
    where each fragment counts `FRAGMENT_BYTES` besides its rows. ``min_count``: the minimum that
    the user has chosen, which is also the parallelism; a smaller number of fragments is enough.
    """
    if min_count is not None:
        return max(partition_count(fragments, min_count), min(min_count, len(fragments)))
    total = sum(fragment.rows * fragment.row_bytes for fragment in fragments)
    rounds = math.ceil(total / (parallelism * MAX_PARTITION_BYTES))
    if rounds > 1:
        return rounds * parallelism
    cost = total + len(fragments) * FRAGMENT_BYTES
    return max(1, min(parallelism, int(cost / MIN_PARTITION_BYTES)))


def equal_partitions(fragments: Sequence[FragmentSize], count: int) -> list[LancePartition]:
    """At most ``count`` partitions of about the same bytes, with all rows in order.

    They end where fragments end if that makes little difference (`SNAP`).
    """
    ends = [0.0, *accumulate(fragment.rows * fragment.row_bytes for fragment in fragments)]
    size = ends[-1] / count
    cuts = (_nearest(ends, size * i, SNAP * size) for i in range(1, count))
    return _cut(fragments, ends, [0.0, *cuts, ends[-1]])


def small_partitions(fragments: Sequence[FragmentSize], max_rows: int) -> list[LancePartition]:
    """Partitions of about the same rows, at most ``max_rows`` in each, with all rows in order."""
    counted = [FragmentSize(each.fragment_id, each.rows, 1) for each in fragments]
    ends = [0, *accumulate(fragment.rows for fragment in counted)]
    count = max(1, -(-ends[-1] // max_rows))
    return _cut(counted, ends, [ends[-1] * i // count for i in range(count + 1)])


def _nearest(ends: Sequence[float], cut: float, tolerance: float) -> float:
    """The end of a fragment that is within ``tolerance`` of ``cut``, else ``cut``."""
    index = bisect_left(ends, cut)
    near = min(ends[max(index - 1, 0) : index + 1], key=lambda end: abs(end - cut))
    return near if abs(near - cut) <= tolerance else cut


def _cut(
    fragments: Sequence[FragmentSize], ends: Sequence[float], cuts: Sequence[float]
) -> list[LancePartition]:
    """Partitions between consecutive ``cuts``; ``ends`` are the ends of fragments after a 0.

    There is at least one partition, which may be empty.
    """
    starts = [_row_at(fragments, ends, cut) for cut in cuts]
    groups = [tuple(_ranges(fragments, start, stop)) for start, stop in pairwise(starts)]
    return [LancePartition(ranges) for ranges in groups if ranges] or [LancePartition(())]


def _row_at(
    fragments: Sequence[FragmentSize], ends: Sequence[float], cut: float
) -> tuple[int, int]:
    """The index of the fragment that has the position ``cut``, and the row in it."""
    index = max(bisect_left(ends, cut) - 1, 0)
    if index == len(fragments):
        return index, 0
    fragment = fragments[index]
    return index, min(fragment.rows, round((cut - ends[index]) / fragment.row_bytes))


def _ranges(
    fragments: Sequence[FragmentSize], start: tuple[int, int], stop: tuple[int, int]
) -> Iterator[RowRange]:
    for index in range(start[0], min(stop[0] + 1, len(fragments))):
        fragment = fragments[index]
        first = start[1] if index == start[0] else 0
        end = stop[1] if index == stop[0] else fragment.rows
        if first < end:
            yield fragment.fragment_id, first, end
