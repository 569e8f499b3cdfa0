"""The thread pools of the process: which there are, and how work is given to them.

| pool | threads | tasks |
|---|---|---|
| `COMPUTE` | `num_threads()` | decode and filter rows, encode pages: processors are busy |
| `IO` | `IO_THREADS` | the same and small writes where a task mostly waits for a service |
| ``requests``, one per remote store | option of the store | one request each |
| ``cleanup``, one per cleanup | option of the cleanup | one call of the store each |

Kernels release the interpreter lock, and so does waiting for a service.

*Bounds.* A pool bounds the threads. Whoever gives work to it bounds the tasks, and with them the
memory: by ``ahead``, or by waiting for the first task before it submits another.

*Deadlocks.* (1) A task never waits for a task of the same pool: called by a thread of any pool,
`in_order` does all work itself. (2) Tasks of the other pools may wait for requests; a request waits
for no task. (3) What threads wait for each other to make (`LruCache` with ``made_once``) is made
without tasks other than requests.

*Forks.* Threads do not survive a fork. A child makes its own executors, and touches no future of
its parent: the thread that would complete it does not exist, and its lock may be held for ever.

*Exit.* Executors take nothing any more as soon as the main thread has returned. Other threads may
go on for long after that, and functions registered with `atexit` run then: they do the work
themselves.
"""

from __future__ import annotations

import collections
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Generic, Self, TypeVar

from lance_core.concurrency.cpu_count import VARIABLE, cpu_count
from lance_core.concurrency.fork_safe import ForkSafeLock

T = TypeVar("T")
R = TypeVar("R")

IO_THREADS = 16
"""Threads for work that mostly waits for a service, and how much of it is under way at most."""

_thread = threading.local()


def is_pool_thread() -> bool:
    """True if the calling thread belongs to a pool, so that it must not wait for one."""
    return getattr(_thread, "is_of_a_pool", False)


def _mark_thread() -> None:
    _thread.is_of_a_pool = True


@cache
def num_threads() -> int:
    """How many threads `COMPUTE` has: at least two, unless `VARIABLE` says one."""
    return cpu_count() if os.environ.get(VARIABLE) else max(2, cpu_count())


class ThreadPool:
    """At most ``size`` threads, made when they are needed; a forked child makes its own.

    As a context manager: at the end of the block what has not begun is dropped, and what has begun
    is waited for.
    """

    def __init__(self, name: str, size: int | Callable[[], int]) -> None:
        self._name = f"lance-core-{name}"
        self._size = size
        self._executor: ThreadPoolExecutor | None = None
        self._lock = ForkSafeLock()
        _pools.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def submit(self, work: Callable[..., R], *args: object) -> Future[R]:
        """``work(*args)`` under way in a thread, or done by the caller as the process ends."""
        try:
            return (self._executor or self._begin()).submit(work, *args)
        except RuntimeError:
            done: Future[R] = Future()
        try:
            done.set_result(work(*args))
        except BaseException as error:
            done.set_exception(error)
        return done

    def _begin(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._executor is None:
                size = self._size if isinstance(self._size, int) else self._size()
                self._executor = ThreadPoolExecutor(size, self._name, _mark_thread)
            return self._executor

    def run(self, works: Sequence[Callable[[], R]]) -> list[R]:
        """The results of ``works``, in order; the first of them is done by the caller itself.

        If one raises, those that have not begun never do, and the error is raised.
        """
        if len(works) == 1:
            return [works[0]()]
        futures = [self.submit(work) for work in works[1:]]
        try:
            return [work() for work in works[:1]] + [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def in_order(self, work: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[R]:
        """``work(item)`` for each item, results in the order of the items.

        At most ``ahead`` items are being worked on or wait for the caller, so memory stays bounded
        by that many results. A single item is worked on in the calling thread; so are all of them
        if that is a thread of a pool.

        When the iterator is closed, or an item fails, the items that wait for a thread are dropped.
        Those that are being worked on are not waited for: they end by themselves, and what they
        return or raise is lost. A child that was forked meanwhile works again on what was under
        way in the parent.
        """
        if is_pool_thread():
            yield from map(work, items)
            return
        source = iter(items)
        first = list(itertools.islice(source, 2))
        if len(first) < 2:
            yield from map(work, first)
            return
        under_way = _UnderWay(work, self)
        try:
            for item in itertools.chain(first, source):
                under_way.begin(item)
                if len(under_way.items) >= ahead:
                    yield under_way.next_result()
            while under_way.items:
                yield under_way.next_result()
        finally:
            under_way.cancel()

    def forget_threads(self) -> None:
        """Forget the threads, which a fork has left behind."""
        self._executor = None


_pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()

COMPUTE = ThreadPool("compute", num_threads)
"""For work that keeps processors busy."""

IO = ThreadPool("io", IO_THREADS)
"""For work that leaves processors idle while it waits."""


def _forget_all() -> None:
    for pool in list(_pools):
        pool.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def in_order(
    work: Callable[[T], R], items: Iterable[T], ahead: int, *, is_io_bound: bool = False
) -> Iterator[R]:
    """`ThreadPool.in_order` of the shared pools.

    With ``is_io_bound`` the work mostly waits for a service, so that more threads than there are
    processors help.
    """
    return (IO if is_io_bound else COMPUTE).in_order(work, items, ahead)


class _UnderWay(Generic[T, R]):
    """Items that threads work on, in order."""

    def __init__(self, work: Callable[[T], R], pool: ThreadPool) -> None:
        self._work = work
        self._pool = pool
        self._process = os.getpid()
        self.items: collections.deque[tuple[T, Future[R]]] = collections.deque()

    def begin(self, item: T) -> None:
        """Have a thread work on ``item``."""
        if self._process != os.getpid():
            self._begin_again()
        self.items.append((item, self._pool.submit(self._work, item)))

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
