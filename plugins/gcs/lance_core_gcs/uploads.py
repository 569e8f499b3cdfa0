"""Resumable uploads: parts that follow each other, and an object at the end of the last.

The service keeps bytes in multiples of `CHUNK` until it is told the length of the whole. It checks
the precondition when an upload begins and, bindingly, when it ends.

The SDK starts an upload. Its parts are sent here, for guarantees that the SDK's writer does not
give:

- A part is sent once. If no response comes, the next attempt asks the service which bytes it has,
  and the same question settles whether the last part made the object.
- Views of memory are sent without being joined.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from requests import Response

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.store.config import Secret
from lance_core.store.remote.client import Failure, RequestError

CHUNK = 256 << 10
"""What the service keeps of an upload is a multiple of this many bytes."""

SendChunk = Callable[[str, Mapping[str, str], Sequence[memoryview]], Response]
"""Sends bytes, given the URL of the upload and headers; `RequestError` for a refusal."""


@dataclass(slots=True)
class Upload:
    """An upload that was begun. Its URL is a secret: it grants writing.

    ``kept``: bytes that the service is known to have. ``tail``: what waits to be sent because it
    fills no chunk. ``is_in_doubt``: a request was not answered, so that ``kept`` may be too low.
    """

    url: Secret
    if_absent: bool
    starts: dict[int, int] = field(default_factory=lambda: {1: 0})
    kept: int = 0
    tail: bytes = b""
    is_in_doubt: bool = False
    is_done: bool = False

    def append(self, number: int, body: Sequence[memoryview], send: SendChunk) -> int:
        """Send part ``number`` as far as it fills chunks; the bytes of the part."""
        start = self.starts.get(number)
        if start is None:
            raise RequestError(Failure.REFUSED, f"part {number} comes before those in front of it")
        length = sum(view.nbytes for view in body)
        end = start + length
        sent = end - end % CHUNK
        self._advance(start, body, sent, None, send)
        self.tail = b"".join(_slice(body, sent - start, length))
        self.starts[number + 1] = end
        return length

    def finish(self, send: SendChunk) -> None:
        """Send what waits, and that this was all."""
        total = max(self.starts.values())
        start = total - len(self.tail)
        self._advance(start, [memoryview(self.tail)], total, total, send)

    def _advance(
        self,
        start: int,
        body: Sequence[memoryview],
        end: int,
        total: int | None,
        send: SendChunk,
    ) -> None:
        """Have the service keep the bytes before ``end``; ``body`` are those from ``start`` on."""
        if self.is_in_doubt:
            self._learn(send(self.url.reveal(), _range(None, total), ()), total)
            self.is_in_doubt = False
        if self.is_done or (total is None and self.kept >= end):
            return
        if self.kept < start:
            raise RequestError(Failure.REFUSED, "the service lost a part of the upload")
        rest = _slice(body, self.kept - start, end - start)
        wanted = range(self.kept, end)
        self.is_in_doubt = True
        self._learn(send(self.url.reveal(), _range(wanted, total), rest), total)
        self.is_in_doubt = False
        if not self.is_done and (total is not None or self.kept < end):
            raise RequestError(Failure.BUSY, f"{self.kept} of {end} bytes were taken")

    def _learn(self, response: Response, total: int | None) -> None:
        """Take in what the service says that it keeps, or that the object is there."""
        if response.status_code != 308:
            if total is None or _size(response) != total:
                # Somebody else on the way has answered, or it is another object.
                raise RequestError(Failure.UNKNOWN, "the response tells of no upload")
            self.is_done = True
            return
        found = re.fullmatch(r"bytes=0-([0-9]{1,15})", response.headers.get("range", ""))
        self.kept = int(found[1]) + 1 if found else 0


class Uploads:
    """The uploads under way of one client, by names that tell nothing."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._open: dict[str, Upload] = {}

    def add(self, upload: Upload) -> str:
        """Remember an upload; its name."""
        name = uuid.uuid4().hex
        with self._lock:
            self._open[name] = upload
        return name

    def get(self, name: str) -> Upload:
        """The upload of that name; REFUSED if there is none."""
        with self._lock:
            upload = self._open.get(name)
        if upload is None:
            raise RequestError(Failure.REFUSED, "the upload is not there any more")
        return upload

    def drop(self, name: str) -> Upload | None:
        """Forget an upload."""
        with self._lock:
            return self._open.pop(name, None)


def _range(sent: range | None, total: int | None) -> dict[str, str]:
    """The ``Content-Range`` of bytes that are sent, None for a question."""
    bounds = f"{sent.start}-{sent.stop - 1}" if sent else "*"
    return {"content-range": f"bytes {bounds}/{'*' if total is None else total}"}


def _slice(body: Sequence[memoryview], start: int, stop: int) -> list[memoryview]:
    """The bytes ``start`` to ``stop`` of ``body``."""
    found, position = [], 0
    for view in body:
        piece = view[max(start - position, 0) : max(stop - position, 0)]
        if piece.nbytes:
            found.append(piece)
        position += view.nbytes
    return found


def _size(response: Response) -> int | None:
    """The size of the object that a response describes, None if it describes none."""
    try:
        return int(response.json()["size"])
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return None
