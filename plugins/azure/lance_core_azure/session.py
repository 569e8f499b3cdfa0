"""The session by which the SDK's transport sends requests.

`RequestsTransport` takes any object with the ``request`` of ``requests.Session``. requests' own
lacks these guarantees of the store contract:

- A request and its response end within a deadline. Its time-outs begin anew with every byte.
- Bodies are bounded. It reads all that is sent, and unpacks it.
- Whether a failed request was sent is known. The transport calls some broken requests unsent, and
  a download whose body breaks off is sent again: here bodies are read before the SDK sees them.
- Credentials go to the endpoint alone. The SDK follows redirects.
- A forked child makes connections of its own.
- Errors show no URL, which may hold a signature.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from typing import Any

import urllib3
from azure.core.pipeline.transport import RequestsTransport
from requests import Response

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.remote.response_limits import MAX_RESPONSE, read_pooled
from lance_core_azure.connections import make_pool
from lance_core_azure.errors import from_transport
from lance_core_azure.settings import AzureSettings

MAX_REFUSAL = 1 << 16
"""Bytes of the body of a refusal that are read."""
SURPLUS = 1 << 16
"""Bytes that the body of a read may have beyond its range. The store refuses a longer body than it
asked for, so it must be able to see it."""

_RANGE = re.compile(r"bytes=([0-9]{1,15})-([0-9]{1,15})")


class Session:
    """Sends requests to the endpoint of ``settings``; no connection is made yet. Thread-safe.

    Raises `InvalidInputError` for a proxy that cannot be used.
    """

    def __init__(self, settings: AzureSettings) -> None:
        remote = settings.remote
        self._settings = settings
        self._timeout = urllib3.Timeout(connect=remote.connect_timeout, read=remote.timeout)
        self._pool = make_pool(settings)
        self._process = os.getpid()
        self._lock = ForkSafeLock()

    def transport(self) -> RequestsTransport:
        """The SDK's transport, over this session."""
        # The whole body in one piece, which is not copied.
        return RequestsTransport(session=self, connection_data_block_size=1 << 62)

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        data: bytes | None = None,
        **_: object,
    ) -> Response:
        """The response to one request, with its whole body; `RequestError` if none comes.

        The time-outs and the proxy of the SDK, which are left out, are replaced by those of the
        settings.
        """
        try:
            answer = self._connections().urlopen(
                method,
                url,
                body=data,
                headers=headers,
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
                timeout=self._timeout,
            )
            limit = _limit(headers) if answer.status < 300 else MAX_REFUSAL
            body = read_pooled(answer, limit)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            failure = from_transport(error, self._settings.host)
        else:
            if answer.status >= 300 or len(body) <= limit:
                return _response(answer, url, body)
            # The range of a read was ignored. Whether a write was applied is not known.
            kind = Failure.REFUSED if method == "GET" else Failure.UNKNOWN
            failure = RequestError(kind, f"the response has more than {limit} bytes")
        # Raised out of reach of the error, whose text may hold the URL.
        raise failure

    def close(self) -> None:
        """Close the connections that are not in use; requests make new ones."""
        self._pool.clear()

    def _connections(self) -> urllib3.PoolManager:
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():  # the parent goes on using its connections
                    self._pool = make_pool(self._settings)
                    self._process = os.getpid()
        return self._pool


class _Body(io.BytesIO):
    """A body that has been read, to which `RequestsTransport` sets attributes."""


def _limit(headers: Mapping[str, str]) -> int:
    """The most bytes that the body of a success may have."""
    wanted = _RANGE.fullmatch(headers.get("x-ms-range") or "")
    return int(wanted[2]) - int(wanted[1]) + 1 + SURPLUS if wanted else MAX_RESPONSE


def _response(answer: urllib3.BaseHTTPResponse, url: str, body: bytes) -> Response:
    """The response as the SDK knows it."""
    response = Response()
    response.status_code = answer.status
    response.reason = answer.reason or ""
    # A redirect without a location is not followed.
    answer.headers.discard("Location")
    headers: Any = answer.headers
    response.headers = headers
    response.url = url
    response.raw = _Body(body)
    return response
