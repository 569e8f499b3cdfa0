"""Totals of what stores of the core read and wrote: of each store, and of the whole process."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from lance_core.byte_ranges import BufferSlices
from lance_core.concurrency.fork_safe import ForkSafeLock

_SIZE = attrgetter("size")


class StoreTotals:
    """Totals since the store was opened.

    ``reads``: byte ranges and whole objects; ``writes``: objects; both with their bytes.
    """

    __slots__ = ("bytes_read", "bytes_written", "lock", "reads", "writes")

    def __init__(self) -> None:
        self.lock = ForkSafeLock()
        self.reads = self.bytes_read = self.writes = self.bytes_written = 0

    def count_write(self, size: int) -> None:
        """Add an object of ``size`` bytes."""
        with self.lock:
            self.writes += 1
            self.bytes_written += size

    def numbers(self) -> tuple[int, int, int, int]:
        """Reads, bytes that were read, writes, bytes that were written."""
        with self.lock:
            return self.reads, self.bytes_read, self.writes, self.bytes_written


_TOTALS = StoreTotals()


def totals_of(store: Any) -> StoreTotals | None:
    """The attribute ``totals`` of a store, or of the one that it wraps; None if it counts none."""
    while (inner := getattr(store, "inner", None)) is not None:
        store = inner
    totals: StoreTotals | None = getattr(store, "totals", None)
    return totals


def count_reads(buffers: Sequence[pa.Buffer], totals: StoreTotals | None = None) -> None:
    """Add buffers that a store returned, one for each byte range or object.

    ``totals``: those of the store; the process counts them in any case.
    """
    # The first branch is for speed: the test of a class for sequences is Python code.
    if type(buffers) is not list and isinstance(buffers, BufferSlices):
        size = int(buffers.sizes.sum())
    else:
        size = sum(map(_SIZE, buffers))
    for each in (_TOTALS,) if totals is None else (_TOTALS, totals):
        with each.lock:
            each.reads += len(buffers)
            each.bytes_read += size


def iops_counter() -> int:
    """The byte ranges and objects that this process has read; a request may hold several."""
    return _TOTALS.reads


def bytes_read_counter() -> int:
    """The total bytes of the ranges and objects that `iops_counter` counts.

    Of a file that is mapped into memory, the requested bytes count, even if they are not accessed.
    """
    return _TOTALS.bytes_read
