"""An open file that several users share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple


class OpenedFile:
    """The descriptor of an open file, which is closed after its last use, if not before.

    Keep a reference to the object while the descriptor is in use: once the file is closed, the
    system gives the same number to the next file.
    """

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: int) -> None:
        self.descriptor: int | None = descriptor

    def fileno(self) -> int:
        """The descriptor; `ValueError` after `close`."""
        if self.descriptor is None:
            raise ValueError("the file is closed")
        return self.descriptor

    def close(self) -> None:
        """Close the file; raises `OSError`."""
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if self.descriptor is not None:
            close(self.descriptor)


class FileRange(NamedTuple):
    """``length`` bytes from position ``start`` of a file, for ``position`` of another one."""

    source: OpenedFile
    start: int
    length: int
    position: int
