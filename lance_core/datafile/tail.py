"""Read the end of a file, which contains its metadata, in as few requests as possible."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.errors import CorruptFileError
from lance_core.store.base import ObjectStore

TAIL_LENGTH = 64 << 10
"""Bytes that the first request reads; in most files, they contain all metadata."""


class Tail:
    """The last bytes of a file of ``size`` bytes, read by the constructor in one request.

    The request is for the last ``length`` bytes, or for the whole of a shorter file.
    """

    __slots__ = ("_path", "_start", "_store", "buffer", "size")

    def __init__(self, store: ObjectStore, path: str, size: int, length: int = TAIL_LENGTH) -> None:
        self._store = store
        self._path = path
        self._start = max(0, size - length)
        self.size = size
        (self.buffer,) = self._get([ByteRange(self._start, size)])

    @property
    def is_whole_file(self) -> bool:
        """True if ``buffer`` is the whole file."""
        return self._start == 0

    def read(self, ranges: Sequence[ByteRange]) -> list[memoryview]:
        """The bytes of each range; one request reads all ranges that are not in the tail.

        Raises `CorruptFileError` if the file is shorter than ``size``.
        """
        missing = [byte_range for byte_range in ranges if byte_range.start < self._start]
        fetched = iter(self._get(missing) if missing else ())
        view = memoryview(self.buffer)
        return [
            memoryview(next(fetched))
            if byte_range.start < self._start
            else view[byte_range.start - self._start : byte_range.stop - self._start]
            for byte_range in ranges
        ]

    def _get(self, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        buffers = self._store.get_ranges(self._path, ranges)
        for byte_range, buffer in zip(ranges, buffers, strict=True):
            if buffer.size != byte_range.length:
                raise CorruptFileError(
                    f"{buffer.size} of {byte_range.length} bytes were read", offset=byte_range.start
                )
        return buffers
