"""Processes of the conformance kit: they share nothing but the storage.

The processes are started when a test needs them first, and end with the process that runs the
tests. What they run is pickled: functions of modules, classes, `functools.partial`, and instances
of such classes.
"""

from __future__ import annotations

import multiprocessing
import threading
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from multiprocessing.synchronize import Barrier
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

PROCESSES = 4
LONGEST = 300.0
"""Seconds after which a process counts as hanging."""

Wait: TypeAlias = Callable[[], object]
"""Waits until all processes of a race have come as far."""

_BROKEN = "another process failed"


def portable(function: F, fixture: str) -> F:
    """``function``, the value of a fixture, which another process must be able to call.

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
    """What ``run`` returns in each of `PROCESSES` processes, given their number and a `Wait`.

    All must wait equally often. An exception of a process is an `AssertionError` here.
    """
    return _results([(run, (number,), True) for number in range(PROCESSES)])


def in_another_process(run: Callable[[], T]) -> T:
    """What ``run`` returns in another process, which is the same one each time."""
    return _results([(run, (), False)])[0]


_Task: TypeAlias = tuple[Callable[..., T], tuple[int, ...], bool]
"""A function, its arguments, and whether it is also given a `Wait`."""


class _Worker:
    """A process that runs one task after the other."""

    def __init__(self, barrier: Barrier) -> None:
        self.connection, theirs = _context.Pipe()
        self.process = _context.Process(target=_work, args=(theirs, barrier), daemon=True)
        self.process.start()
        theirs.close()

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


_context = multiprocessing.get_context("forkserver")
_workers: list[_Worker] = []
_barriers: list[Barrier] = []
"""The one of the workers."""


def _results(tasks: Sequence[_Task[T]]) -> list[T]:
    chosen = _started(len(tasks))
    try:
        for worker, task in zip(chosen, tasks, strict=True):
            worker.connection.send(task)
        answers = [_answer(worker) for worker in chosen]
    except BaseException:  # what a process answers later would be taken for the next answer
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
        # Their parent is a process that has imported the kit and nothing else.
        _context.set_forkserver_preload(["lance_core.testing"])
        _barriers[:] = [_context.Barrier(PROCESSES)]
    while len(_workers) < count:
        _workers.append(_Worker(_barriers[0]))
    return _workers[:count]


def _answer(worker: _Worker) -> tuple[str | None, Any]:
    if not worker.connection.poll(LONGEST):
        raise AssertionError(f"another process did not end within {LONGEST:g} s")
    try:
        answer: tuple[str | None, Any] = worker.connection.recv()
    except EOFError as error:
        worker.process.join(LONGEST)
        code = worker.process.exitcode
        raise AssertionError(f"another process died, exit code {code}") from error
    return answer


def _end_workers() -> None:
    for worker in _workers:
        worker.end()
    _workers.clear()


def _work(connection: Connection, barrier: Barrier) -> None:
    """Run what comes until nobody can send anything more."""
    while True:
        answer: tuple[str | None, object]
        try:
            run, arguments, is_race = connection.recv()
            result = run(*arguments, barrier.wait) if is_race else run(*arguments)
            answer = (None, result)
        except EOFError:
            return
        except threading.BrokenBarrierError:
            answer = (_BROKEN, None)
        except BaseException:
            barrier.abort()
            answer = (traceback.format_exc(), None)
        connection.send(answer)
