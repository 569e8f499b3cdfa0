"""The memory of a block of code: a limit for damaged data, and the peak of anything else."""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

MAX_BYTES = 64 << 20
"""Maximum bytes of memory for decoding a small piece of damaged data."""


class MeasuredMemory:
    """``peak``: bytes above the initial value, once the block has ended."""

    peak = 0


@contextmanager
def measured_memory() -> Iterator[MeasuredMemory]:
    """Measure the peak memory of Python, numpy and Arrow's default memory pool in the block."""
    pool, counting = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    # A buffer does not keep its pool alive, and a cache may hold buffers until interpreter exit,
    # which clears modules in any order. Freeing a buffer after its pool is a segmentation fault.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(counting))
    pa.set_memory_pool(counting)
    measured = MeasuredMemory()
    tracemalloc.start()
    try:
        yield measured
        measured.peak = tracemalloc.get_traced_memory()[1] + (counting.max_memory() or 0)
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(pool)


@contextmanager
def bounded_memory(name: str, size: int, most: int = MAX_BYTES) -> Iterator[None]:
    """Raise `AssertionError` if the block uses more than ``most`` plus 32 times ``size`` bytes."""
    with measured_memory() as measured:
        yield
    allowed = most + 32 * size
    assert measured.peak < allowed, (
        f"{name}: decoding took {measured.peak} bytes of memory, may take {allowed}; it must not "
        "use memory for what damaged data claims"
    )
