"""Encode the pages of several fields in threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from typing import Any, TypeAlias, TypeVar

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
    sources: Sequence[Made[T]], at_once: int = _AT_ONCE
) -> Generator[tuple[int, T], None, None]:
    """Pairs of a source's number and an item, one source after the other.

    Threads compute ``at_once`` items ahead for the first ``num_threads() + 1`` unfinished sources.

    An error of a source is raised at the position of its item or of the item before. After an
    error, and after the iterator is closed, no thread computes items. In a thread of a pool, the
    caller's thread computes all items.
    """
    if is_pool_thread():
        yield from _one_by_one(sources)
        return
    numbers = iter(range(len(sources)))
    ahead: deque[tuple[int, Iterator[T], Future[list[T]]]] = deque()
    process, at_most = os.getpid(), num_threads()

    def begin() -> None:
        for number in numbers:
            iterator = _items(sources[number])
            ahead.append((number, iterator, COMPUTE.submit(_next, iterator, at_once)))
            if len(ahead) > at_most:
                return

    try:
        begin()
        while ahead:
            number, iterator, future = ahead[0]
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
        _stop(process, [future for _, _, future in ahead])


def as_ready(
    sources: Sequence[Made[T]], while_waiting: Callable[[], bool]
) -> Generator[tuple[int, T], None, None]:
    """Pairs of a source's number and an item, whichever is ready first.

    The items of a source come in their order. Threads compute one item ahead for
    ``num_threads() + 1`` unfinished sources, or all items of a source that returns a list.
    ``while_waiting`` is called while no item is ready, until it returns False: it does a step of
    the caller's own work, if there is more. Errors, and threads of a pool, are as for `in_order`.
    """
    if is_pool_thread():
        yield from _one_by_one(sources)
        return
    numbers = iter(range(len(sources)))
    running: dict[Future[_Ready[T]], int] = {}
    process, at_most = os.getpid(), num_threads()
    has_work = True

    def begin() -> None:
        while len(running) <= at_most and (number := next(numbers, None)) is not None:
            running[COMPUTE.submit(_first, sources[number])] = number

    try:
        begin()
        while running:
            ready = next(filter(Future.done, running), None)
            if ready is None:
                has_work = has_work and while_waiting()
                if not has_work:
                    wait(running, return_when=FIRST_COMPLETED)
                continue
            number = running.pop(ready)
            items, rest = ready.result()
            del ready
            if rest is not None:
                running[COMPUTE.submit(_more, rest)] = number
            begin()
            while items:
                yield number, items.pop(0)
    finally:
        _stop(process, running)


def _one_by_one(sources: Sequence[Made[T]]) -> Iterator[tuple[int, T]]:
    for number, source in enumerate(sources):
        yield from ((number, item) for item in source())


def _stop(process: int, tasks: Iterable[Future[Any]]) -> None:
    """Let no thread go on; a child that was forked from ``process`` has none."""
    if process == os.getpid():
        for task in tasks:
            task.cancel()
        wait(tasks)


def _items(source: Made[T]) -> Iterator[T]:
    """Iterate over a source; the source is called when the first item is requested."""
    yield from source()


def _next(iterator: Iterator[T], count: int) -> list[T]:
    """The next ``count`` items; fewer at the end."""
    return list(islice(iterator, count))


_Ready: TypeAlias = tuple[list[T], Iterator[T] | None]
"""Items, and an iterator over the rest, if there may be more."""


def _first(source: Made[T]) -> _Ready[T]:
    made = source()
    return (made, None) if isinstance(made, list) else _more(iter(made))


def _more(iterator: Iterator[T]) -> _Ready[T]:
    items = _next(iterator, 1)
    return items, iterator if items else None
