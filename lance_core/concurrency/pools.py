"""The thread pools of the process, and functions that submit work to them.

- `COMPUTE`, `num_threads()` threads: decode and filter rows, encode pages; processors are busy.
- `IO`, `IO_THREADS` threads: the same and small writes, if a task mostly waits for a service.
- ``requests``, one pool per remote store, whose option is its size: one request each.
- ``cleanup``, one pool per cleanup, whose option is its size: one call of the store each.
- ``copies``, two threads: copies from local file to local file.

Kernels release the global interpreter lock, and so does waiting for a service.

*Bounds.* A pool bounds the number of threads. The caller bounds the number of tasks, and so the
memory: with ``ahead``, or by waiting for the first task before it submits another.

*Deadlocks.* (1) A task never waits for a task of the same pool: called by a thread of any pool,
`in_order` does all work itself. (2) Tasks of the other pools may wait for requests and copies,
which never wait for a task. (3) Creating an item for which other threads wait (`LruCache` with
``made_once``) uses no tasks except requests.

*Forks.* Threads do not survive a fork. A child creates its own executors and does not use futures
of its parent: the thread that would complete a future does not exist, and its lock may stay locked
forever.

*Exit.* Executors refuse tasks after the main thread has returned. Other threads may run long after
that, and functions registered with `atexit` run then: they do the work in their own thread.
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
from typing import Any, Generic, Self, TypeVar

from lance_core.concurrency.cpu_count import THREADS_VARIABLE, cpu_count
from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.concurrency.turns import leave_turn

T = TypeVar("T")
R = TypeVar("R")

IO_THREADS = 16
"""Number of threads for work that mostly waits for a service, and maximum number of its parallel
tasks."""

_thread = threading.local()


def is_pool_thread() -> bool:
    """True if the calling thread belongs to a pool; such a thread must not wait for a pool."""
    return getattr(_thread, "is_of_a_pool", False)


class AbandonedTaskError(Exception):
    """Ends a task whose result is not used any more; no caller ever gets it."""


def check_not_abandoned() -> None:
    """Raise `AbandonedTaskError` if the caller of `ThreadPool.in_order` has given up.

    Tasks that may take long call it between their steps: a process that was interrupted does not
    end before its threads do.
    """
    is_abandoned = getattr(_thread, "is_abandoned", None)
    if is_abandoned is not None and is_abandoned():
        raise AbandonedTaskError


def run_interruptibly(work: Callable[[], R]) -> R:
    """The result of ``work``, a long call into native code that does not see signals.

    On the main thread, a thread of its own runs it, so that Ctrl-C raises `KeyboardInterrupt` at
    once. The work then goes on until it ends or the process does, which does not wait for it.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    result: Future[R] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name="lance-core-interruptible", daemon=True).start()
    return result.result()


def _mark_thread() -> None:
    _thread.is_of_a_pool = True


@cache
def num_threads() -> int:
    """The number of threads of `COMPUTE`: at least two, unless `THREADS_VARIABLE` is one."""
    return cpu_count() if os.environ.get(THREADS_VARIABLE) else max(2, cpu_count())


class ThreadPool:
    """At most ``size`` threads, created on demand; a forked child creates its own.

    As a context manager, it cancels waiting tasks at the end of the block and waits for running
    ones.
    """

    def __init__(self, name: str, size: int | Callable[[], int]) -> None:
        self._name = f"lance-core-{name}"
        self._size = size
        self._executor: ThreadPoolExecutor | None = None
        self._lock = ForkSafeLock()
        self._unfinished: set[Future[Any]] = set()
        _pools.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def submit(self, work: Callable[..., R], *args: object) -> Future[R]:
        """Run ``work(*args)`` in a thread, or in the calling thread while the process exits."""
        try:
            future = (self._executor or self._begin()).submit(work, *args)
            self._unfinished.add(future)
            future.add_done_callback(self._unfinished.discard)
            return future
        except RuntimeError:
            done: Future[R] = Future()
        try:
            done.set_result(work(*args))
        except BaseException as error:
            done.set_exception(error)
        return done

    @property
    def num_unfinished(self) -> int:
        """The number of tasks that wait for a thread or have one."""
        return len(self._unfinished)

    def _begin(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._executor is None:
                size = self._size if isinstance(self._size, int) else self._size()
                self._executor = ThreadPoolExecutor(size, self._name, _mark_thread)
            return self._executor

    def run(self, works: Sequence[Callable[[], R]]) -> list[R]:
        """The results of ``works``, in order; the caller executes the first one itself.

        If one raises, those that have not started are cancelled, and the error is raised.
        """
        if len(works) == 1:
            return [works[0]()]
        leave_turn()
        futures = [self.submit(work) for work in works[1:]]
        try:
            return [work() for work in works[:1]] + [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def in_order(self, work: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[R]:
        """Yield ``work(item)`` for each item, in the order of the items.

        At most ``ahead`` items are in progress or wait for the caller, so memory is bounded by this
        many results. A single item is processed in the calling thread; so are all items if that
        thread belongs to a pool.

        If the iterator is closed or an item fails, items that wait for a thread are cancelled.
        Items in progress continue without being waited for, at most until they call
        `check_not_abandoned`, and their results or errors are ignored. A child that was forked at
        that time processes the items again that were in progress in the parent.
        """
        if is_pool_thread():
            yield from map(work, items)
            return
        source = iter(items)
        first = list(itertools.islice(source, 2))
        if len(first) < 2:
            yield from map(work, first)
            return
        leave_turn()
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
        """Drop the executor after a fork, because its threads do not exist in the child."""
        self._executor = None
        self._unfinished = set()


_pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()

COMPUTE = ThreadPool("compute", num_threads)
"""The pool for CPU-bound work."""

IO = ThreadPool("io", IO_THREADS)
"""The pool for I/O-bound work."""


def _forget_all() -> None:
    for pool in list(_pools):
        pool.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def in_order(
    work: Callable[[T], R], items: Iterable[T], ahead: int, *, is_io_bound: bool = False
) -> Iterator[R]:
    """`ThreadPool.in_order` on the shared pools.

    ``is_io_bound``: the work mostly waits for a service, so more threads than processors are
    useful.
    """
    return (IO if is_io_bound else COMPUTE).in_order(work, items, ahead)


class _UnderWay(Generic[T, R]):
    """Items that threads process, in order."""

    def __init__(self, work: Callable[[T], R], pool: ThreadPool) -> None:
        self._work = work
        self._pool = pool
        self._process = os.getpid()
        self._is_abandoned = False
        self.items: collections.deque[tuple[T, Future[R]]] = collections.deque()

    def begin(self, item: T) -> None:
        """Let a thread process ``item``."""
        if self._process != os.getpid():
            self._begin_again()
        self.items.append((item, self._pool.submit(self._task, item)))

    def _task(self, item: T) -> R:
        _thread.is_abandoned = lambda: self._is_abandoned
        try:
            return self._work(item)
        finally:
            _thread.is_abandoned = None

    def next_result(self) -> R:
        """The result of the first item; raises its error."""
        if self._process != os.getpid():
            self._begin_again()
        return self.items.popleft()[1].result()

    def cancel(self) -> None:
        """Cancel the items that no thread has started, and abandon the others."""
        self._is_abandoned = True
        if self._process == os.getpid():
            for _, future in self.items:
                future.cancel()

    def _begin_again(self) -> None:
        self._process = os.getpid()
        items = [item for item, _ in self.items]
        self.items.clear()
        for item in items:
            self.begin(item)
