"""All calls with which the local store changes a file system or syncs it to disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from lance_core.byte_ranges import CopyRanges
from lance_core.errors import InvalidInputError
from lance_core.store.durability import Durability
from lance_core.store.local.libc import rename_exclusive, reserve_blocks, share_blocks
from lance_core.store.local.positioned_io import (
    CAN_OPEN_FOLDERS,
    OPEN_FLAGS,
    read_into,
    write_at,
)
from lance_core.store.secret import Secret, plain

VARIABLE = "LANCE_CORE_DURABILITY"
"""Environment variable with the `Durability` of local stores that have no option for it."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
_NO_KERNEL_COPY = frozenset(
    {errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
)
"""Errors of a copy by the kernel after which reading and writing may still succeed."""

_BLOCK = 4 << 10
"""The bytes of a block of most file systems."""

_BUFFER_BYTES = 512 << 10
"""Bytes to read at once: they are still in the cache of a processor when they are written."""

_MAX_SPARE = 4
"""Maximum number of buffers that are kept for the next copy."""

_Copy: TypeAlias = Callable[[int, int, int, int, int], int]
"""Copies bytes; arguments and result of `_copy_file_range`."""

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | OPEN_FLAGS


_DURABILITIES = {durability.value: durability for durability in Durability}


def chosen_durability(
    options: Mapping[str, str | Secret], environ: Mapping[str, str] = os.environ
) -> Durability:
    """The durability from the option ``durability`` or the environment; ``durable`` by default."""
    value = options.get("durability", environ.get(VARIABLE, Durability.durable.value))
    durability = _DURABILITIES.get(plain(value).strip().lower())
    if durability is None:  # the value may be a secret in the wrong place
        raise InvalidInputError(
            "durability can be 'durable' or 'fast' (option 'durability' or environment variable "
            f"{VARIABLE})"
        )
    return durability


class Disk:
    """The operating system's file system; tests pass a subclass to observe or change calls.

    Paths are absolute. Every method raises only `OSError`. ``exclusive_moves``: the method of
    exclusive moves for each device, by number, and for each folder, by path, as chosen by
    `lance_core.store.local.exclusive`. ``shared_blocks``: False for each device, by number, whose
    files cannot share blocks.
    """

    __slots__ = ("exclusive_moves", "shared_blocks")

    def __init__(self) -> None:
        self.exclusive_moves: dict[int | str, Callable[[Disk, str, str], None]] = {}
        self.shared_blocks: dict[int, bool] = {}

    def create(self, path: str) -> int:
        """Create a file and return its descriptor; `FileExistsError` if ``path`` exists."""
        return os.open(path, _CREATE, 0o666)

    def write(self, descriptor: int, views: Sequence[memoryview], offset: int) -> None:
        """Write all bytes of ``views`` from position ``offset`` on, without copying them."""
        pending = list(views)
        while pending:
            written = write_at(descriptor, pending, offset)
            offset += written
            done = 0
            while done < len(pending) and written >= pending[done].nbytes:
                written -= pending[done].nbytes
                done += 1
            del pending[:done]
            if written:
                pending[0] = pending[0][written:]

    def reserve(self, descriptor: int, start: int, size: int) -> None:
        """Allocate space for ``size`` bytes that will be written from ``start`` on, if possible."""
        reserve_blocks(descriptor, start, size)

    def copy_ranges(
        self,
        ranges: Sequence[tuple[int, int, int, int]],
        target: int,
        loop: CopyRanges | None = None,
    ) -> None:
        """Copy ``ranges`` of open files to another: source, start, length and place of each.

        ``loop`` copies those that cannot share blocks with their sources; None: so does
        `copy_bytes`.
        """
        rest = []
        for copy in ranges:
            source, start, length, position = copy
            if loop is None or self._may_share(source, target, start, length, position):
                self.copy_bytes(source, target, start, length, position)
            else:
                rest.append(copy)
        if loop is not None and rest:
            with _lent_buffer() as buffer:
                loop(rest, target, buffer)

    def copy_bytes(self, source: int, target: int, start: int, length: int, position: int) -> None:
        """Copy ``length`` bytes from position ``start`` of an open file to ``position`` of another.

        The kernel copies them where the file system may share blocks, and where they are few. Else
        they are read and written, which takes two threads half the time of one: the next bytes are
        read while others are written. The kernel does both at once, and only one thread can write
        to a file.
        """
        done = 0
        ways: tuple[_Copy, ...] = (_copy_file_range, _copy_chunk)
        is_large = length >= _BUFFER_BYTES
        if is_large and not self._may_share(source, target, start, length, position):
            ways = (_copy_chunk,)
        for copy in ways:
            try:
                while done < length:
                    more = copy(source, target, start + done, length - done, position + done)
                    if not more:
                        raise OSError(errno.EIO, f"the file ended after {done} of {length} bytes")
                    done += more
            except OSError as error:
                if error.errno in _NO_KERNEL_COPY and copy != _copy_chunk:
                    continue
                raise
            return

    def is_on_disk(self, descriptor: int) -> bool:
        """False in file systems with larger blocks: those of networks, whose servers may copy."""
        return _is_on_disk(os.fstat(descriptor))

    def _may_share(self, source: int, target: int, start: int, length: int, position: int) -> bool:
        """False if a copy cannot share blocks with its source, or is too small to find that out.

        True where `is_on_disk` is False.
        """
        status = os.fstat(target)
        if not _is_on_disk(status):
            return True
        if (start - position) % _BLOCK:
            return False
        if status.st_dev not in self.shared_blocks:
            if length < _BUFFER_BYTES:
                return False
            self.shared_blocks[status.st_dev] = _can_share(source, target, start, position)
        return self.shared_blocks[status.st_dev]

    def sync_file(self, descriptor: int) -> None:
        """Sync the content of a file to disk."""
        os.fsync(descriptor)

    def sync_folder(self, path: str) -> None:
        """Sync the entries of a folder to disk, where the system can open folders."""
        if not CAN_OPEN_FOLDERS:
            return
        descriptor = os.open(path, _FOLDER)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def make_folder(self, path: str) -> None:
        """Create one folder; `FileExistsError` if ``path`` exists."""
        os.mkdir(path)

    def link(self, source: str, target: str) -> None:
        """Create a hard link; `FileExistsError` if ``target`` exists."""
        os.link(source, target)

    def rename(self, source: str, target: str) -> None:
        """Move a file, replacing an existing ``target``."""
        os.replace(source, target)

    def rename_exclusive(self, source: str, target: str) -> None:
        """Move a file; `FileExistsError` if ``target`` exists."""
        rename_exclusive(source, target)

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        os.rmdir(path)


def _can_share(source: int, target: int, start: int, position: int) -> bool:
    """Share one block at or after ``start``; False if the file system has no shared blocks."""
    before = -start % _BLOCK
    try:
        share_blocks(source, target, start + before, _BLOCK, position + before)
    except OSError as error:
        return error.errno != errno.EOPNOTSUPP
    return True


def _is_on_disk(status: os.stat_result) -> bool:
    return getattr(status, "st_blksize", _BLOCK + 1) <= _BLOCK


def _copy_file_range(source: int, target: int, start: int, length: int, position: int) -> int:
    if not hasattr(os, "copy_file_range"):
        raise OSError(errno.ENOSYS, "no copy_file_range")
    return os.copy_file_range(source, target, length, start, position)


_spare: list[bytearray] = []
"""Buffers that no thread uses."""


@contextmanager
def _lent_buffer() -> Iterator[bytearray]:
    """A buffer of `_BUFFER_BYTES` for the calling thread."""
    try:
        buffer = _spare.pop()
    except IndexError:
        buffer = bytearray(_BUFFER_BYTES)
    try:
        yield buffer
    finally:
        if len(_spare) < _MAX_SPARE:
            _spare.append(buffer)


def _copy_chunk(source: int, target: int, start: int, length: int, position: int) -> int:
    with _lent_buffer() as buffer, memoryview(buffer) as whole, whole[:length] as window:
        count = read_into(source, window, start)
        with window[:count] as filled:
            return write_at(target, [filled], position) if count else 0


REAL_DISK = Disk()
"""The default of stores that get no other `Disk`."""
