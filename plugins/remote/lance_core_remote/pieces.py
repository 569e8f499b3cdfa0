"""Bytes of an upload that wait until they fill a part."""

from __future__ import annotations

from collections import deque

SMALL = 32 << 10
"""Pieces below this many bytes are copied together; a view would cost more than the copy."""


class Pieces:
    """Bytes that wait to be sent: views of the caller's memory, and copies of small pieces."""

    __slots__ = ("_small", "_views", "size")

    def __init__(self) -> None:
        self.size = 0
        self._views: deque[memoryview] = deque()
        self._small = bytearray()

    def add(self, view: memoryview) -> None:
        """Append the bytes of ``view``."""
        self.size += view.nbytes
        if view.nbytes < SMALL:
            self._small += view
            return
        self._end_small()
        self._views.append(view)

    def put_first(self, view: memoryview) -> None:
        """Insert the bytes of ``view`` before all others."""
        self.size += view.nbytes
        self._views.appendleft(view)

    def take(self, length: int) -> list[memoryview]:
        """Remove and return the first ``length`` bytes."""
        self._end_small()
        taken, missing = [], length
        while missing:
            view = self._views.popleft()
            if view.nbytes > missing:
                self._views.appendleft(view[missing:])
                view = view[:missing]
            taken.append(view)
            missing -= view.nbytes
        self.size -= length
        return taken

    def clear(self) -> None:
        """Drop all bytes."""
        self.take(self.size)

    def _end_small(self) -> None:
        if self._small:
            self._views.append(memoryview(self._small))
            self._small = bytearray()
