"""What a scan measures on request: rows, bytes, requests and time of each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.dataset.read.fragments.span import fragment_ids
from lance_core.lazy_dataclass import dataclass
from lance_core.store.wrappers.counting import ReadCounters

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import FragmentOrRun
    from lance_core.index.loads import Loads


class StepMetrics(ReadCounters):
    """One step of a scan, executed by any number of threads.

    ``rows_scanned``: rows that the step read or got. ``output_rows`` and ``output_bytes``: what it
    returned. ``ranges_scanned``: runs of rows. ``seconds``: the sum over all threads.
    """

    __slots__ = (
        "fragments",
        "output_batches",
        "output_bytes",
        "output_rows",
        "ranges_scanned",
        "rows_scanned",
        "seconds",
        "sums",
    )

    def __init__(self) -> None:
        super().__init__()
        self.sums = ForkSafeLock()
        self.rows_scanned = self.ranges_scanned = 0
        self.output_rows = self.output_bytes = self.output_batches = 0
        self.fragments: set[int] = set()
        self.seconds = 0.0

    def timed(
        self, rows: int = 0, source: FragmentOrRun | None = None
    ) -> AbstractContextManager[None]:
        """Add the time of a block, and the ``rows`` of ``source`` that the block reads."""
        return self._timed(rows, source)

    @contextmanager
    def _timed(self, rows: int, source: FragmentOrRun | None) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            with self.sums:
                self.seconds += spent
                self.rows_scanned += rows
                if source is not None:
                    ids = fragment_ids(source)
                    self.fragments.update(ids)
                    self.ranges_scanned += len(ids)

    def returned(self, rows: int, size: int) -> None:
        """Add a part of the step's result."""
        with self.sums:
            self.output_rows += rows
            self.output_bytes += size
            self.output_batches += 1


class _Unmeasured(StepMetrics):
    """A step that nobody measures: costs next to nothing and keeps nothing."""

    def timed(
        self, rows: int = 0, source: FragmentOrRun | None = None
    ) -> AbstractContextManager[None]:
        return _NOTHING

    def returned(self, rows: int, size: int) -> None:
        pass


_NOTHING = nullcontext()


class ScanMetrics:
    """The metrics of one scan.

    ``read``: reads of the filter's columns, or of all columns without a filter. ``filter``: the
    evaluation of the filter. ``late``: reads of other columns for the rows that satisfy it.
    ``sort`` and ``result``: the order, and the columns of the result. ``index``: the search of
    indices; its ``ranges_scanned`` are pages, zones and bitmaps. ``loads``: what searches loaded.
    ``ranking``: what a scan that ranks rows has decided.
    """

    def __init__(self, step: type[StepMetrics] = StepMetrics) -> None:
        self.read, self.filter, self.late = step(), step(), step()
        self.sort, self.result, self.index = step(), step(), step()
        self.loads: list[Loads] = []
        self.ranking: list[str] = []

    def before_order(self, late: StepMetrics) -> ScanMetrics:
        """The metrics of the scan whose rows are sorted; its late reads are added to ``late``."""
        inner = ScanMetrics()
        inner.read, inner.filter, inner.late = self.read, self.filter, late
        inner.index, inner.loads = self.index, self.loads
        return inner

    def statistics(self) -> ScanStatistics:
        """The sums of all steps."""
        reads = (self.read, self.late)
        return ScanStatistics(
            iops=sum(step.iops for step in reads),
            requests=sum(step.requests for step in reads),
            bytes_read=sum(step.bytes_read for step in reads),
            all_counts={
                "fragments_scanned": len(self.read.fragments | self.late.fragments),
                "ranges_scanned": sum(step.ranges_scanned for step in reads),
                "rows_scanned": sum(step.rows_scanned for step in reads),
                "output_rows": self.result.output_rows,
            },
            all_times={
                f"{name}_elapsed_compute": round(step.seconds * 1e9)
                for name, step in vars(self).items()
                if isinstance(step, StepMetrics) and step.seconds
            },
            indices_loaded=sum(loads.indices for loads in self.loads),
            parts_loaded=sum(loads.parts for loads in self.loads),
            index_comparisons=self.index.ranges_scanned,
        )


UNMEASURED = ScanMetrics(_Unmeasured)
"""For scans that nobody measures."""


@dataclass(frozen=True)
class ScanStatistics:
    """What ``scan_stats_callback`` gets after a scan.

    ``requests``: byte ranges that the scan asked for; ``iops``: reads after ranges that are close
    together are combined; ``bytes_read``: bytes of the ranges. ``all_counts``: rows, runs of rows
    and fragments; ``all_times``: nanoseconds of each step, the sum over all threads.
    ``index_comparisons``: pages, zones and bitmaps of indices. ``indices_loaded``: indices that the
    scan opened; ``parts_loaded``: their pages, bitmaps and lists that it read because they were not
    in memory. Hits and misses of caches are not counted and 0.
    """

    iops: int
    requests: int
    bytes_read: int
    all_counts: Mapping[str, int]
    all_times: Mapping[str, int]
    indices_loaded: int = 0
    parts_loaded: int = 0
    index_comparisons: int = 0
    index_cache_hits: int = 0
    index_cache_misses: int = 0


StatisticsCallback = Callable[[ScanStatistics], object]
