"""Threads for the requests of one store that are under way at the same time."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.concurrency.submit import submit

T = TypeVar("T")


class RequestThreads:
    """At most ``number`` threads, made when they are needed; a forked child makes its own.

    What runs in them never waits for another of them.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._executor: ThreadPoolExecutor | None = None
        self._lock = ForkSafeLock()
        _all.add(self)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Do ``work`` in one of the threads."""
        executor = self._executor
        if executor is None:
            with self._lock:
                if self._executor is None:
                    self._executor = ThreadPoolExecutor(self._number, "lance-core-requests")
                executor = self._executor
        return submit(executor, work)

    def run(self, works: Sequence[Callable[[], T]]) -> list[T]:
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

    def forget(self) -> None:
        """Forget the threads, which a fork has left behind."""
        self._executor = None


_all: weakref.WeakSet[RequestThreads] = weakref.WeakSet()


def _forget_all() -> None:
    for threads in list(_all):
        threads.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
