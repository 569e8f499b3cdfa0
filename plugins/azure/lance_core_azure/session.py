"""The session through which the SDK's transport sends requests.

`RequestsTransport` accepts any object with the ``request`` of ``requests.Session``. This session
gives guarantees of the store contract that the one of requests lacks:

- A request and its response end within a deadline. The time-outs of requests restart with every
  byte.
- Bodies have a size limit. requests reads and decompresses whole bodies.
- It is known if a failed request was sent. The transport reports some broken requests as unsent,
  and repeats a download whose body breaks off; here bodies are read before the SDK sees them.
- Credentials are only sent to the endpoint. The SDK follows redirects.
- A forked child opens its own connections.
- Errors show no URL, which may contain a signature.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

import urllib3
from azure.core.pipeline.transport import RequestsTransport
from requests import Response

from lance_core.hookspecs.concurrency import LruCache
from lance_core_azure.connections import make_pool
from lance_core_azure.errors import from_transport
from lance_core_azure.settings import AzureSettings
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.connection_failures import origin_of
from lance_core_remote.response_limits import MAX_RESPONSE, read_pooled

MAX_REFUSAL = 1 << 16
"""Maximum bytes to read of the body of an error response."""
SURPLUS = 1 << 16
"""Maximum bytes to read beyond the range of a read. The store rejects a body that is longer than
requested, so it must be able to detect it."""

_RANGE = re.compile(r"bytes=([0-9]{1,15})-([0-9]{1,15})")


class Session:
    """Sends requests to the endpoint of ``settings``; opens no connection yet. Thread-safe.

    Raises `InvalidInputError` for an unusable proxy.
    """

    def __init__(self, settings: AzureSettings) -> None:
        remote = settings.remote
        self._settings = settings
        self._headers = {name.lower(): value for name, value in remote.headers}
        self._timeout = urllib3.Timeout(connect=remote.connect_timeout, read=remote.timeout)
        self._pools: LruCache[str, urllib3.PoolManager] = LruCache(1, parents_only=True)
        self._pool()  # raises for an unusable proxy

    def transport(self) -> RequestsTransport:
        """The SDK's transport on top of this session."""
        # Return the whole body in one piece, without a copy.
        return RequestsTransport(session=self, connection_data_block_size=1 << 62)

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        data: bytes | None = None,
        **_: object,
    ) -> Response:
        """Send one request and read its whole response. Raises `RequestError` if none arrives.

        The settings replace the SDK's time-outs and proxy, which are ignored.
        """
        sent = dict(headers)
        if self._headers:
            known = {name.lower() for name in headers}
            sent |= {n: v.reveal() for n, v in self._headers.items() if n not in known}
        try:
            answer = self._pool().urlopen(
                method,
                url,
                body=data,
                headers=sent,
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
                timeout=self._timeout,
            )
            limit = _limit(headers) if answer.status < 300 else MAX_REFUSAL
            body = read_pooled(answer, limit)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            failure = from_transport(error, origin_of(self._settings.endpoint))
        else:
            if answer.status >= 300 or len(body) <= limit:
                return _response(answer, url, body)
            # A read: the server ignored the range. A write: its outcome is unknown.
            kind = Failure.REFUSED if method == "GET" else Failure.UNKNOWN
            failure = RequestError(kind, f"the response has more than {limit} bytes")
        # Raise outside of the except block: the text of the error may contain the URL.
        raise failure

    def close(self) -> None:
        """Close idle connections; later requests open new ones."""
        self._pool().clear()

    def _pool(self) -> urllib3.PoolManager:
        return self._pools.get("", lambda: make_pool(self._settings))


class _Body(io.BytesIO):
    """A body that is already read, on which `RequestsTransport` can set attributes."""


def _limit(headers: Mapping[str, str]) -> int:
    """Maximum bytes of the body of a successful response."""
    match = _RANGE.fullmatch(headers.get("x-ms-range") or "")
    return int(match[2]) - int(match[1]) + 1 + SURPLUS if match else MAX_RESPONSE


def _response(answer: urllib3.BaseHTTPResponse, url: str, body: bytes) -> Response:
    """The response in the form that the SDK expects."""
    response = Response()
    response.status_code = answer.status
    response.reason = answer.reason or ""
    # The SDK does not follow a redirect without a location.
    answer.headers.discard("Location")
    headers: Any = answer.headers
    response.headers = headers
    response.url = url
    response.raw = _Body(body)
    return response
