"""A cache of small data files, which are read whole on stores with expensive requests."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.lru_cache import LruCache
from lance_core.datafile.tail import TAIL_LENGTH, Tail
from lance_core.fast_paths import FastPath, FastPaths
from lance_core.store.base import ObjectStore
from lance_core.store.ranges import slice_ranges

SMALL_FILE = 256 << 10
"""Maximum size in bytes of a file that is read whole."""

CAPACITY = 8 << 20
"""Bytes of all cached files: enough for the files that a scan reads concurrently, and a few more.
A file that was dropped from the cache is read again."""


class SmallFiles:
    """A cache of the most recently read small files, of ``capacity`` bytes. Thread-safe."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.cache: LruCache[tuple[ObjectStore, str], pa.Buffer] = LruCache(
            capacity, lambda whole: whole.size, made_once=True
        )

    def takes(self, store: ObjectStore, size: int) -> bool:
        """True if a file of ``size`` bytes is cheaper to read whole than in two requests.

        This holds if reading the whole file costs less than one more request
        (`ObjectStore.coalesce_gap`).
        """
        return store.read_ahead > 0 and TAIL_LENGTH < size <= min(SMALL_FILE, store.coalesce_gap)

    def add(self, store: ObjectStore, path: str, whole: pa.Buffer) -> SmallFile:
        """Add the bytes of a file to the cache."""
        self.cache.get((store, path), lambda: whole)
        return SmallFile(self.cache, store, whole.size)


class SmallFile:
    """A file of the cache; if it was dropped, one request reads it again."""

    __slots__ = ("_cache", "_size", "_store")

    def __init__(
        self, cache: LruCache[tuple[ObjectStore, str], pa.Buffer], store: ObjectStore, size: int
    ) -> None:
        self._cache = cache
        self._store = store
        self._size = size

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """See `ObjectStore.get_ranges`. Copies, so that a result does not keep the whole file."""
        whole = self._cache.get((self._store, path), lambda: self._read(path))
        return [pa.py_buffer(view.to_pybytes()) for view in slice_ranges(whole, ranges, path)]

    def _read(self, path: str) -> pa.Buffer:
        (whole,) = self._store.get_ranges(path, [ByteRange(0, self._size)])
        return whole


def whole_file(
    files: SmallFiles | None, store: ObjectStore, path: str, size: int
) -> tuple[Tail, SmallFile] | None:
    """A file that is opened: all of it, and the source of further reads.

    None without a cache, and for a file that is cheaper to read in parts.
    """
    if files is None or not files.takes(store, size):
        return None
    tail = Tail(store, path, size, size)
    return tail, files.add(store, path, tail.buffer)


WHOLE_FILES = FastPaths(FastPath.of(whole_file))
"""How a file is opened: the tail to parse, and the source of what is read later.

Without it, each file takes at least one more request.
"""
