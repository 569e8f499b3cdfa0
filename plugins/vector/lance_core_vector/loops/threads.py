"""Threads for loops that release the interpreter's lock: as many as there are processors.

What they compute does not depend on how many there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from lance_core.hookspecs.concurrency import ThreadPool, cpu_count

T = TypeVar("T")
R = TypeVar("R")

PART_PRODUCTS = 1 << 25
"""Products of numbers for which a thread pays: about a millisecond."""

_POOL = ThreadPool("vectors", cpu_count)


def in_threads(
    work: Callable[[T], R], items: Iterable[T], num_at_once: int | None = None
) -> Iterator[R]:
    """``work(item)`` for each item, in their order; few are under way at the same time.

    ``num_at_once``: of them, at most.
    """
    if cpu_count() == 1 or num_at_once == 1:
        return map(work, items)
    return _POOL.in_order(work, items, min(cpu_count() + 1, num_at_once or cpu_count() + 1))


def parts_of(count: int, least: int) -> Sequence[range]:
    """The numbers from 0 to ``count`` in parts, one for each thread, of about ``least`` or more."""
    parts = max(1, min(cpu_count(), count // max(1, least)))
    ends = [count * part // parts for part in range(parts + 1)]
    return [range(start, stop) for start, stop in itertools.pairwise(ends)]


def blocks_of(count: int, size: int) -> Sequence[range]:
    """The numbers from 0 to ``count`` in blocks of ``size``, of which the last may be shorter."""
    return [range(start, min(start + size, count)) for start in range(0, count, size)]
