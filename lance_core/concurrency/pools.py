"""The process's pools for reading and decoding; kernels release the interpreter lock."""

from __future__ import annotations

import collections
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cache
from typing import Generic, TypeVar

from lance_core.concurrency.cpu_count import VARIABLE, cpu_count
from lance_core.concurrency.submit import submit

T = TypeVar("T")
R = TypeVar("R")


@cache
def pool() -> ThreadPoolExecutor:
    """The shared pool, with as many threads as the process may use processors."""
    return ThreadPoolExecutor(num_threads(), thread_name_prefix="lance-core", initializer=_mark_own)


WAITING = 16
"""Threads for work that mostly waits for a service, and how much of it is under way at most."""


@cache
def waiting_pool() -> ThreadPoolExecutor:
    """The shared pool for work that leaves the processors idle while it waits."""
    return ThreadPoolExecutor(WAITING, "lance-core-waiting", initializer=_mark_own)


_local = threading.local()


def _mark_own() -> None:
    """Remember that the thread is one of a pool's."""
    _local.is_own = True


@cache
def num_threads() -> int:
    """How many threads the pool has: at least two, unless `VARIABLE` says one."""
    return cpu_count() if os.environ.get(VARIABLE) else max(2, cpu_count())


if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork; the child makes its own pool.
    os.register_at_fork(after_in_child=pool.cache_clear)
    os.register_at_fork(after_in_child=waiting_pool.cache_clear)


def in_order(
    work: Callable[[T], R], items: Iterable[T], ahead: int, *, is_io_bound: bool = False
) -> Iterator[R]:
    """``work(item)`` for each item, results in the order of the items.

    At most ``ahead`` items are being worked on or wait for the caller, so memory stays bounded by
    that many results. With ``is_io_bound``, the work mostly waits for a service, and more threads
    than there are processors help. A single item is worked on in the calling thread; so are all of
    them if that is one of a pool, whose threads would wait for each other.

    When the iterator is closed, or an item fails, the items that wait for a thread are dropped.
    Those that are being worked on are not waited for: they end by themselves, and what they return
    or raise is lost. A child that was forked meanwhile goes on with a pool of its own, and works
    again on what was under way in the parent.
    """
    if getattr(_local, "is_own", False):
        yield from map(work, items)
        return
    source = iter(items)
    first = list(itertools.islice(source, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    under_way = _UnderWay(work, waiting_pool if is_io_bound else pool)
    try:
        for item in itertools.chain(first, source):
            under_way.begin(item)
            if len(under_way.items) >= ahead:
                yield under_way.next_result()
        while under_way.items:
            yield under_way.next_result()
    finally:
        under_way.cancel()


class _UnderWay(Generic[T, R]):
    """Items that threads work on, in order.

    Nothing of the parent's futures is touched in a forked child: their threads do not exist there,
    and a thread of the parent may have held the lock of any of them when the process forked.
    """

    def __init__(self, work: Callable[[T], R], executor: Callable[[], Executor]) -> None:
        self._work = work
        self._executor = executor
        self._process = os.getpid()
        self.items: collections.deque[tuple[T, Future[R]]] = collections.deque()

    def begin(self, item: T) -> None:
        """Have a thread work on ``item``."""
        if self._process != os.getpid():
            self._begin_again()
        self.items.append((item, submit(self._executor(), self._work, item)))

    def next_result(self) -> R:
        """What became of the first item."""
        if self._process != os.getpid():
            self._begin_again()
        return self.items.popleft()[1].result()

    def cancel(self) -> None:
        """Drop what no thread has begun."""
        if self._process == os.getpid():
            for _, future in self.items:
                future.cancel()

    def _begin_again(self) -> None:
        self._process = os.getpid()
        items = [item for item, _ in self.items]
        self.items.clear()
        for item in items:
            self.begin(item)
