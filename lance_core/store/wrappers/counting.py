"""Count the reads that one scan makes, without a cost for reads that nobody counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.store.base import ObjectStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper

T = TypeVar("T")


class ReadCounters:
    """Totals of reads by any number of threads.

    ``requests``: byte ranges and whole objects that were requested. ``iops``: reads after ranges of
    one call that are close together (`ObjectStore.coalesce_gap`) are combined. ``bytes_read``:
    bytes that were returned.
    """

    __slots__ = ("_lock", "bytes_read", "iops", "requests", "views")

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self.requests = self.iops = self.bytes_read = 0
        self.views: dict[Any, Any] = {}
        """For each object that reads, a copy of it that counts here; those who count fill it."""

    def add(self, requests: int, iops: int, bytes_read: int) -> None:
        """Add to the totals."""
        with self._lock:
            self.requests += requests
            self.iops += iops
            self.bytes_read += bytes_read


class CountingStore(StoreWrapper):
    """A store whose reads are added to ``counters``."""

    def __init__(self, inner: ObjectStore, counters: ReadCounters) -> None:
        super().__init__(inner)
        self.has_views = inner.has_views
        self._counters = counters

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        result = run()
        if call.method == "get":
            assert isinstance(result, pa.Buffer)
            self._counters.add(1, 1, result.size)
        return result

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        buffers = self.inner.get_ranges(path, ranges)
        iops = _combined(ranges, self.coalesce_gap)
        self._counters.add(len(ranges), iops, sum(range_.length for range_ in ranges))
        return buffers


def _combined(ranges: Sequence[ByteRange], gap: int) -> int:
    """The number of runs of ``ranges`` with gaps of at most ``gap`` bytes."""
    count, end = 0, -gap - 1
    for start, stop in sorted(ranges):
        count += start > end + gap
        end = max(end, stop)
    return count
