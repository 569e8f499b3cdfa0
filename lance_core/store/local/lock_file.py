"""The last resort where a file system has neither hard links nor an exclusive rename.

A lock file beside the target is created exclusively and locked by its maker. While it is there,
nobody else gives the target its name. The kernel drops the lock of a process that dies, so that the
next one on the same machine takes the file over; one that another machine left must be removed by
hand, since whether its maker lives cannot be known.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator

from lance_core.errors import StoreError
from lance_core.store.local.disk import Disk
from lance_core.store.local.temporary import PREFIX

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 10.0
"""Seconds to wait for another writer of the same object."""

_PAUSE = 0.005


def move_under_lock(disk: Disk, source: str, target: str) -> None:
    """Move ``source`` to ``target``; `FileExistsError` if something is there.

    `OSError` (``ENOSYS``) without file locks, `StoreError` if another holds the lock for too long.
    """
    if fcntl is None:
        raise OSError(errno.ENOSYS, "no file locks on this system", target)
    with _holding(disk, lock_path(target)):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "File exists", target)
        disk.rename(source, target)


def lock_path(target: str) -> str:
    """Where the lock file of ``target`` is: in the same folder, of bounded length."""
    import hashlib

    folder, name = os.path.split(target)
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return f"{folder}/{PREFIX}-lock-{digest}"


@contextlib.contextmanager
def _holding(disk: Disk, path: str) -> Iterator[None]:
    descriptor = _acquired(disk, path)
    try:
        yield
    finally:
        # Removed while it is still locked: whoever waits for it finds out and starts anew.
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
                return _own(os.open(path, os.O_RDWR | os.O_CLOEXEC), path, is_new=False)
        if time.monotonic() >= deadline:
            raise StoreError(
                f"{path!r} is held by another writer; if there is none, a writer on another "
                "machine died and left it: remove the file"
            )
        time.sleep(_PAUSE)


def _own(descriptor: int, path: str, *, is_new: bool) -> int:
    """Lock the open file and show that it is still the lock; closes it otherwise.

    `BlockingIOError` if somebody else holds it, `FileNotFoundError` if it was removed.
    """
    try:
        # Others may look into a new file before its maker can lock it, and let go of it at once:
        # it is not theirs. Its maker waits for that.
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if is_new else fcntl.LOCK_NB))
        if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
            raise FileNotFoundError(path)
        if is_new:
            os.write(descriptor, _here())
        elif os.pread(descriptor, 256, 0) != _here():
            raise BlockingIOError(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _here() -> bytes:
    """This machine, as of its last start."""
    import socket

    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            start = file.read().strip()
    except OSError:
        start = b""
    return socket.gethostname().encode() + b" " + start
