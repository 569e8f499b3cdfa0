"""Resumable uploads: sequential parts; the object appears after the last part.

Until it is told the total length, the service keeps only multiples of `CHUNK` bytes. It checks the
precondition when an upload starts, and again when it ends; the second check is binding.

The SDK starts an upload, but this module sends the parts, for guarantees that the SDK's writer does
not give:

- A part is sent once. If no response arrives, the next attempt asks the service for the number of
  bytes that it has. The same request tells if the last part created the object.
- Views of memory are sent without a joined copy.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from requests import Response

from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.hookspecs.options import Secret
from lance_core_remote.client import Failure, RequestError

CHUNK = 256 << 10
"""The service keeps a multiple of this many bytes of an unfinished upload."""

SendChunk = Callable[[str, Mapping[str, str], Sequence[memoryview]], Response]
"""Sends bytes to the URL of an upload with the given headers; `RequestError` for a rejection."""


@dataclass(slots=True)
class Upload:
    """An upload in progress. Its URL is a secret, because it grants write access.

    ``acknowledged``: bytes that the service has confirmed. ``tail``: bytes that do not fill a
    chunk yet. ``is_in_doubt``: a request had no response, so the service may have more bytes.
    """

    url: Secret
    if_absent: bool
    starts: dict[int, int] = field(default_factory=lambda: {1: 0})
    acknowledged: int = 0
    tail: bytes = b""
    is_in_doubt: bool = False
    is_done: bool = False

    def append(self, number: int, body: Sequence[memoryview], send: SendChunk) -> int:
        """Send the whole chunks of part ``number``; return the bytes of the part."""
        start = self.starts.get(number)
        if start is None:
            raise RequestError(Failure.REFUSED, f"part {number} was sent before earlier parts")
        length = sum(view.nbytes for view in body)
        end = start + length
        sent = end - end % CHUNK
        self._advance(start, body, sent, None, send)
        self.tail = b"".join(_slice(body, sent - start, length))
        self.starts[number + 1] = end
        return length

    def finish(self, send: SendChunk) -> None:
        """Send the remaining bytes and finish the upload."""
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
        """Send the bytes that the service lacks before ``end``; ``body`` starts at ``start``."""
        if self.is_in_doubt:
            self._learn(send(self.url.reveal(), _range(None, total), ()), total)
            self.is_in_doubt = False
        if self.is_done or (total is None and self.acknowledged >= end):
            return
        if self.acknowledged < start:
            raise RequestError(Failure.REFUSED, "the service lost a part of the upload")
        rest = _slice(body, self.acknowledged - start, end - start)
        part = range(self.acknowledged, end)
        self.is_in_doubt = True
        self._learn(send(self.url.reveal(), _range(part, total), rest), total)
        self.is_in_doubt = False
        if not self.is_done and (total is not None or self.acknowledged < end):
            raise RequestError(Failure.BUSY, f"{self.acknowledged} of {end} bytes were taken")

    def _learn(self, response: Response, total: int | None) -> None:
        """Update the state from a response: the acknowledged bytes, or the finished object."""
        if response.status_code != 308:
            if total is None or _size(response) != total:
                # A proxy has sent this response, or the object belongs to another upload.
                raise RequestError(Failure.UNKNOWN, "the response describes no upload")
            self.is_done = True
            return
        match = re.fullmatch(r"bytes=0-([0-9]{1,15})", response.headers.get("range", ""))
        self.acknowledged = int(match[1]) + 1 if match else 0


class Uploads:
    """The uploads in progress of one client, under names that reveal nothing."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._open: dict[str, Upload] = {}

    def add(self, upload: Upload) -> str:
        """Keep an upload and return its name."""
        name = uuid.uuid4().hex
        with self._lock:
            self._open[name] = upload
        return name

    def get(self, name: str) -> Upload:
        """The upload with this name. Raises REFUSED if it does not exist."""
        with self._lock:
            upload = self._open.get(name)
        if upload is None:
            raise RequestError(Failure.REFUSED, "the upload does not exist any more")
        return upload

    def drop(self, name: str) -> Upload | None:
        """Remove and return an upload; None if it does not exist."""
        with self._lock:
            return self._open.pop(name, None)


def _range(sent: range | None, total: int | None) -> dict[str, str]:
    """The ``Content-Range`` header for bytes ``sent``; None for a status request."""
    bounds = f"{sent.start}-{sent.stop - 1}" if sent else "*"
    return {"content-range": f"bytes {bounds}/{'*' if total is None else total}"}


def _slice(body: Sequence[memoryview], start: int, stop: int) -> list[memoryview]:
    """The bytes ``start`` to ``stop`` of ``body``."""
    views, position = [], 0
    for view in body:
        piece = view[max(start - position, 0) : max(stop - position, 0)]
        if piece.nbytes:
            views.append(piece)
        position += view.nbytes
    return views


def _size(response: Response) -> int | None:
    """The size of the object that a response describes; None if it describes none."""
    try:
        return int(response.json()["size"])
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return None
