"""Small data files, which are read whole where every request is dear."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.concurrency.lru_cache import LruCache
from lance_core.datafile.tail import TAIL_LENGTH
from lance_core.store.base import ByteRange, ObjectStore
from lance_core.store.ranges import slice_ranges

SMALL_FILE = 256 << 10
"""Bytes of the largest file that is read whole."""

CAPACITY = 8 << 20
"""Bytes of all files that are kept: of those that are under way at the same time, and a few more.
What is not kept any more is read again."""


class SmallFiles:
    """The small files that were read last. Thread-safe."""

    def __init__(self) -> None:
        self._kept: LruCache[tuple[ObjectStore, str], pa.Buffer] = LruCache(
            CAPACITY, lambda whole: whole.size, made_once=True
        )

    def takes(self, store: ObjectStore, size: int) -> bool:
        """True if a file of ``size`` bytes is better read whole than from its end.

        So it is where all of it costs less than another request (`ObjectStore.coalesce_gap`).
        """
        return store.read_ahead > 0 and TAIL_LENGTH < size <= min(SMALL_FILE, store.coalesce_gap)

    def add(self, store: ObjectStore, path: str, whole: pa.Buffer) -> SmallFile:
        """Keep the bytes of a file."""
        self._kept.get((store, path), lambda: whole)
        return SmallFile(self._kept, store, whole.size)


class SmallFile:
    """One of them, which is read by one request if it is not kept any more."""

    __slots__ = ("_kept", "_size", "_store")

    def __init__(
        self, kept: LruCache[tuple[ObjectStore, str], pa.Buffer], store: ObjectStore, size: int
    ) -> None:
        self._kept = kept
        self._store = store
        self._size = size

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """See `ObjectStore.get_ranges`. Copies: a result does not hold on to all of the file."""
        whole = self._kept.get((self._store, path), lambda: self._read(path))
        return [pa.py_buffer(view.to_pybytes()) for view in slice_ranges(whole, ranges, path)]

    def _read(self, path: str) -> pa.Buffer:
        (whole,) = self._store.get_ranges(path, [ByteRange(0, self._size)])
        return whole
