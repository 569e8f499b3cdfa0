"""Counts what searches load: indices that they open, and parts of them that are not cached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Loads:
    """``indices`` that were opened, and ``parts`` of indices: pages, bitmaps and lists of rows."""

    __slots__ = ("indices", "parts")

    def __init__(self) -> None:
        self.indices = self.parts = 0


_current: ContextVar[Loads | None] = ContextVar("_current", default=None)


@contextmanager
def counted_loads() -> Iterator[Loads]:
    """Count the loads of this thread inside of the block."""
    loads = Loads()
    token = _current.set(loads)
    try:
        yield loads
    finally:
        _current.reset(token)


def count_index() -> None:
    """Count an index that was opened."""
    loads = _current.get()
    if loads is not None:
        loads.indices += 1


def count_parts(number: int) -> None:
    """Count pages, bitmaps or lists of an index that were read from its files."""
    loads = _current.get()
    if loads is not None:
        loads.parts += number
