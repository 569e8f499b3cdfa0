"""Encode the pages of several fields in threads, and return them in the order of the fields."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from itertools import islice
from typing import TypeVar

from lance_core.concurrency.cpu_count import cpu_count
from lance_core.concurrency.pools import COMPUTE, is_pool_thread

T = TypeVar("T")

_MAX_THREADS = 4
"""Maximum number of threads: each holds a page and its input arrays, so this bounds memory."""

_AT_ONCE = 2
"""Default items of a task. Most fields have one page ready; a task for two also detects the end."""

Made = Callable[[], Iterable[T]]
"""Function that returns the ready pages of a field; one thread at a time calls and iterates it."""


def num_threads() -> int:
    """Number of threads that encode pages: the usable processors of the process, at most 4."""
    return min(_MAX_THREADS, cpu_count())


def in_order(
    sources: Sequence[Made[T]],
    at_once: int = _AT_ONCE,
    while_waiting: Callable[[], bool] = lambda: False,
) -> Generator[tuple[int, T], None, None]:
    """Pairs of a source's number and an item, one source after the other.

    Threads compute ``at_once`` items ahead for the first ``num_threads() + 1`` unfinished sources.
    ``while_waiting`` is called while the next item is not ready, until it returns False: it does a
    step of the caller's own work, if there is more.

    An error of a source is raised at the position of its item or of the item before. After an
    error, and after the iterator is closed, no thread computes items. In a thread of a pool, the
    caller's thread computes all items.
    """
    if is_pool_thread():
        for number, source in enumerate(sources):
            yield from ((number, item) for item in source())
        return
    numbers = iter(range(len(sources)))
    ahead: deque[tuple[int, Iterator[T], Future[list[T]]]] = deque()
    process = os.getpid()

    def begin() -> None:
        for number in numbers:
            iterator = _items(sources[number])
            ahead.append((number, iterator, COMPUTE.submit(_next, iterator, at_once)))
            if len(ahead) > num_threads():
                return

    try:
        begin()
        while ahead:
            number, iterator, future = ahead[0]
            while not future.done() and while_waiting():
                pass
            made = future.result()
            if len(made) == at_once:
                ahead[0] = number, iterator, COMPUTE.submit(_next, iterator, at_once)
            else:
                ahead.popleft()
                begin()
            del future
            while made:
                yield number, made.pop(0)
    finally:
        if process == os.getpid():  # no thread computes items in a forked child
            for _, _, future in ahead:
                future.cancel()
            wait([future for _, _, future in ahead])


def _items(source: Made[T]) -> Iterator[T]:
    """Iterate over a source; the source is called when the first item is requested."""
    yield from source()


def _next(iterator: Iterator[T], count: int) -> list[T]:
    """The next ``count`` items; fewer at the end."""
    return list(islice(iterator, count))
