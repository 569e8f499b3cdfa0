"""All calls with which the local store changes a file system or syncs it to disk."""

from __future__ import annotations

import errno
import mmap
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from lance_core.errors import InvalidInputError
from lance_core.store.durability import Durability
from lance_core.store.local.libc import rename_exclusive, reserve_blocks
from lance_core.store.secret import Secret, plain

VARIABLE = "LANCE_CORE_DURABILITY"
"""Environment variable with the `Durability` of local stores that have no option for it."""

_MAX_VIEWS = min(1024, os.sysconf("SC_IOV_MAX") if hasattr(os, "sysconf") else 16)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_NO_KERNEL_COPY = frozenset(
    {errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
)
"""Errors of a copy by the kernel after which reading and writing may still succeed."""

_MIN_MAPPED, _BLOCK = 512 << 10, 4 << 10
"""Minimum bytes of a copy to map them; the bytes of a block of most file systems."""

_MAX_MAPPED = 16 << 20
"""Maximum bytes that are mapped at once: all of them are in memory."""

_Copy: TypeAlias = Callable[[int, int, int, int], int]
"""Copies from a position of a file to the end of another; arguments of `_copy_file_range`."""

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


def chosen_durability(
    options: Mapping[str, str | Secret], environ: Mapping[str, str] = os.environ
) -> Durability:
    """The durability from the option ``durability`` or the environment; ``durable`` by default."""
    text = plain(options.get("durability", environ.get(VARIABLE, Durability.durable.value)))
    try:
        return Durability(text.strip().lower())
    except ValueError:
        raise InvalidInputError(
            f"durability is {text!r}; it can be 'durable' or 'fast' (option 'durability' or "
            f"environment variable {VARIABLE})"
        ) from None


class Disk:
    """The operating system's file system; tests pass a subclass to observe or change calls.

    Paths are absolute. Every method raises only `OSError`. ``exclusive_moves``: the method of
    exclusive moves for each device, by number, and for each folder, by path, as chosen by
    `lance_core.store.local.exclusive`.
    """

    __slots__ = ("exclusive_moves",)

    def __init__(self) -> None:
        self.exclusive_moves: dict[int | str, Callable[[Disk, str, str], None]] = {}

    def create(self, path: str) -> int:
        """Create a file and return its descriptor; `FileExistsError` if ``path`` exists."""
        return os.open(path, _CREATE, 0o666)

    def write(self, descriptor: int, views: Sequence[memoryview]) -> None:
        """Write all bytes of ``views`` without copying them."""
        pending = list(views)
        if len(pending) == 1:
            rest = pending[0][os.write(descriptor, pending[0]) :]
            pending = [rest] if rest.nbytes else []
        while pending:
            written = os.writev(descriptor, pending[:_MAX_VIEWS])
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

    def copy_bytes(self, source: int, target: int, start: int, length: int) -> None:
        """Append ``length`` bytes from position ``start`` of an open file to another.

        The kernel copies them where it can; a file system that supports it shares the blocks. If
        the bytes move within a block, nothing can be shared, and writing mapped memory takes a
        quarter less time.
        """
        position, stop = start, start + length
        ways: tuple[_Copy, ...] = (_copy_file_range, _sendfile, self._copy_chunk)
        if length >= _MIN_MAPPED and _moves_within_block(start, target):
            ways = (_write_mapped, *ways)
        for copy in ways:
            try:
                while position < stop:
                    done = copy(source, target, position, stop - position)
                    if not done:
                        raise OSError(
                            errno.EIO, f"the file ended after {position - start} of {length} bytes"
                        )
                    position += done
            except OSError as error:
                if error.errno in _NO_KERNEL_COPY and copy != self._copy_chunk:
                    continue
                raise
            return

    def _copy_chunk(self, source: int, target: int, position: int, length: int) -> int:
        chunk = os.pread(source, min(1 << 20, length), position)
        self.write(target, [memoryview(chunk)])
        return len(chunk)

    def sync_file(self, descriptor: int) -> None:
        """Sync the content of a file to disk."""
        os.fsync(descriptor)

    def sync_folder(self, path: str) -> None:
        """Sync the entries of a folder to disk."""
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


def _moves_within_block(start: int, target: int) -> bool:
    """True if bytes from position ``start`` get another place within a block of the file.

    False in file systems with larger blocks: those of networks, whose servers may copy.
    """
    if getattr(os.fstat(target), "st_blksize", _BLOCK + 1) > _BLOCK:
        return False
    return bool((start - os.lseek(target, 0, os.SEEK_CUR)) % _BLOCK)


def _write_mapped(source: int, target: int, position: int, length: int) -> int:
    before = position % mmap.ALLOCATIONGRANULARITY
    with (
        _mapped(source, position - before, before + min(length, _MAX_MAPPED)) as mapped,
        memoryview(mapped) as view,
        view[before:] as wanted,
    ):
        return os.write(target, wanted)


def _mapped(source: int, start: int, size: int) -> mmap.mmap:
    """A range of a file, whose pages are mapped at once."""
    if not hasattr(mmap, "MAP_POPULATE"):
        raise OSError(errno.ENOSYS, "no mapping with pages")
    flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
    try:
        return mmap.mmap(source, size, flags, mmap.PROT_READ, offset=start)
    except (OSError, ValueError) as error:  # ValueError: the file is shorter
        raise OSError(errno.ENOSYS, f"the file cannot be mapped: {error}") from error


def _copy_file_range(source: int, target: int, position: int, length: int) -> int:
    if not hasattr(os, "copy_file_range"):
        raise OSError(errno.ENOSYS, "no copy_file_range")
    return os.copy_file_range(source, target, length, position)


def _sendfile(source: int, target: int, position: int, length: int) -> int:
    if sys.platform != "linux":  # elsewhere, only to sockets
        raise OSError(errno.ENOSYS, "no sendfile to files")
    return os.sendfile(target, source, position, length)


REAL_DISK = Disk()
"""The default of stores that get no other `Disk`."""
