"""Giving a file a name that nothing has, atomically, by whatever the file system can do.

Hard links are tried first: of all clients of a network file system, too, only one gets the name.
FUSE and exFAT know no hard links, NFS refuses renameat2 (``RENAME_NOREPLACE``); what is left is a
lock file. Which of them works is tried out once per device.
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
"""Moves a file from one full path to another; `FileExistsError` if something is there."""

_CANNOT = {
    errno.EACCES,
    errno.EINVAL,
    errno.EMLINK,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EXDEV,
}
"""What a file system answers that lacks an operation."""

_MAX_KNOWN = 4096


def move_by_link(disk: Disk, source: str, target: str) -> None:
    """By a second name, then removing the first."""
    disk.link(source, target)
    with contextlib.suppress(FileNotFoundError):
        disk.remove(source)


def move_by_rename(disk: Disk, source: str, target: str) -> None:
    """By a rename that replaces nothing."""
    disk.rename_exclusive(source, target)


_PREFERRED: tuple[Move, ...] = (move_by_link, move_by_rename, move_under_lock)


def move(disk: Disk, source: str, target: str) -> None:
    """Move ``source`` to ``target``, where nothing is, or raise `FileExistsError`.

    Both are full paths on one device. Raises `UnsupportedFeatureError` if the file system has no
    means at all, and `OSError` for everything else that goes wrong.
    """
    folder = folder_of(target)
    chosen = disk.exclusive_moves.get(folder) or _choose(disk, folder)
    try:
        chosen(disk, source, target)
    except OSError as error:
        if error.errno in _CANNOT:
            disk.exclusive_moves.clear()  # another file system may have got the number of one
        raise


def _choose(disk: Disk, folder: str) -> Move:
    """The means for ``folder``, which are those of its device; remembered for both."""
    device = os.stat(folder).st_dev
    chosen = disk.exclusive_moves.get(device) or _first_that_works(disk, folder)
    if len(disk.exclusive_moves) >= _MAX_KNOWN:
        disk.exclusive_moves.clear()
    disk.exclusive_moves[device] = disk.exclusive_moves[folder] = chosen
    return chosen


class Traces(enum.Enum):
    """What a failed move left behind."""

    not_moved = "the file is where it was"
    moved = "the file has both names"
    gone = "the file is not where it was, or this cannot be found out"


def traces(source: str, target: str) -> Traces:
    """What became of ``source``, which nobody else moves, after `move` failed.

    Network file systems send a request again if the answer is lost, and then report what they meet:
    what the first sending did.
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
    """Try ``candidate`` in ``folder``: the second of two files must not get the name."""
    first, second, name = (temporary_path(folder) for _ in range(3))
    try:
        for path, content in ((first, b"1"), (second, b"2")):
            descriptor = disk.create(path)
            try:
                disk.write(descriptor, [memoryview(content)])
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
