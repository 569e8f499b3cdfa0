"""Read response bodies with a limit on their length.

HTTP libraries and SDKs read a body to its end, whatever its length.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from lance_core_remote.client import Failure, RequestError

MAX_RESPONSE = 32 << 20
"""Maximum bytes of a body that is not the content of an object, such as a listing or an error."""

PIECE = 1 << 20
"""Maximum bytes per read call."""

LARGE_PIECE = 16 << 20
"""Maximum bytes to allocate before the first read: twice the longest range of a read."""

_SHORT = 1 << 16
"""Maximum bytes of a body to read with one call: it most likely arrives in one piece."""


class Raw(Protocol):
    """A body as the HTTP library reads it."""

    def read(self, amt: int, /) -> bytes:
        """The next bytes; b"" at the end."""

    def readinto(self, target: memoryview, /) -> int | None:
        """Write the next bytes into ``target`` and return their number; 0 at the end."""

    def close(self) -> None:
        """Close the connection."""


class Pooled(Protocol):
    """A urllib3 response whose body has not been read yet."""

    @property
    def length_remaining(self) -> int | None:
        """The remaining bytes of the body; None if the length is not announced."""

    def read(self, amt: int, /) -> bytes:
        """The next bytes; b"" at the end."""

    def close(self) -> None:
        """Close the connection."""

    def release_conn(self) -> None:
        """Return the connection to the pool."""


class ReadBody(io.BytesIO):
    """A body that is already read, for an SDK that reads it again."""

    def stream(self) -> Iterator[bytes]:
        """The whole body, in the form that botocore reads."""
        yield self.getvalue()


def read_response(raw: Raw, limit: int = MAX_RESPONSE) -> bytes:
    """The rest of ``raw``. Raises `RequestError` if that is more than ``limit`` bytes.

    Also raises the errors of ``raw``.
    """
    pieces: list[bytes] = []
    length = 0
    while piece := raw.read(PIECE):
        length += len(piece)
        if length > limit:
            raw.close()
            raise RequestError(Failure.UNKNOWN, f"the response has over {limit} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def read_content(raw: Raw, length: int) -> pa.Buffer:
    """The next ``length`` bytes of ``raw``, read into their final buffer without a copy.

    Raises `RequestError` if ``raw`` has fewer bytes. Bytes after them are not read.
    """
    if length <= _SHORT:
        content = raw.read(length)
        if len(content) < length:
            raise RequestError(Failure.UNKNOWN, "the response broke off")
        return pa.py_buffer(content)
    buffer = pa.allocate_buffer(length)
    target = memoryview(buffer).cast("B")
    position = 0
    while position < length:
        count = raw.readinto(target[position : position + PIECE])
        if not count:
            raise RequestError(Failure.UNKNOWN, "the response broke off")
        position += count
    return buffer


def read_pooled(response: Pooled, limit: int) -> bytes:
    """The body of ``response``; if it exceeds ``limit`` bytes, its first ``limit + 1`` bytes.

    Returns the connection to the pool, or closes it if some of the body is unread. Raises the
    errors of urllib3.
    """
    pieces: list[bytes] = []
    missing = limit + 1
    try:
        if response.length_remaining is not None:
            missing = min(missing, response.length_remaining)
        # Read an empty body, too: otherwise the connection is not ready for the next request.
        while piece := response.read(min(missing, LARGE_PIECE) or 1):
            pieces.append(piece)
            missing -= len(piece)
            if not missing:
                break
        if sum(map(len, pieces)) > limit:
            response.close()
    except BaseException:
        response.close()
        raise
    finally:
        response.release_conn()
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
