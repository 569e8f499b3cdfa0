"""Request bodies that are sent from their original memory without a copy."""

from __future__ import annotations

import os
from collections.abc import Sequence

JOINED = 1 << 17
"""Maximum bytes of a body to join, so that it is sent with the headers in one packet."""

_PIECE = 1 << 17
"""Maximum bytes per send."""


def body_of(views: Sequence[memoryview]) -> bytes | Body:
    """The body in a form that the SDK accepts."""
    if sum(view.nbytes for view in views) <= JOINED:
        return b"".join(views)
    return Body(views)


class Body:
    """A file over the bytes of ``views``, with the methods that the SDK needs.

    The SDK accepts one buffer, which would be a copy of all views, or a file. It reads a file
    twice: to sign and to send it. `read` returns views instead of copies, and often more bytes than
    requested: the sender requests 16 KiB at a time, and each piece would be a system call.
    """

    def __init__(self, views: Sequence[memoryview]) -> None:
        self._views = [view for view in views if view.nbytes]
        self._size = sum(view.nbytes for view in self._views)
        self._position = 0
        self._at = 0
        """The index of the current view; ``_offset`` is the read position in it."""
        self._offset = 0

    def __len__(self) -> int:
        return self._size

    def read(self, size: int = -1) -> memoryview | bytes:
        """The next bytes, b"" at the end; all remaining bytes if ``size`` is negative."""
        if size < 0:
            return b"".join(iter(self._next, b""))
        return self._next(size)

    def _next(self, size: int = _PIECE) -> memoryview | bytes:
        while self._at < len(self._views):
            view = self._views[self._at]
            piece = view[self._offset : self._offset + max(size, _PIECE)]
            if piece:
                self._offset += piece.nbytes
                self._position += piece.nbytes
                return piece
            self._at, self._offset = self._at + 1, 0
        return b""

    def tell(self) -> int:
        """The number of bytes read."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position and return it."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = left = max(0, min(start + offset, self._size))
        self._at = 0
        for view in self._views:
            if left < view.nbytes:
                break
            left -= view.nbytes
            self._at += 1
        self._offset = left
        return self._position
