"""`BlobFile`: one blob as a file that reads only the requested bytes from the store."""

from __future__ import annotations

import io
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.dataset.blobs.source import BlobSource, read_ranges
from lance_core.dataset.blobs.type import DEFAULT_BLOB_BUFFER_SIZE
from lance_core.errors import InvalidInputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE_BYTES = 8 << 20
"""Maximum bytes that one request reads ahead, unless the buffer size is larger."""
_NOTHING = pa.py_buffer(b"")


class BlobFile(io.BufferedIOBase):
    """A blob as a read-only binary file; returned by `LanceDataset.take_blobs`.

    Small sequential reads are served from a read-ahead buffer of ``buffer_size`` bytes; 0 turns it
    off. Memory use does not depend on the size of the blob, only on the size of a read.
    Thread-safe: a lock serializes all calls except `read_range` and `read_ranges`, which run
    concurrently.
    """

    def __init__(self, inner: BlobSource, buffer_size: int = DEFAULT_BLOB_BUFFER_SIZE) -> None:
        super().__init__()
        self._source = inner
        self._buffer_size = checked_buffer_size(buffer_size)
        self._position = 0
        self._ahead = _NOTHING, 0  # one tuple, so that a fork never sees a half-done change
        self._is_closed = False
        self._lock = ForkSafeLock()

    def size(self) -> int:
        """The length of the blob in bytes; available after `close` too."""
        return self._source.size

    def close(self) -> None:
        """Release the read-ahead buffer and refuse further reads."""
        with self._lock:
            self._is_closed = True
            self._ahead = _NOTHING, 0

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._is_closed

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def tell(self) -> int:
        """The offset of the next read, in bytes from the start of the blob."""
        self._check_open("tell")
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the offset of the next read, which may be past the end, and return it."""
        with self._lock:
            self._check_open("seek")
            starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._source.size}
            if whence not in starts:
                raise ValueError(f"Invalid whence: {whence}")
            position = starts[whence] + operator.index(offset)
            if position < 0:
                raise ValueError(f"negative seek value {position}")
            self._position = position
            return position

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to ``size`` bytes, fewer only at the end; all remaining bytes if negative or None."""
        with self._lock:
            self._check_open("read")
            left = max(0, self._source.size - self._position)
            count = left if size is None or size < 0 else min(size, left)
            if count > self._left_ahead() and count >= self._buffer_size:
                data: bytes = self._fetch(self._position, count).to_pybytes()
                self._position += count
                return data
            result = bytearray(count)
            self._fill(memoryview(result))
            return bytes(result)

    def readall(self) -> bytes:
        """All remaining bytes."""
        return self.read()

    def read1(self, size: int = -1, /) -> bytes:
        """Like `read`, but a negative ``size`` reads at most one buffer of bytes."""
        return self.read(io.DEFAULT_BUFFER_SIZE if size is None or size < 0 else size)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read into ``buffer`` until it is full or the blob ends; return the number of bytes."""
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
        """Same as `readinto`."""
        return self.readinto(buffer)

    def read_range(self, offset: int, length: int) -> bytes:
        """The ``length`` bytes at ``offset`` in the blob; the offset of the next `read` stays.

        Raises `InvalidInputError` for a range that is not within the blob.
        """
        return self.read_ranges([(offset, length)])[0]

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of several (offset, length) ranges, in the given order; see `read_range`."""
        self._check_open("read_ranges")
        for offset, length in ranges:
            check_range(self._source, offset, length)
        source = self._source
        full = [source.range(offset, length) for offset, length in ranges if length]
        buffers = iter(read_ranges(source.store, source.path, full) if full else ())
        return [next(buffers).to_pybytes() if length else b"" for _, length in ranges]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickling: a blob holds an open store, perhaps with credentials."""
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def __repr__(self) -> str:
        return f"<BlobFile size={self.size()}>"

    def _check_open(self, what: str) -> None:
        if self._is_closed:
            raise ValueError(f"{what} of closed file")

    def _left_ahead(self) -> int:
        """Number of buffered bytes from the current offset on."""
        ahead, start = self._ahead
        inside = self._position - start
        return ahead.size - inside if 0 <= inside < ahead.size else 0

    def _fill(self, view: memoryview) -> int:
        """Fill ``view``, which is at most as long as the rest of the blob."""
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

    def _read_ahead(self, size: int) -> None:
        count = max(self._buffer_size, min(size, _PIECE_BYTES))
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
    """``buffer_size`` itself; raises ``TypeError`` unless it is an int, ``ValueError`` below 0."""
    if isinstance(buffer_size, bool) or not isinstance(buffer_size, int):
        raise TypeError(f"buffer_size must be an int, got {type(buffer_size).__name__}")
    if buffer_size < 0:
        raise ValueError("buffer_size must be non-negative")
    return buffer_size
