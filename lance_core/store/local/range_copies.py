"""Copies of ranges of files to one new file, by threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.cpu_count import cpu_count
from lance_core.concurrency.pools import COMPUTE, ThreadPool
from lance_core.store.local.opened_file import FileRange, OpenedFile

TASK_BYTES = 4 << 20
"""Bytes of the new file that one task writes."""

MAX_RANGES = 64
"""Maximum number of ranges of a task."""

MAX_WAITING = 256
"""Maximum number of ranges in tasks that are not finished, and so of files that are open."""

COPIES = ThreadPool("copies", 2)
"""Threads that copy: one writes to the file while the other reads what comes next; a third one
would only wait. Their tasks wait for nothing, so threads of any pool may wait for them."""


class RangeCopies:
    """Copies ranges to one file, whose writer may write elsewhere in it at the same time.

    ``copy`` copies parts of open files. The calling thread copies less than `TASK_BYTES`; and if
    ``copy`` needs the interpreter lock, all that comes while other threads use the other
    processors.
    """

    __slots__ = ("_copy", "_needs_lock", "_next", "_running", "_waiting")

    def __init__(self, copy: Callable[[Sequence[FileRange]], None], *, needs_lock: bool) -> None:
        self._copy = copy
        self._needs_lock = needs_lock
        self._next: list[FileRange] = []
        self._running: deque[tuple[Future[None], int]] = deque()
        self._waiting = 0

    def add(self, source: OpenedFile, byte_range: ByteRange, target: int) -> None:
        """Copy a range to position ``target``, now or later; raises errors of earlier ranges."""
        at, stop = byte_range
        while at < stop:
            length = min(stop - at, TASK_BYTES - target % TASK_BYTES)
            self._next.append(FileRange(source, at, length, target))
            at += length
            target += length
            if target % TASK_BYTES == 0 or len(self._next) == MAX_RANGES:
                self._begin()

    def finish(self) -> None:
        """Copy the rest, and wait until all ranges are copied; raises the first error."""
        parts, self._next = self._next, []
        if parts:
            self._copy(parts)
        while self._running:
            self._wait()

    def cancel(self) -> None:
        """Begin no other task. Does not wait: a task that is running may use the files longer."""
        self._next.clear()
        for task, _ in self._running:
            task.cancel()
        self._running.clear()

    def _begin(self) -> None:
        parts, self._next = self._next, []
        if self._needs_lock and 1 + COMPUTE.num_unfinished >= cpu_count():
            # Threads would only wait for a processor, and after each range for the lock.
            self._copy(parts)
            return
        while self._running and self._waiting + len(parts) > MAX_WAITING:
            self._wait()
        count = len(parts)
        self._running.append((COPIES.submit(self._run, parts), count))
        self._waiting += count

    def _run(self, parts: list[FileRange]) -> None:
        """A task. It drops its files before it is done: the thread keeps it for longer."""
        try:
            self._copy(parts)
        finally:
            parts.clear()

    def _wait(self) -> None:
        """Wait for the first task."""
        task, count = self._running.popleft()
        self._waiting -= count
        task.result()
