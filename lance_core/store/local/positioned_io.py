"""Read and write open files at positions, also where the system has no calls for it (Windows).

Without `os.pread` and `os.pwritev`, a call moves the file's own position and then reads or writes
there. A lock keeps threads that share a descriptor apart.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from lance_core.concurrency.fork_safe import ForkSafeLock

OPEN_FLAGS = (
    getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
)
"""Flags of every `os.open`: bytes as they are, and not for child processes."""

CAN_OPEN_FOLDERS = hasattr(os, "O_DIRECTORY")
"""False on Windows: the entries of its folders cannot be synced, NTFS logs them itself."""

_HAS_POSITIONS = all(hasattr(os, name) for name in ("pread", "preadv", "pwrite", "pwritev"))
_MAX_VIEWS = min(1024, os.sysconf("SC_IOV_MAX") if hasattr(os, "sysconf") else 16)
_position_lock = ForkSafeLock()


def read_at(descriptor: int, count: int, position: int) -> bytes:
    """At most ``count`` bytes from ``position`` on; none at the end of the file."""
    if _HAS_POSITIONS:
        return os.pread(descriptor, count, position)
    with _position_lock:
        os.lseek(descriptor, position, os.SEEK_SET)
        return os.read(descriptor, count)


def read_into(descriptor: int, buffer: memoryview, position: int) -> int:
    """Fill ``buffer`` from ``position`` on; returns how many bytes were read, 0 at the end."""
    if _HAS_POSITIONS:
        return os.preadv(descriptor, [buffer], position)
    content = read_at(descriptor, len(buffer), position)
    buffer[: len(content)] = content
    return len(content)


def write_at(descriptor: int, views: Sequence[memoryview], position: int) -> int:
    """Write bytes of ``views`` at ``position``; returns how many were written.

    These may be fewer than there are, since a system takes only so many at once.
    """
    if _HAS_POSITIONS:
        return os.pwritev(descriptor, views[:_MAX_VIEWS], position)
    with _position_lock:
        os.lseek(descriptor, position, os.SEEK_SET)
        return os.write(descriptor, next((view for view in views if view.nbytes), b""))
