"""Reading answers that may be longer than they should be.

HTTP libraries read an answer to its end, however far that is.
"""

from __future__ import annotations

from typing import Protocol

from lance_core.store.remote.client import Failure, RequestError

LONGEST_ANSWER = 32 << 20
"""Bytes that an answer may have which is not the content of an object: a listing, an error."""

PIECE = 1 << 20
"""Bytes that are asked for at once."""


class Raw(Protocol):
    """The body as the HTTP library reads it."""

    def read(self, amt: int, /) -> bytes:
        """The next bytes, b"" at the end."""

    def close(self) -> None:
        """Give up the connection."""


def read_answer(raw: Raw) -> bytes:
    """All that is left of ``raw``; `RequestError` if that is more than `LONGEST_ANSWER` bytes.

    Raises what ``raw`` does.
    """
    pieces: list[bytes] = []
    length = 0
    while piece := raw.read(PIECE):
        length += len(piece)
        if length > LONGEST_ANSWER:
            raw.close()
            raise RequestError(Failure.UNKNOWN, f"the answer has over {LONGEST_ANSWER} bytes")
        pieces.append(piece)
    return b"".join(pieces)
