"""Move a file to an unused path, atomically, with a method that the file system supports.

Hard links are tried first: also on a network file system only one of all clients gets the name.
FUSE and exFAT have no hard links, and NFS refuses renameat2 (``RENAME_NOREPLACE``); the last method
is a lock file. The first method that works is determined once per device.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import os
from collections.abc import Callable
from typing import TypeAlias

from lance_core.errors import UnsupportedFeatureError
from lance_core.store.local.disk import Disk
from lance_core.store.local.lock_file import move_under_lock
from lance_core.store.local.root import folder_of
from lance_core.store.local.temporary import temporary_path

Move: TypeAlias = Callable[[Disk, str, str], None]
"""Moves a file from one full path to another; `FileExistsError` if the target exists."""

_CANNOT = {
    errno.EACCES,
    errno.EINVAL,
    errno.EMLINK,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EXDEV,
}
"""Error numbers of a file system that lacks an operation."""

_MAX_KNOWN = 4096


def move_by_link(disk: Disk, source: str, target: str) -> None:
    """Move a file by a hard link at the target, then remove the source."""
    disk.link(source, target)
    try:  # noqa: SIM105  # a third of the calls of `contextlib.suppress`
        disk.remove(source)
    except FileNotFoundError:
        pass


def move_by_rename(disk: Disk, source: str, target: str) -> None:
    """Move a file by a rename that never replaces a file."""
    disk.rename_exclusive(source, target)


_PREFERRED: tuple[Move, ...] = (move_by_link, move_by_rename, move_under_lock)


def move(disk: Disk, source: str, target: str) -> None:
    """Move ``source`` to the unused path ``target``, or raise `FileExistsError`.

    Both are full paths on one device. Raises `UnsupportedFeatureError` if no method works on the
    file system, and `OSError` for all other errors.
    """
    folder = folder_of(target)
    chosen = disk.exclusive_moves.get(folder) or _choose(disk, folder)
    try:
        chosen(disk, source, target)
    except OSError as error:
        if error.errno in _CANNOT:
            disk.exclusive_moves.clear()  # another file system may reuse a device number
        raise


def _choose(disk: Disk, folder: str) -> Move:
    """The method for ``folder``, which is that of its device; cached for both."""
    device = os.stat(folder).st_dev
    chosen = disk.exclusive_moves.get(device) or _first_that_works(disk, folder)
    if len(disk.exclusive_moves) >= _MAX_KNOWN:
        disk.exclusive_moves.clear()
    disk.exclusive_moves[device] = disk.exclusive_moves[folder] = chosen
    return chosen


class Traces(enum.Enum):
    """The state after a failed move."""

    not_moved = "the file is where it was"
    moved = "the file has both names"
    gone = "the file is not where it was, or this cannot be found out"


def traces(source: str, target: str) -> Traces:
    """The state of ``source``, which no other process moves, after `move` failed.

    A network file system repeats a request whose response was lost. It then reports an error that
    the first request caused.
    """
    try:
        status = os.lstat(source)
        is_target = os.path.samestat(status, os.lstat(target))
    except FileNotFoundError:
        return Traces.not_moved if os.path.lexists(source) else Traces.gone
    except OSError:
        return Traces.gone
    return Traces.moved if is_target else Traces.not_moved


def _first_that_works(disk: Disk, folder: str) -> Move:
    for candidate in _PREFERRED:
        if works(disk, candidate, folder):
            return candidate
    raise UnsupportedFeatureError(
        f"the file system of {folder!r} has no way to create a file only if its name is free: "
        "neither hard links, nor renameat2, nor file locks"
    )


def works(disk: Disk, candidate: Move, folder: str) -> bool:
    """Test ``candidate`` in ``folder``: moving a second file to the same name must fail."""
    first, second, name = (temporary_path(folder) for _ in range(3))
    try:
        for path, content in ((first, b"1"), (second, b"2")):
            descriptor = disk.create(path)
            try:
                disk.write(descriptor, [memoryview(content)], 0)
            finally:
                os.close(descriptor)
        return _gives_name_once(disk, candidate, first, second, name)
    finally:
        for path in (first, second, name):
            with contextlib.suppress(FileNotFoundError):
                disk.remove(path)


def _gives_name_once(disk: Disk, candidate: Move, first: str, second: str, name: str) -> bool:
    try:
        candidate(disk, first, name)
        candidate(disk, second, name)
    except FileExistsError:
        with open(name, "rb") as file:
            return file.read() == b"1"
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    return False
