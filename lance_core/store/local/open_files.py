"""Contents of local files as buffers, with a cache of recently used files."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.concurrency.turns import leave_turn
from lance_core.errors import InvalidPathError, StoreError
from lance_core.store.local.libc import map_file
from lance_core.store.local.positioned_io import OPEN_FLAGS, read_at
from lance_core.store.local.root import Root
from lance_core.store.ranges import check_ranges

MAP_FROM = 64 << 10
"""Size in bytes from which files are mapped; reading a shorter file is cheaper than mapping it."""

MAX_OPEN_FILES = 512
"""Maximum number of cached files per store: at most 32 MiB of short ones, the rest mapped."""

SETTLED_NS = 2_000_000_000
"""A file changed less than this many nanoseconds ago may change again without a change of its time
stamp, because the clock of a file system is coarse."""

# Do not follow links, and do not wait for the other end of a pipe.
_READ = os.O_RDONLY | OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

_Identity: TypeAlias = tuple[int, int, int, int, int]


def _identity(status: os.stat_result) -> _Identity:
    """The identity of a file's content.

    Programs can set ``mtime``, but not ``ctime``, which a new link to the file changes, too. So it
    only counts for copied content: a mapping shows what is written to its file later.
    """
    changed = status.st_ctime_ns if status.st_size < MAP_FROM else 0
    return (status.st_ino, status.st_mtime_ns, changed, status.st_size, status.st_dev)


_Content: TypeAlias = tuple[str, _Identity, pa.Buffer]
"""A file's full path, its identity when it was opened, and its bytes."""


def open_for_reading(root: Root, full_path: str) -> int:
    """Open a file that is inside ``root`` after resolving links. Raises `OSError`."""
    try:
        return os.open(full_path, _READ)
    except OSError:
        if not os.path.islink(full_path):
            raise
    target = root.target_inside(full_path)
    if target is None:
        raise InvalidPathError(f"{full_path!r} is a link that leads out of {root.path!r}")
    return os.open(target, _READ)


def regular_file_size(descriptor: int, full_path: str) -> int:
    """The size of an open file in bytes; raises like `check_regular`."""
    return check_regular(os.fstat(descriptor), full_path).st_size


def check_regular(status: os.stat_result, full_path: str) -> os.stat_result:
    """Return ``status``; `FileNotFoundError` for a folder, `StoreError` for a pipe or device.

    Folders exist only as parents of objects and are not objects themselves.
    """
    if stat.S_ISDIR(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "a folder, not an object", full_path)
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{full_path!r} is not a regular file")
    return status


class OpenFiles:
    """Whole files as buffers: mapped from `MAP_FROM` bytes, otherwise read.

    If files cannot be mapped, or too many are, ranges of large files are copied. Recently used
    files are cached and reused while the file at the path has the same identity, because tables can
    be dropped and created again. This library never changes an object in place. If another program
    truncates a mapped file, access to the missing part kills the process, as with any mapping.
    """

    def __init__(self, root: Root) -> None:
        self._root = root
        self._contents: OrderedDict[str, _Content] = OrderedDict()
        self._lock = ForkSafeLock()

    def buffer(self, path: str) -> pa.Buffer | None:
        """The whole file at ``path``, or None if it is large and cannot be mapped.

        Raises `OSError`, or `StoreError` if it is not a regular file.
        """
        with self._lock:
            content = self._contents.get(path)
            if content is not None:
                self._contents.move_to_end(path)
        if content is not None:
            full_path, identity, buffer = content
            # The inode of a mapped file is not reused.
            if _identity(os.stat(full_path)) == identity:
                return buffer
            self.forget(path)
        return self._open(path)

    def read(self, path: str, ranges: Sequence[ByteRange] | None) -> list[pa.Buffer]:
        """Copies of ranges, or of the whole file, without mapping it; raises like `buffer`."""
        leave_turn()
        full_path = self._root.file(path)
        descriptor = open_for_reading(self._root, full_path)
        try:
            size = regular_file_size(descriptor, full_path)
            requested = [ByteRange(0, size)] if ranges is None else ranges
            check_ranges(requested, size, path)
            return [_read(descriptor, start, stop) for start, stop in requested]
        finally:
            os.close(descriptor)

    def forget(self, path: str) -> None:
        """Remove the file at ``path`` from the cache."""
        if path in self._contents:
            with self._lock:
                self._contents.pop(path, None)

    def _open(self, path: str) -> pa.Buffer | None:
        leave_turn()  # the file may have to be read from the disk
        full_path = self._root.file(path)
        descriptor = open_for_reading(self._root, full_path)
        try:
            status = check_regular(os.fstat(descriptor), full_path)
            size = status.st_size
            is_small = size < MAP_FROM
            buffer = _read(descriptor, 0, size) if is_small else map_file(descriptor, size)
        finally:
            os.close(descriptor)
        changed = max(status.st_mtime_ns, status.st_ctime_ns)
        if buffer is not None and (not is_small or time.time_ns() - changed > SETTLED_NS):
            self._keep(path, (full_path, _identity(status), buffer))
        return buffer

    def _keep(self, path: str, content: _Content) -> None:
        with self._lock:
            self._contents[path] = content
            while len(self._contents) > MAX_OPEN_FILES:
                self._contents.popitem(last=False)


def _read(descriptor: int, start: int, stop: int) -> pa.Buffer:
    """Bytes of a file; fewer if the file became shorter."""
    content = read_at(descriptor, stop - start, start)
    if start + len(content) == stop or not content:
        return pa.py_buffer(content)
    parts = [content]
    position = start + len(content)
    while position < stop and (part := read_at(descriptor, stop - position, position)):
        parts.append(part)
        position += len(part)
    return pa.py_buffer(b"".join(parts))
