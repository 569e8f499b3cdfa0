"""Worker processes of the conformance kit, which share only the storage.

The processes are started on first use and end with the test process. Their tasks are pickled:
module-level functions, classes, `functools.partial`, and instances of such classes.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from multiprocessing.synchronize import Barrier, Event
from types import FrameType
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

PROCESSES = 4
MAX_SECONDS = 300.0
"""Seconds after which a process counts as hanging."""

OVERTAKEN = 16
"""Number of points within an attempt at which another process overtakes it."""

HEAD_START = 0.2
"""Maximum seconds for overtaking; the overtaken process may hold a lock."""


class Wait:
    """A callable that waits until all processes of a race have called it.

    One of two processes sets ``overtaken`` for the other.
    """

    def __init__(self, barrier: Barrier, overtaken: Event) -> None:
        self._barrier = barrier
        self.overtaken = overtaken

    def __call__(self) -> None:
        self._barrier.wait()

    def abort(self) -> None:
        """Release all waiting processes."""
        self._barrier.abort()


_BROKEN = "another process failed"


def portable(function: F, fixture: str) -> F:
    """Return ``function``, the value of a fixture, if other processes can call it.

    Raises `AssertionError` if it cannot be pickled.
    """
    try:
        ForkingPickler.dumps(function)
    except Exception as error:
        raise AssertionError(
            f"the fixture `{fixture}` gave {function!r}, which cannot be pickled ({error}). Other "
            "processes call it: give a function of a module, a class or a functools.partial of "
            "one; or say in `in_process_only` why one process alone can use what it makes"
        ) from error
    return function


def race_processes(run: Callable[[int, Wait], T]) -> list[T]:
    """The results of ``run`` in `PROCESSES` processes, called with their number and a `Wait`.

    All processes must wait the same number of times. An exception in a process becomes an
    `AssertionError` here.
    """
    return _results([(run, (number,), True) for number in range(PROCESSES)])


Attempt: TypeAlias = Callable[[int, int], bool]
"""An attempt with the number of the process and of the round; returns True on success."""


def race_overtaken(start: Callable[[], Attempt]) -> list[list[int]]:
    """The winners of each round in which one process overtakes another in the middle of an attempt.

    The first process is stopped at a function call within its attempt, in each round at a later
    one, until the second process has finished its attempt. So this always detects a store that
    checks first and writes afterwards.
    """
    ours, theirs, *_ = race_processes(_Overtaking(start))
    rounds = zip(ours, theirs, strict=True)
    return [[number for number, has_won in enumerate(both) if has_won] for both in rounds]


@dataclass(frozen=True)
class _Overtaking:
    start: Callable[[], Attempt]

    def __call__(self, number: int, wait: Wait) -> list[bool]:
        attempt, won = self.start(), []
        calls = _Calls()
        if number == 0:
            calls.run(lambda: attempt(0, 0))
        for n in range(1, OVERTAKEN + 1):
            wait()
            if number == 0:
                nth = calls.seen * n // (OVERTAKEN + 1) + 1
                won.append(_Calls(nth, wait).run(_bound(attempt, n)))
            else:
                wait()
            if number == 1:
                won.append(attempt(1, n))
                wait.overtaken.set()
            wait()
            if number == 0:
                wait.overtaken.clear()
        return won


def _bound(attempt: Attempt, n: int) -> Callable[[], bool]:
    return lambda: attempt(0, n)


class _Calls:
    """Counts the function calls of this thread, and lets another process run at the nth call."""

    def __init__(self, nth: int = 0, wait: Wait | None = None) -> None:
        self.seen = 0
        self._nth = nth
        self._wait = wait

    def run(self, attempt: Callable[[], bool]) -> bool:
        sys.setprofile(self._watch)
        try:
            return attempt()
        finally:
            sys.setprofile(None)
            self._let_overtake()  # this run may make fewer calls than the first one

    def _watch(self, frame: FrameType, event: str, argument: object) -> None:
        if event in {"call", "c_call"}:
            self.seen += 1
            if self.seen == self._nth:
                self._let_overtake()

    def _let_overtake(self) -> None:
        wait, self._wait = self._wait, None
        if wait is not None:
            wait()
            wait.overtaken.wait(HEAD_START)


def in_another_process(run: Callable[[], T]) -> T:
    """The result of ``run`` in another process, which is the same one for all calls."""
    return _results([(run, (), False)])[0]


_Task: TypeAlias = tuple[Callable[..., T], tuple[int, ...], bool]
"""A function, its arguments, and True if it also takes a `Wait`."""


class _Worker:
    """A process that runs tasks one by one."""

    def __init__(self, wait: Wait) -> None:
        self.connection, theirs = _context.Pipe()
        self.process = _context.Process(target=_work, args=(theirs, wait), daemon=True)
        self.process.start()
        theirs.close()

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


_context = multiprocessing.get_context("forkserver")
_workers: list[_Worker] = []
_waits: list[Wait] = []
"""The `Wait` of the workers."""


def _results(tasks: Sequence[_Task[T]]) -> list[T]:
    chosen = _started(len(tasks))
    try:
        for worker, task in zip(chosen, tasks, strict=True):
            worker.connection.send(sys.path)  # it may have grown since the process was started
            worker.connection.send(task)
        answers = [_answer(worker) for worker in chosen]
    except BaseException:  # a late result would be taken for that of the next task
        _end_workers()
        raise
    failures = [text for text, _ in answers if text is not None]
    if failures:
        _end_workers()  # the barrier is broken
        told = [text for text in failures if text != _BROKEN]
        raise AssertionError(f"in another process:\n{(told or failures)[0]}")
    return [result for _, result in answers]


def _started(count: int) -> list[_Worker]:
    if not _workers:
        # Workers are forked from a process that has imported only the kit.
        _context.set_forkserver_preload(["lance_core_testing"])
        _waits[:] = [Wait(_context.Barrier(PROCESSES), _context.Event())]
    while len(_workers) < count:
        _workers.append(_Worker(_waits[0]))
    return _workers[:count]


def _answer(worker: _Worker) -> tuple[str | None, Any]:
    if not worker.connection.poll(MAX_SECONDS):
        raise AssertionError(f"another process did not end within {MAX_SECONDS:g} s")
    try:
        answer: tuple[str | None, Any] = worker.connection.recv()
    except EOFError as error:
        worker.process.join(MAX_SECONDS)
        code = worker.process.exitcode
        raise AssertionError(f"another process died, exit code {code}") from error
    return answer


def _end_workers() -> None:
    for worker in _workers:
        worker.end()
    _workers.clear()


def _work(connection: Connection, wait: Wait) -> None:
    """Run the tasks that arrive until the connection is closed."""
    while True:
        answer: tuple[str | None, object]
        try:
            sys.path[:] = connection.recv()
            run, arguments, is_race = connection.recv()
            result = run(*arguments, wait) if is_race else run(*arguments)
            answer = (None, result)
        except EOFError:
            return
        except threading.BrokenBarrierError:
            answer = (_BROKEN, None)
        except BaseException:
            wait.abort()
            answer = (traceback.format_exc(), None)
        connection.send(answer)
