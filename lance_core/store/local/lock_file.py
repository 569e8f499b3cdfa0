"""Move files under a lock file, for file systems without hard links and exclusive renames.

A process creates a lock file beside the target exclusively and locks it. While the lock file
exists, no other process creates the target. The kernel releases the lock of a dead process, and the
next process on the same machine takes over the lock file. A lock file of another machine must be
removed by hand, because it is unknown whether its process is alive.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator

from lance_core.errors import StoreError
from lance_core.store.local.disk import Disk
from lance_core.store.local.positioned_io import OPEN_FLAGS, read_at
from lance_core.store.local.temporary import TEMPORARY_PREFIX

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 10.0
"""Seconds to wait for another writer of the same object."""

_PAUSE = 0.005


def move_under_lock(disk: Disk, source: str, target: str) -> None:
    """Move ``source`` to ``target``; `FileExistsError` if ``target`` exists.

    Raises `OSError` (``ENOSYS``) without file locks, `StoreError` if another process holds the lock
    for too long.
    """
    if fcntl is None:
        raise OSError(errno.ENOSYS, "no file locks on this system", target)
    with _holding(disk, lock_path(target)):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "File exists", target)
        disk.rename(source, target)


def lock_path(target: str) -> str:
    """The path of the lock file of ``target``: in the same folder, of bounded length."""
    import hashlib

    folder, name = os.path.split(target)
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return f"{folder}/{TEMPORARY_PREFIX}-lock-{digest}"


@contextlib.contextmanager
def _holding(disk: Disk, path: str) -> Iterator[None]:
    descriptor = _acquired(disk, path)
    try:
        yield
    finally:
        # Remove it while it is locked: a waiting process notices this and starts again.
        with contextlib.suppress(FileNotFoundError):
            disk.remove(path)
        os.close(descriptor)


def _acquired(disk: Disk, path: str) -> int:
    deadline = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(FileExistsError, FileNotFoundError, BlockingIOError):
            try:
                return _own(disk.create(path), path, is_new=True)
            except FileExistsError:
                return _own(os.open(path, os.O_RDWR | OPEN_FLAGS), path, is_new=False)
        if time.monotonic() >= deadline:
            raise StoreError(
                f"{path!r} is held by another writer; if there is none, a writer on another "
                "machine died and left it: remove the file"
            )
        time.sleep(_PAUSE)


def _own(descriptor: int, path: str, *, is_new: bool) -> int:
    """Lock the open file and check that the path still names it; closes it otherwise.

    Raises `BlockingIOError` if another process holds it, `FileNotFoundError` if it was removed.
    """
    try:
        # Another process may briefly lock a new file before its creator does; it then sees that
        # the file is not its own and unlocks it. The creator waits for that.
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if is_new else fcntl.LOCK_NB))
        if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
            raise FileNotFoundError(path)
        if is_new:
            os.write(descriptor, _here())
        elif read_at(descriptor, 256, 0) != _here():
            raise BlockingIOError(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _here() -> bytes:
    """An identifier of this machine since its last boot."""
    import socket

    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            start = file.read().strip()
    except OSError:
        start = b""
    return socket.gethostname().encode() + b" " + start
