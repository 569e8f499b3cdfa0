"""Reading the body of an answer that is longer, or comes more slowly, than it should.

HTTP libraries bound the time between two bytes and not that of all, and read an answer to its end,
however far that is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from lance_core.store.remote.client import Failure, RequestError

LONGEST_ANSWER = 32 << 20
"""Bytes that an answer may have which is not the content of an object: a listing, an error."""

PIECE = 1 << 20
"""Bytes that are asked for at once: what has come of them is taken."""


class Raw(Protocol):
    """The body as the HTTP library reads it; ``read1`` is used where it has that."""

    def read(self, amt: int) -> bytes:
        """The next bytes, b"" at the end."""

    def close(self) -> None:
        """Give up the connection."""


class TimelyBody:
    """The body ``raw``, which has to be there ``seconds`` from now.

    Reading raises `RequestError` when the time is over, and what ``raw`` raises.
    """

    def __init__(
        self, raw: Raw, seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._raw = raw
        self._some: Callable[[int], bytes] = getattr(raw, "read1", raw.read)
        self._monotonic = monotonic
        self._until = monotonic() + seconds

    def read(self, amt: int = -1) -> bytes:
        """The next ``amt`` bytes, fewer at the end; `LONGEST_ANSWER` at most if it is negative."""
        if amt < 0:
            return b"".join(self.stream())
        piece = self._next(amt)
        if len(piece) == amt or not piece:
            return piece
        pieces = [piece]
        missing = amt - len(piece)
        while missing and (piece := self._next(missing)):
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def readinto(self, target: memoryview) -> int:
        """Fill the start of ``target`` with what comes next; how many bytes, 0 at the end."""
        piece = self._next(len(target))
        target[: len(piece)] = piece
        return len(piece)

    def stream(self) -> Iterator[bytes]:
        """All that is left; `RequestError` if that is more than `LONGEST_ANSWER` bytes."""
        length = 0
        while piece := self._next(PIECE):
            length += len(piece)
            if length > LONGEST_ANSWER:
                self.close()
                raise RequestError(Failure.UNKNOWN, f"the answer has over {LONGEST_ANSWER} bytes")
            yield piece

    def close(self) -> None:
        """Give up the rest."""
        self._raw.close()

    def _next(self, most: int) -> bytes:
        if self._monotonic() > self._until:
            self.close()
            raise RequestError(Failure.UNKNOWN, "no complete answer within the time for a request")
        return self._some(min(most, PIECE)) if most else b""
