"""Totals of what this process has read from all stores of the core, since it started."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import pyarrow as pa

from lance_core.byte_ranges import BufferSlices
from lance_core.concurrency.fork_safe import ForkSafeLock

_SIZE = attrgetter("size")


class _Totals:
    __slots__ = ("bytes", "lock", "reads")

    def __init__(self) -> None:
        self.lock = ForkSafeLock()
        self.reads = self.bytes = 0


_TOTALS = _Totals()


def count_reads(buffers: Sequence[pa.Buffer]) -> None:
    """Add buffers that a store returned, one for each byte range or object."""
    # The first branch is for speed: the test of a class for sequences is Python code.
    if type(buffers) is not list and isinstance(buffers, BufferSlices):
        size = int(buffers.sizes.sum())
    else:
        size = sum(map(_SIZE, buffers))
    with _TOTALS.lock:
        _TOTALS.reads += len(buffers)
        _TOTALS.bytes += size


def iops_counter() -> int:
    """The byte ranges and objects that this process has read; a request may hold several."""
    return _TOTALS.reads


def bytes_read_counter() -> int:
    """The total bytes of the ranges and objects that `iops_counter` counts.

    Of a file that is mapped into memory, the requested bytes count, even if they are not accessed.
    """
    return _TOTALS.bytes
