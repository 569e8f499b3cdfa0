"""Keeps the memory of a process that runs thousands of tests small.

Tests leave garbage in cycles, stores that are cached keep files mapped, and pools of Arrow and of
the C library keep what was freed. All of it is given back when a process has grown past a limit.
What is in pieces cannot be given back: without limits of its own the C library puts large blocks
between small ones that stay, and a process that needs 320 MB grows to twice that.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from pathlib import Path

import pyarrow as pa

MALLOC_LIMITS = {
    -1: 32 << 20,  # M_TRIM_THRESHOLD: bytes at the end of the heap that are free and kept
    -3: 4 << 20,  # M_MMAP_THRESHOLD: bytes from which a block is mapped alone
    -8: 2,  # M_ARENA_MAX: heaps, of which threads have one each otherwise
}
"""Numbers of ``mallopt`` and their values. A limit that is set no longer grows by itself.

With those at the start, 128 KiB, the system clears up to five times as many pages, and a process is
3 % smaller."""

MAX_RESIDENT = 400 << 20
"""Bytes of a process above which it gives memory back: below it that would only cost time."""

STEP = 50 << 20
"""Bytes that a process has to grow before it tries again: a collection takes half a second."""

THRESHOLDS = 50_000, 20, 100
"""Of Python's collector, whose own take three per cent of the time of small tests."""

_LIBC = ctypes.CDLL(None)


def collect_and_freeze() -> None:
    """Collect, and let later collections pass over all objects of now: modules, tests to be run.

    In a process that has run many tests, a collection that passes over nothing takes as long as ten
    small tests.
    """
    gc.collect()
    gc.freeze()


def release_unused() -> None:
    """Give memory that was freed back to the system."""
    pa.default_memory_pool().release_unused()
    if hasattr(_LIBC, "malloc_trim"):
        _LIBC.malloc_trim(0)


class WorkerMemory:
    """Bounds the resident memory of this process, with what is mapped from files."""

    def __init__(self) -> None:
        self._limit = MAX_RESIDENT
        gc.set_threshold(*THRESHOLDS)
        if hasattr(_LIBC, "mallopt"):
            for number, value in MALLOC_LIMITS.items():
                _LIBC.mallopt(number, value)

    def give_back(self) -> None:
        """Give unused memory back to the system if this process has grown past the limit."""
        if _resident() < self._limit:
            return
        stores = sys.modules.get("lance_core.plugins.store_cache")
        if stores is not None:
            stores.live_stores.reset()
        gc.collect()
        release_unused()
        self._limit = max(MAX_RESIDENT, _resident() + STEP)


def _resident() -> int:
    """Bytes of memory that are resident (Linux; elsewhere 0)."""
    counts = Path("/proc/self/statm")
    if not counts.exists():
        return 0
    return int(counts.read_bytes().split()[1]) * resource.getpagesize()
