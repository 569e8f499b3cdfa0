"""How the SDK sends its requests: over a pool of connections, each once, with an end in time.

The SDK's own transport reads bodies after its pipeline is through, where the SDK sends a broken
request again by itself, and nothing bounds the time of a body that trickles. This one reads the
body at once, and raises what an answer means, which no part of the SDK catches.
"""

from __future__ import annotations

import os
import time
from collections.abc import MutableSequence
from types import TracebackType
from typing import Any

import urllib3
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest import HttpRequest, HttpResponse

from lance_core.store.fork_safe import ForkSafeLock
from lance_core.store.remote.client import Failure, RequestError
from lance_core_azure.answer import Answer
from lance_core_azure.connections import pool_of
from lance_core_azure.errors import of_answer, of_transport
from lance_core_azure.settings import AzureSettings

CHUNK = 1 << 18
"""Bytes taken from a connection at once, at most."""
MOST = 64 << 20
"""Bytes that an answer may have, if the request does not say. Listings have a few millions."""

NO_BLOBS = b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>"
"""What the SDK is shown of bodies that are not for it."""


class OnceTransport(HttpTransport[HttpRequest, HttpResponse]):
    """Sends a request once; `RequestError` unless the answer is a success or asks for a token.

    Options of a request, which the SDK hands through: ``unmet``, what an unmet condition means;
    ``body``, where the body of a success is put instead of being given to the SDK, which would
    copy it, or take a quarter of a millisecond for each object of a listing; ``most``, how many
    bytes that may be.
    """

    def __init__(self, settings: AzureSettings) -> None:
        self._settings = settings
        self._pool = pool_of(settings)
        self._process = os.getpid()
        self._lock = ForkSafeLock()

    def open(self) -> None:
        return

    def close(self) -> None:
        self._pool.clear()

    def __enter__(self) -> OnceTransport:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.close()

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        unmet: Failure = kwargs.get("unmet", Failure.REFUSED)
        into: MutableSequence[bytes | bytearray] | None = kwargs.get("body")
        status, reason, headers, body = self._exchange(request, kwargs.get("most", MOST))
        if status >= 300 and status != 401:
            raise of_answer(status, headers, bytes(body), unmet)
        if into is not None and status < 300:
            into.append(body)
            headers["Content-Type"], body = "application/xml", NO_BLOBS
        return Answer(request, status, reason, headers, bytes(body))

    def _exchange(
        self, request: HttpRequest, most: int
    ) -> tuple[int, str, urllib3.HTTPHeaderDict, bytes | bytearray]:
        remote = self._settings.remote
        deadline = time.monotonic() + remote.timeout
        try:
            response = self._connections().urlopen(
                request.method,
                request.url,
                body=request.content,
                headers=request.headers,
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
                timeout=urllib3.Timeout(connect=remote.connect_timeout, read=remote.timeout),
            )
            body = _body(response, deadline, most)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            failure = of_transport(error, self._settings.host)
        else:
            return response.status, response.reason or "", response.headers, body
        # Out of reach of the error, whose text may hold the URL.
        raise failure

    def _connections(self) -> urllib3.PoolManager:
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():  # those of the parent are the parent's
                    self._pool = pool_of(self._settings)
                    self._process = os.getpid()
        return self._pool


def _body(response: urllib3.BaseHTTPResponse, deadline: float, most: int) -> bytes | bytearray:
    """All that follows, if it comes in time; else the connection is given up."""
    # Written where it stays: a list of pieces would take twice the memory to be joined.
    body = bytearray(min(response.length_remaining or 0, most))
    at = 0
    try:
        while chunk := response.read1(CHUNK):
            if at + len(chunk) > most:
                raise RequestError(Failure.REFUSED, f"an answer has more than {most} bytes")
            body[at : at + len(chunk)] = chunk
            at += len(chunk)
            if time.monotonic() > deadline:
                raise RequestError(Failure.UNKNOWN, "an answer did not end in time")
    except BaseException:
        response.close()
        raise
    response.release_conn()
    del body[at:]
    return body
