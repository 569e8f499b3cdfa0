"""Functions of the C library that Python does not offer in the required form."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import weakref
from collections.abc import Callable

import pyarrow as pa

try:
    from fcntl import ioctl
except ImportError:  # Windows
    ioctl = None  # type: ignore[assignment]

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_PROT_READ = 1
_MAP_SHARED = 1
_KEEP_SIZE = 1
_CLONE_RANGE = 0x4020940D  # FICLONERANGE of Linux, on most processors
_POPULATE_READ = 22
_MAP_FAILED = ctypes.c_void_p(-1).value


def _function(name: str, *signature: object) -> Callable[..., int | None] | None:
    """A function of the C library, or None if the library lacks it."""
    if os.name != "posix":
        return None
    try:
        make = ctypes.CFUNCTYPE(*signature, use_errno=True)  # type: ignore[arg-type]  # C types
        return make((name, ctypes.CDLL(None)))
    except (AttributeError, OSError):
        return None


_renameat2 = _function(
    "renameat2",
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_uint,
)
_mmap = _function(
    "mmap",
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_ssize_t,
)
_madvise = _function("madvise", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_fallocate = _function(
    "fallocate", ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ssize_t, ctypes.c_ssize_t
)
_munmap = _function("munmap", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


def rename_exclusive(source: str, target: str) -> None:
    """Move a file to an unused name, atomically.

    Raises `FileExistsError` if the name is in use; `OSError` with ``ENOSYS`` or ``EINVAL`` if the
    system or the file system does not support this.
    """
    if os.name == "nt":
        os.rename(source, target)  # never replaces a file there
        return
    if _renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), target)
    if _renameat2(
        _AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), _RENAME_NOREPLACE
    ):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), source, None, target)


def reserve_blocks(descriptor: int, start: int, size: int) -> bool:
    """Allocate the blocks of a range of a file, whose size stays; False if that is not possible.

    Unlike `os.posix_fallocate`, it never writes zeros instead.
    """
    return _fallocate is not None and _fallocate(descriptor, _KEEP_SIZE, start, size) == 0


def share_blocks(source: int, target: int, start: int, size: int, position: int) -> None:
    """Let a range of the open file ``target`` share the blocks of one of ``source``.

    ``start``, ``size`` and ``position`` are multiples of the size of a block, in bytes. Raises
    `OSError`: with ``EOPNOTSUPP`` if the file system shares no blocks, with ``ENOSYS`` or
    ``ENOTTY`` if it is unknown whether it does.
    """
    if ioctl is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    ioctl(target, _CLONE_RANGE, struct.pack("qQQQ", source, start, size, position))


def populate(mapped: pa.Buffer) -> None:
    """Map all pages of a mapped file at once, where Linux can: it takes a third of the time."""
    if _madvise is not None:
        before = mapped.address % mmap.PAGESIZE
        _madvise(mapped.address - before, mapped.size + before, _POPULATE_READ)


def forget_mapped_pages() -> None:
    """Take the pages of mapped files out of the memory of this process.

    They stay in the memory of the system, and reads map them again.
    """
    for mapped in list(_mapped.values()):  # a buffer that is held is not unmapped
        if _madvise is not None:
            _madvise(mapped.address, mapped.size, mmap.MADV_DONTNEED)


_mapped: weakref.WeakValueDictionary[int, pa.Buffer] = weakref.WeakValueDictionary()
"""The mapped files by address."""


class _Mapping:
    """Mapped memory; unmapped after the last buffer over it is released."""

    __slots__ = ("address", "length")

    def __init__(self, address: int, length: int) -> None:
        self.address = address
        self.length = length

    def __del__(self, unmap: Callable[..., int | None] | None = _munmap) -> None:
        if unmap is not None:
            unmap(self.address, self.length)


def map_file(descriptor: int, size: int) -> pa.Buffer | None:
    """The first ``size`` bytes of a file as memory, or None if it cannot be mapped.

    Unlike with `mmap.mmap`, the mapping does not hold a descriptor: a process may have thousands of
    files mapped and still open others.
    """
    if _mmap is None or _munmap is None:
        return None
    address = _mmap(None, size, _PROT_READ, _MAP_SHARED, descriptor, 0)
    if address is None or address == _MAP_FAILED:
        return None
    mapped = pa.foreign_buffer(address, size, _Mapping(address, size))
    _mapped[address] = mapped
    return mapped
