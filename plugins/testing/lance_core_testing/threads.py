"""Threads of the conformance kit. An exception in one of them fails the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def race_threads(run: Callable[[int], T], count: int) -> list[T]:
    """The results of ``run`` in ``count`` threads, which start at the same time.

    An exception of a thread is raised after all threads have ended.
    """
    start = threading.Barrier(count)

    def racer(number: int) -> T:
        start.wait()
        return run(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(racer, range(count)))


@contextmanager
def background_calls(run: Callable[[], None], count: int = 2) -> Iterator[None]:
    """Call ``run`` repeatedly in ``count`` threads until the block ends.

    Each thread has run it once before the block starts, and runs it once more after the block. An
    exception of a thread ends that thread and is raised at the end of the block.
    """
    done = threading.Event()
    started = [threading.Event() for _ in range(count)]

    def repeat(started: threading.Event) -> None:
        try:
            run()
        finally:
            started.set()
        while not done.is_set():
            run()
        run()

    with ThreadPoolExecutor(count) as threads:
        running = [threads.submit(repeat, event) for event in started]
        try:
            for event in started:
                event.wait()
            yield
        finally:
            done.set()
        for future in running:
            future.result()
