"""How the SDK sends its requests: over a pool of connections, each once, with an end in time.

The SDK's own transport reads bodies after its pipeline is through, where the SDK sends a broken
request again by itself, and nothing bounds the time of a body that trickles. This one reads the
body at once, and raises what an answer means, which no part of the SDK catches.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableSequence
from types import TracebackType
from typing import Any, NamedTuple

import urllib3
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest import HttpRequest, HttpResponse

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.store.remote.client import Failure, RequestError
from lance_core_azure.answer import Answer
from lance_core_azure.connections import pool_of
from lance_core_azure.errors import of_answer, of_transport
from lance_core_azure.settings import AzureSettings

CHUNK = 1 << 18
"""Bytes taken from a connection at once, at most."""
LARGEST = 1 << 30
"""Longest body, in bytes, that is believed to be coming before it does."""
REFUSAL = 1 << 16
"""Bytes of a refusal that are read."""
MOST = 64 << 20
"""Bytes that an answer may have, if the request does not say. Listings have a few millions."""

NO_BLOBS = b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>"
"""What the SDK is shown of bodies that are not for it."""


class Came(NamedTuple):
    """What a success consists of."""

    headers: Mapping[str, str]
    body: bytes | bytearray


class OnceTransport(HttpTransport[HttpRequest, HttpResponse]):
    """Sends a request once; `RequestError` unless the answer is a success or asks for a token.

    Options of a request, which the SDK hands through: ``unmet``, what an unmet condition means;
    ``came``, where a success is put, its headers and its body, instead of being given to the SDK,
    which would copy it, or take a quarter of a millisecond for each object of a listing; ``most``,
    how many bytes the body may have.
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
        into: MutableSequence[Came] | None = kwargs.get("came")
        most: int = kwargs.get("most", MOST)
        status, reason, headers, body = self._exchange(request, most)
        if status >= 300 and status != 401:
            raise of_answer(status, headers, bytes(body), unmet)
        if len(body) > most:
            # The range of a read was ignored. What became of a write, it does not tell.
            failure = Failure.REFUSED if request.method == "GET" else Failure.UNKNOWN
            raise RequestError(failure, f"an answer has more than {most} bytes")
        if into is not None and status < 300:
            into.append(Came(headers.copy(), body))
            headers["Content-Type"], body = "application/xml", NO_BLOBS
        return Answer(request, status, reason, headers, bytes(body))

    def _exchange(
        self, request: HttpRequest, most: int
    ) -> tuple[int, str, urllib3.HTTPHeaderDict, bytes | bytearray]:
        remote = self._settings.remote
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
            body = _body(response, most if response.status < 300 else REFUSAL)
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


def _body(response: urllib3.BaseHTTPResponse, most: int) -> bytes | bytearray:
    """All that follows; of more than ``most`` bytes the first, and the connection is given up."""
    # Written where it stays: a list of pieces would take twice the memory to be joined.
    announced = response.length_remaining or 0
    body = bytearray(announced if 0 < announced <= min(most, LARGEST) else 0)
    at = 0
    try:
        while at <= most and (chunk := response.read1(CHUNK)):
            body[at : at + len(chunk)] = chunk
            at += len(chunk)
    except BaseException:
        response.close()
        raise
    if at > most:
        response.close()
    response.release_conn()
    del body[at:]
    return body
