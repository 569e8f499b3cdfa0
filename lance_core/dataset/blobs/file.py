"""`BlobFile`: one blob as a file that is read where and when it is asked for."""

from __future__ import annotations

import io
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.dataset.blobs.source import BlobSource, read_ranges
from lance_core.errors import InvalidInputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

DEFAULT_BLOB_BUFFER_SIZE = 512 * 1024
"""Bytes that a `BlobFile` reads ahead unless it is told otherwise."""

_PIECE_BYTES = 8 << 20
_NOTHING = pa.py_buffer(b"")


class BlobFile(io.BufferedIOBase):
    """A blob as a binary file for reading; made by `LanceDataset.take_blobs`.

    Small reads one after the other are served from ``buffer_size`` bytes that were read ahead, 0
    for none. Whatever the size of the blob, only what a read returns is in memory. Thread-safe:
    each call is done alone, but `read_range` and `read_ranges` at any time.
    """

    def __init__(self, inner: BlobSource, buffer_size: int = DEFAULT_BLOB_BUFFER_SIZE) -> None:
        super().__init__()
        self._source = inner
        self._buffer_size = checked_buffer_size(buffer_size)
        self._position = 0
        self._ahead = _NOTHING, 0  # one value: a fork finds both or neither
        self._is_closed = False
        self._lock = ForkSafeLock()

    def size(self) -> int:
        """Bytes of the blob; also of one that is closed."""
        return self._source.size

    def close(self) -> None:
        """Forget what was read ahead; no more reads."""
        with self._lock:
            self._is_closed = True
            self._ahead = _NOTHING, 0

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def tell(self) -> int:
        """Where the next read begins, in bytes from the start of the blob."""
        self._check_open("tell")
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place, which may be past the end; returns it."""
        with self._lock:
            self._check_open("seek")
            starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._source.size}
            if whence not in starts:
                raise ValueError(f"Invalid whence: {whence}")
            place = starts[whence] + operator.index(offset)
            if place < 0:
                raise ValueError(f"negative seek value {place}")
            self._position = place
            return place

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to ``size`` bytes, fewer only at the end of the blob; all that is left if negative."""
        with self._lock:
            self._check_open("read")
            left = max(0, self._source.size - self._position)
            wanted = left if size is None or size < 0 else min(size, left)
            if wanted > self._left_ahead() and wanted >= self._buffer_size:
                data: bytes = self._fetch(self._position, wanted).to_pybytes()
                self._position += wanted
                return data
            result = bytearray(wanted)
            self._fill(memoryview(result))
            return bytes(result)

    def readall(self) -> bytes:
        """All that is left."""
        return self.read()

    def read1(self, size: int = -1, /) -> bytes:
        """As `read`, of some bytes if ``size`` is negative."""
        return self.read(io.DEFAULT_BUFFER_SIZE if size is None or size < 0 else size)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill ``buffer`` as far as there are bytes; returns how many that were."""
        view = memoryview(buffer).cast("B")
        if view.readonly:
            raise TypeError(
                "readinto() argument must be read-write bytes-like object, "
                f"not {type(buffer).__name__}"
            )
        with self._lock:
            self._check_open("readinto")
            left = max(0, self._source.size - self._position)
            return self._fill(view[: min(len(view), left)])

    def readinto1(self, buffer: WriteableBuffer, /) -> int:
        """As `readinto`."""
        return self.readinto(buffer)

    def read_range(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset`` of the blob on; where the next `read` begins stays.

        Raises `InvalidInputError` for a range that is not within the blob.
        """
        return self.read_ranges([(offset, length)])[0]

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of several (offset, length), in order; as `read_range`."""
        self._check_open("read_ranges")
        for offset, length in ranges:
            check_range(self._source, offset, length)
        source = self._source
        full = [source.range(offset, length) for offset, length in ranges if length]
        buffers = iter(read_ranges(source.store, source.path, full) if full else ())
        return [next(buffers).to_pybytes() if length else b"" for _, length in ranges]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """A blob is not pickled: it holds an open store, perhaps with credentials."""
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def __repr__(self) -> str:
        return f"<BlobFile size={self.size()}>"

    def _check_open(self, what: str) -> None:
        if self._is_closed:
            raise ValueError(f"{what} of closed file")

    def _left_ahead(self) -> int:
        """Bytes from the current place on that were read ahead."""
        ahead, start = self._ahead
        inside = self._position - start
        return ahead.size - inside if 0 <= inside < ahead.size else 0

    def _fill(self, view: memoryview) -> int:
        """Fill ``view``, which is not longer than what is left."""
        done = 0
        while done < len(view):
            if not self._left_ahead():
                self._read_ahead(len(view) - done)
            ahead, start = self._ahead
            inside = self._position - start
            count = min(self._left_ahead(), len(view) - done)
            view[done : done + count] = memoryview(ahead).cast("B")[inside : inside + count]
            done += count
            self._position += count
        return done

    def _read_ahead(self, wanted: int) -> None:
        count = max(self._buffer_size, min(wanted, _PIECE_BYTES))
        count = min(count, self._source.size - self._position)
        self._ahead = self._fetch(self._position, count), self._position

    def _fetch(self, offset: int, length: int) -> pa.Buffer:
        if not length:
            return _NOTHING
        source = self._source
        return source.store.get_ranges(source.path, [source.range(offset, length)])[0]


def check_range(source: BlobSource, offset: int, length: int) -> None:
    """Raise `InvalidInputError` unless the range is within the blob."""
    if offset < 0 or length < 0:
        raise InvalidInputError(f"a range cannot be negative: {offset}, {length}")
    if offset + length > source.size:
        raise InvalidInputError(f"Blob range end {offset + length} exceeds blob size {source.size}")


def checked_buffer_size(buffer_size: int) -> int:
    """The number itself; ``TypeError`` or ``ValueError`` if it is none, or negative."""
    if isinstance(buffer_size, bool) or not isinstance(buffer_size, int):
        raise TypeError(f"buffer_size must be an int, got {type(buffer_size).__name__}")
    if buffer_size < 0:
        raise ValueError("buffer_size must be non-negative")
    return buffer_size
