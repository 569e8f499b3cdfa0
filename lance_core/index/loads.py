"""Counts what searches load: indices that they open, and parts of them that are not cached."""

from __future__ import annotations

from contextvars import ContextVar


class Loads:
    """``indices`` that were opened, and ``parts`` of indices: pages, bitmaps and lists of rows.

    A context manager: counts the loads of this thread inside of its block.
    """

    __slots__ = ("_token", "indices", "parts")

    def __init__(self) -> None:
        self.indices = self.parts = 0

    def __enter__(self) -> Loads:
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


_current: ContextVar[Loads | None] = ContextVar("_current", default=None)


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
