"""A memory limit for decoding damaged data."""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

MAX_BYTES = 64 << 20
"""Maximum bytes of memory for decoding a small piece of damaged data."""


@contextmanager
def bounded_memory(name: str, size: int, most: int = MAX_BYTES) -> Iterator[None]:
    """Raise `AssertionError` if the block uses more than ``most`` plus 32 times ``size`` bytes.

    Measures the peak memory of Python, numpy and Arrow's default memory pool above its initial
    value.
    """
    pool, counting = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    # A buffer does not keep its pool alive, and a cache may hold buffers until interpreter exit,
    # which clears modules in any order. Freeing a buffer after its pool is a segmentation fault.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(counting))
    pa.set_memory_pool(counting)
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1] + (counting.max_memory() or 0)
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(pool)
    allowed = most + 32 * size
    assert peak < allowed, (
        f"{name}: decoding took {peak} bytes of memory, may take {allowed}; it must not use memory "
        "for what damaged data claims"
    )
