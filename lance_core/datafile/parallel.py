"""Pages of several fields made by threads, and given out in the order of the fields."""

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
"""Each holds a page and what it is made from, so that memory is bounded on large machines, too."""

_AT_ONCE = 2
"""Most fields have one page ready: one way to a thread and back is then enough."""

Made = Callable[[], Iterable[T]]
"""What a field has ready: it is called, and gone through, by one thread at a time."""


def num_threads() -> int:
    """How many threads make pages: as many as the process may use processors, 4 at most."""
    return min(_MAX_THREADS, cpu_count())


def in_order(sources: Sequence[Made[T]]) -> Generator[tuple[int, T], None, None]:
    """The number of each source with what it gives, one source after the other.

    Two items of each of some sources are made ahead, one more than there are threads. What a source
    raises is raised in its place, or that of the item before it; then, and when the iterator is
    closed, nothing is being made any more. A thread of a pool makes all of them itself.
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
            ahead.append((number, iterator, COMPUTE.submit(_next, iterator)))
            if len(ahead) > num_threads():
                return

    try:
        begin()
        while ahead:
            number, iterator, future = ahead[0]
            made = future.result()
            if len(made) == _AT_ONCE:
                ahead[0] = number, iterator, COMPUTE.submit(_next, iterator)
            else:
                ahead.popleft()
                begin()
            yield from ((number, item) for item in made)
    finally:
        if process == os.getpid():  # in a forked child nobody makes them
            for _, _, future in ahead:
                future.cancel()
            wait([future for _, _, future in ahead])


def _items(source: Made[T]) -> Iterator[T]:
    """A source that is called by whoever asks for its first item."""
    yield from source()


def _next(iterator: Iterator[T]) -> list[T]:
    """The next items, fewer than `_AT_ONCE` at the end."""
    return list(islice(iterator, _AT_ONCE))
