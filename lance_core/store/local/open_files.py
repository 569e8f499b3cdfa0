"""The contents of local files as buffers, and which of them stay at hand."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.errors import InvalidPathError, StoreError
from lance_core.store.base import ByteRange
from lance_core.store.local.libc import map_file
from lance_core.store.local.root import Root
from lance_core.store.ranges import check_ranges

MAP_FROM = 64 << 10
"""Files of at least this many bytes are mapped; reading shorter ones costs less than mapping."""

MAX_OPEN_FILES = 512
"""How many files a store keeps at hand: at most 32 MiB of short ones, the rest mapped."""

SETTLED_NS = 2_000_000_000
"""A file changed less than these nanoseconds ago may change again within one tick of its clock."""

# Neither follow a link out of the root, nor wait for the other end of a pipe.
_READ = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)

_Identity: TypeAlias = tuple[int, int, int, int, int]


def _identity(status: os.stat_result) -> _Identity:
    """What tells a file from others. Programs can set ``mtime``, but not ``ctime``."""
    return (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_dev)


_Content: TypeAlias = tuple[str, _Identity, pa.Buffer]
"""A file's full path, what it was when it was opened, and its bytes."""


def open_for_reading(root: Root, full_path: str) -> int:
    """A descriptor of a file that is inside ``root``, links resolved. Raises `OSError`."""
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
    """Size of an open file in bytes; raises what `check_regular` does."""
    return check_regular(os.fstat(descriptor), full_path).st_size


def check_regular(status: os.stat_result, full_path: str) -> os.stat_result:
    """``status``; `FileNotFoundError` if it is that of a folder, `StoreError` of a pipe or device.

    Folders come into being with the objects below them, and are no objects themselves.
    """
    if stat.S_ISDIR(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "a folder, not an object", full_path)
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{full_path!r} is not a regular file")
    return status


class OpenFiles:
    """Whole files as buffers: mapped from `MAP_FROM` bytes on, else read.

    Where the file system cannot map files, or too many are, ranges of large ones are copied.

    Recently used ones are kept and used again as long as the file at the path is the same: tables
    can be dropped and made again. Objects are never changed in place by this library; if another
    program cuts a mapped file short, touching what is gone kills the process, as with any mapping.
    """

    def __init__(self, root: Root) -> None:
        self._root = root
        self._contents: OrderedDict[str, _Content] = OrderedDict()
        self._lock = ForkSafeLock()

    def buffer(self, path: str) -> pa.Buffer | None:
        """The whole file at ``path``, or None if it is large and cannot be mapped.

        Raises `OSError`, or `StoreError` for what is no file.
        """
        with self._lock:
            kept = self._contents.get(path)
            if kept is not None:
                self._contents.move_to_end(path)
        if kept is not None:
            full_path, identity, buffer = kept
            # A mapping keeps its inode from being given to another file.
            if _identity(os.stat(full_path)) == identity:
                return buffer
            self.forget(path)
        return self._open(path)

    def read(self, path: str, ranges: Sequence[ByteRange] | None) -> list[pa.Buffer]:
        """Copies of ranges of a file, or of all of it, without mapping it; errors as `buffer`."""
        full_path = self._root.file(path)
        descriptor = open_for_reading(self._root, full_path)
        try:
            size = regular_file_size(descriptor, full_path)
            wanted = [ByteRange(0, size)] if ranges is None else ranges
            check_ranges(wanted, size, path)
            return [_read(descriptor, start, stop) for start, stop in wanted]
        finally:
            os.close(descriptor)

    def forget(self, path: str) -> None:
        """Let go of what is kept of the file at ``path``."""
        if path in self._contents:
            with self._lock:
                self._contents.pop(path, None)

    def _open(self, path: str) -> pa.Buffer | None:
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
    """Bytes of a file, or less if it became shorter meanwhile."""
    content = os.pread(descriptor, stop - start, start)
    if start + len(content) == stop or not content:
        return pa.py_buffer(content)
    parts = [content]
    position = start + len(content)
    while position < stop and (part := os.pread(descriptor, stop - position, position)):
        parts.append(part)
        position += len(part)
    return pa.py_buffer(b"".join(parts))
