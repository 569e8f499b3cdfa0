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

NO_BLOBS = b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>"


class OnceTransport(HttpTransport[HttpRequest, HttpResponse]):
    """Sends a request once; `RequestError` unless the answer is a success or asks for a token.

    Options of a request, which the SDK hands through: ``unmet``, what an unmet condition means;
    ``listing``, where the body of a listing is put, instead of being given to the SDK, which would
    take a quarter of a millisecond for each object.
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
        unmet: Failure = kwargs.get("unmet", Failure.EXISTS)
        listing: MutableSequence[bytes] | None = kwargs.get("listing")
        status, reason, headers, body = self._exchange(request)
        if status >= 300 and status != 401:
            raise of_answer(status, headers, body, unmet)
        if listing is not None and status == 200:
            listing.append(body)
            headers, body = urllib3.HTTPHeaderDict({"Content-Type": "application/xml"}), NO_BLOBS
        return Answer(request, status, reason, headers, body)

    def _exchange(self, request: HttpRequest) -> tuple[int, str, urllib3.HTTPHeaderDict, bytes]:
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
            body = _body(response, deadline)
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


def _body(response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    """All that follows, if it comes in time; else the connection is given up."""
    chunks: list[bytes] = []
    try:
        while chunk := response.read1(CHUNK):
            chunks.append(chunk)
            if time.monotonic() > deadline:
                raise RequestError(Failure.UNKNOWN, "an answer did not end in time")
    except BaseException:
        response.close()
        raise
    response.release_conn()
    return b"".join(chunks)
