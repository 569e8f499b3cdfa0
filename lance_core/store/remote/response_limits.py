"""Reading bodies of responses that may be longer than they should be.

HTTP libraries and SDKs read a body to its end, however far that is.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from lance_core.store.remote.client import Failure, RequestError

MAX_RESPONSE = 32 << 20
"""Bytes of a body that is not the content of an object, such as a listing or an error."""

PIECE = 1 << 20
"""Bytes that are read at once, at most."""

LARGE_PIECE = 16 << 20
"""Bytes that are read at once into memory that is allocated for them: twice the longest range."""

_SHORT = 1 << 16
"""Bytes up to which a body is read by one call: it most likely arrives in one piece."""


class Raw(Protocol):
    """A body as the HTTP library reads it."""

    def read(self, amt: int, /) -> bytes:
        """The next bytes, b"" at the end."""

    def readinto(self, target: memoryview, /) -> int | None:
        """Write the next bytes into ``target``; how many, 0 at the end."""

    def close(self) -> None:
        """Give up the connection."""


class Pooled(Protocol):
    """A response of urllib3 whose body was not read yet."""

    @property
    def length_remaining(self) -> int | None:
        """The bytes of the body, None if that is not announced."""

    def read(self, amt: int, /) -> bytes:
        """The next bytes, b"" at the end."""

    def close(self) -> None:
        """Give up the connection."""

    def release_conn(self) -> None:
        """Give back the connection."""


class ReadBody(io.BytesIO):
    """A body that was read already, for an SDK that wants to read it."""

    def stream(self) -> Iterator[bytes]:
        """What botocore calls to read all of it."""
        yield self.getvalue()


def read_response(raw: Raw, limit: int = MAX_RESPONSE) -> bytes:
    """All that is left of ``raw``; `RequestError` if that is more than ``limit`` bytes.

    Raises what ``raw`` does.
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
    """The next ``length`` bytes of ``raw``, read into the buffer where they stay.

    `RequestError` if ``raw`` ends before. What follows them is not read.
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
    """The body of ``response``; of one that is longer than ``limit`` bytes, these and one more.

    The connection is given back, or closed if some of the body is left. Raises what urllib3 does.
    """
    pieces: list[bytes] = []
    missing = limit + 1
    try:
        if response.length_remaining is not None:
            missing = min(missing, response.length_remaining)
        # An empty body is read as well: else its connection is not ready for the next request.
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
