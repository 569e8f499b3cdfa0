"""Copies of ranges of files to one new file, by threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from lance_core.concurrency.cpu_count import cpu_count
from lance_core.concurrency.pools import COMPUTE, ThreadPool
from lance_core.store.base import ByteRange
from lance_core.store.local.opened_file import OpenedFile

TASK_BYTES = 4 << 20
"""Bytes of the new file that one task writes."""

MAX_RANGES = 64
"""Maximum number of ranges of a task."""

MAX_WAITING = 256
"""Maximum number of ranges in tasks that are not finished, and so of files that are open."""

COPIES = ThreadPool("copies", 2)
"""Threads that copy: one writes to the file while the other reads what comes next; a third one
would only wait. Their tasks wait for nothing, so threads of any pool may wait for them."""


class _Copy(NamedTuple):
    """A range of a file, and its place in the new file."""

    source: OpenedFile
    start: int
    length: int
    place: int


class RangeCopies:
    """Copies ranges to one file, whose writer may write elsewhere in it at the same time.

    ``copy(source, start, length, place)`` copies ``length`` bytes from ``start`` of the open file
    ``source`` to ``place`` of the new one. The calling thread copies less than `TASK_BYTES`, and
    all that comes while other threads use the other processors.
    """

    __slots__ = ("_copy", "_next", "_running", "_waiting")

    def __init__(self, copy: Callable[[OpenedFile, int, int, int], None]) -> None:
        self._copy = copy
        self._next: list[_Copy] = []
        self._running: deque[tuple[Future[None], int]] = deque()
        self._waiting = 0

    def add(self, source: OpenedFile, wanted: ByteRange, place: int) -> None:
        """Copy a range, now or later; may raise the error of an earlier range."""
        at, stop = wanted
        while at < stop:
            length = min(stop - at, TASK_BYTES - place % TASK_BYTES)
            self._next.append(_Copy(source, at, length, place))
            at += length
            place += length
            if place % TASK_BYTES == 0 or len(self._next) == MAX_RANGES:
                self._begin()

    def finish(self) -> None:
        """Copy the rest, and wait until all ranges are copied; raises the first error."""
        copies, self._next = self._next, []
        self._copy_all(copies)
        while self._running:
            self._wait()

    def cancel(self) -> None:
        """Begin no other task. Does not wait: a task that is running may use the files longer."""
        self._next.clear()
        for task, _ in self._running:
            task.cancel()
        self._running.clear()

    def _begin(self) -> None:
        copies, self._next = self._next, []
        if 1 + COMPUTE.num_unfinished >= cpu_count():
            # Threads would only wait for a processor, and for the interpreter lock.
            self._copy_all(copies)
            return
        while self._running and self._waiting + len(copies) > MAX_WAITING:
            self._wait()
        self._running.append((COPIES.submit(self._copy_all, copies), len(copies)))
        self._waiting += len(copies)

    def _wait(self) -> None:
        """Wait for the first task."""
        task, count = self._running.popleft()
        self._waiting -= count
        task.result()

    def _copy_all(self, copies: Sequence[_Copy]) -> None:
        for one in copies:
            self._copy(*one)
