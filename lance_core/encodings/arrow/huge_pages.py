"""Large buffers in mappings with huge pages, which later buffers use again.

The operating system clears fresh memory, which takes a quarter of the time of a scan. So mappings
of freed buffers can be kept for the next ones. Meanwhile they are marked as free: the system takes
their pages before it swaps or ends a process, and hands out cleared ones at the next use.
"""

from __future__ import annotations

import mmap
import weakref
from collections import deque
from contextlib import suppress
from functools import cache, partial

import pyarrow as pa

with suppress(ImportError):  # Windows has no limits, and no huge pages like these either
    import resource

MAX_KEPT_BYTES = 512 << 20
"""Maximum bytes of the mappings that are kept, for the whole process."""

HUGE_PAGE = 2 << 20
"""Size of a huge page."""

_UNUSED = 8
"""The unused end of a mapping is at most one part in this many of the buffer."""

_kept: dict[int, deque[mmap.mmap]] = {}
"""Mappings without a buffer, by the number of their huge pages.

Threads share it without a lock, because a garbage collection in the middle of any call may free a
buffer: each call of a method of a dict or deque happens at once.
"""

_lent: dict[int, tuple[weakref.ref[memoryview], mmap.mmap]] = {}
"""The mappings to keep when their buffers are freed, by the id of the reference that tells it."""


def huge_bytes(size: int) -> int:
    """How many of the first bytes of a buffer of ``size`` bytes get huge pages.

    The last page is a huge one if little of it is unused: all of it becomes resident.
    """
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return 0
    rounded = _pages(size) * HUGE_PAGE
    return rounded if rounded - size <= size // _UNUSED else rounded - HUGE_PAGE


def huge_buffer(size: int, *, max_kept: int) -> pa.Buffer:
    """An uninitialised buffer; its bytes may be those of an earlier one.

    When it is freed, its memory is kept for later buffers, and other kept memory is given back
    until all has at most ``max_kept`` bytes, and `MAX_KEPT_BYTES`. Raises `OSError` if the system
    has too many mappings or no huge pages.
    """
    mapped = _again(size) or _mapped(size)
    view = memoryview(mapped)[:size]
    if max_kept:
        watch = weakref.ref(view, partial(_keep, max_kept))
        _lent[id(watch)] = watch, mapped
    return pa.py_buffer(view)


def drop_kept() -> None:
    """Unmap all kept memory."""
    _kept.clear()


def _mapped(size: int) -> mmap.mmap:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    try:
        # Linux aligns mappings to huge pages if they have the size of some.
        mapped = mmap.mmap(-1, _pages(size) * HUGE_PAGE, flags=flags)
    except OSError:
        drop_kept()
        mapped = mmap.mmap(-1, _pages(size) * HUGE_PAGE, flags=flags)
    mapped.madvise(mmap.MADV_HUGEPAGE, 0, huge_bytes(size))
    return mapped


def _again(size: int) -> mmap.mmap | None:
    """The smallest kept mapping for ``size`` bytes; None if all are too small or too large."""
    least = _pages(size)
    for pages in range(least, max(least, (size + size // _UNUSED) // HUGE_PAGE) + 1):
        try:
            return _kept[pages].pop()
        except LookupError:
            continue
    return None


def _keep(max_kept: int, freed: weakref.ref[memoryview]) -> None:
    """Keep the mapping of a freed buffer, rather than mappings of other sizes."""
    _, mapped = _lent.pop(id(freed))
    most = min(max_kept, _most_kept()) // HUGE_PAGE
    pages = len(mapped) // HUGE_PAGE
    if pages > most:
        return
    try:
        mapped.madvise(mmap.MADV_FREE)
    except OSError:  # the system cannot: it gets all of it back
        return
    _kept.setdefault(pages, deque()).append(mapped)
    sizes = list(_kept)
    retained = sum(size * len(_kept[size]) for size in sizes)
    for size in sorted(sizes, key=pages.__eq__):
        while retained > most:
            try:
                _kept[size].popleft()
            except IndexError:
                break
            retained -= size


@cache
def _most_kept() -> int:
    """No memory is kept if the address space is limited: others could not allocate from it.

    Limits are set before a process reads tables, if at all.
    """
    if not hasattr(mmap, "MADV_FREE"):
        return 0
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return MAX_KEPT_BYTES if limit == resource.RLIM_INFINITY else 0


def _pages(size: int) -> int:
    """The number of huge pages for ``size`` bytes."""
    return -(-size // HUGE_PAGE)
