"""Little memory and little time for a piece of code."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.worker_memory import collect_and_freeze, release_unused

MIB = 1 << 20
MOST_BYTES = 256 * MIB
MOST_SECONDS = 5.0


@contextmanager
def limited() -> Iterator[None]:
    """No more addresses than `MOST_BYTES`, so that an allocation of more is a `MemoryError`.

    Raises `AssertionError` for more than `MOST_SECONDS` of the processor.
    """
    # What was freed before may not serve here.
    collect_and_freeze()
    release_unused()
    old, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_BYTES, hard))
    start = time.process_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (old, hard))
    spent = time.process_time() - start
    assert spent < MOST_SECONDS, f"{spent:.1f} s"
