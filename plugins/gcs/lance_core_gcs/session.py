"""The session through which the SDK sends its requests.

``google.cloud.storage.Client`` accepts any object with the ``request`` of ``requests.Session``.
This session gives guarantees of the store contract that the SDK's ``AuthorizedSession`` lacks:

- A request and its response end within a deadline. The SDK's time-outs restart with every byte.
- A request is sent once. The SDK repeats requests after a 401 and follows redirects.
- Bodies have a size limit. The SDK reads and decompresses whole bodies.
- Credentials are only sent to the endpoint. The SDK continues uploads at any URL of a response.
- One thread renews a token for all threads. With the SDK, each thread renews it.
- No secrets are logged. google-auth logs the headers and bodies of requests.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import urllib3
from google.auth.exceptions import TransportError
from requests import Response
from urllib3.exceptions import HTTPError

from lance_core.hookspecs.concurrency import LruCache
from lance_core_gcs.connections import direct, make_pool
from lance_core_gcs.credentials import Authorization
from lance_core_gcs.errors import Meaning, from_response, from_transport
from lance_core_gcs.options import Identity
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.connection_failures import CONTACT_TIMEOUT
from lance_core_remote.response_limits import MAX_RESPONSE, read_pooled
from lance_core_remote.settings import RemoteSettings

T = TypeVar("T")

MAX_REFUSAL = 1 << 16
"""Maximum bytes to read of an error response."""

MAX_TOKEN = 1 << 20
"""Maximum bytes of a token service's response."""

USER_AGENT = "lance-core-gcs"

PLAIN = Meaning()


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response of a token service, with the attributes that google-auth reads."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class _Call(threading.local):
    """The current SDK call of a thread: the expected outcomes, and its last response."""

    meaning = PLAIN
    most = MAX_RESPONSE
    response: Any = None


_call = _Call()


class Session:
    """Sends requests only to ``endpoint``, through the proxy of the settings or environment.

    Thread-safe. A forked child opens its own connections.
    """

    def __init__(self, endpoint: str, settings: RemoteSettings, identity: Identity) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._wait = urllib3.Timeout(connect=settings.connect_timeout, read=settings.timeout)
        self._authorization = Authorization(identity, self.fetch)
        self._pools: LruCache[str, urllib3.PoolManager] = LruCache(1, parents_only=True)
        self._pool()  # raises for settings that are unusable

    def call(
        self, work: Callable[[], T], meaning: Meaning = PLAIN, most: int = MAX_RESPONSE
    ) -> tuple[T, Response]:
        """The result of ``work``, which calls the SDK once, and the last response that it received.

        At most ``most + 1`` bytes of a body are read. All errors of the SDK become a `RequestError`
        without a reference to them: their texts contain URLs and bodies.
        """
        call = _call
        call.meaning, call.most, call.response = meaning, most, None
        try:
            return work(), call.response
        except RequestError as error:
            failed = error
        except Exception as error:  # a malformed response causes many types of errors
            name = type(error).__name__
            if call.response is None:
                failed = RequestError(Failure.REFUSED, f"the SDK fails with {name}")
            else:
                failed = RequestError(
                    Failure.UNKNOWN,
                    f"the response of {self._endpoint} is not of Cloud Storage ({name})",
                    contact_timeout=CONTACT_TIMEOUT,
                )
        raise failed

    def request(
        self,
        method: str,
        url: str,
        data: bytes | Sequence[memoryview] | None = None,
        headers: Mapping[str, str] | None = None,
        stream: bool = False,
        **_: object,
    ) -> Response:
        """Send one request and read its whole response; only path and query of ``url`` are used.

        Raises `RequestError` for error responses, before the SDK sees them, and for incomplete
        responses. The settings replace the SDK's time-outs, which are ignored. ``stream``: True for
        a download.
        """
        call = _call
        sent = self._headers(method, data, headers or {}, keeps_encoding=stream)
        try:
            received = self._pool().urlopen(
                method,
                self._endpoint + _place(url),
                # An iterator over views is sent without a joined copy.
                body=data if data is None or isinstance(data, bytes) else iter(data),
                headers=sent,
                retries=False,
                redirect=False,
                timeout=self._wait,
                preload_content=False,
                decode_content=False,
            )
            is_success = call.meaning.accepts(received.status)
            body = read_pooled(received, call.most if is_success else MAX_REFUSAL)
        except (HTTPError, OSError) as error:
            failed = from_transport(error, self._endpoint)
        else:
            if is_success:
                call.response = response = _response(received, body)
                return response
            failed = from_response(
                received.status, received.headers, body, call.meaning, self._endpoint
            )
        raise failed

    def fetch(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: object,
    ) -> Fetched:
        """The response of a token service, for google-auth. Raises its `TransportError`."""
        # Only the machine's own metadata server uses http, and no proxy can reach it.
        seconds = min(self._settings.timeout, timeout or self._settings.timeout)
        pool = self._pool() if url.startswith("https://") else direct(seconds)
        connecting = min(seconds, self._settings.connect_timeout)
        try:
            received = pool.urlopen(
                method,
                url,
                body=body,
                headers={"user-agent": USER_AGENT, **(headers or {})},
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=connecting, read=seconds),
                preload_content=False,
                decode_content=False,
            )
            data = read_pooled(received, MAX_TOKEN)[:MAX_TOKEN]
            return Fetched(received.status, received.headers, data)
        except (HTTPError, OSError, RequestError) as error:
            failed = TransportError(type(error).__name__)
        raise failed

    def renew_credentials(self) -> bool:
        """See `RemoteClient.renew_credentials`."""
        return self._authorization.renew()

    def close(self) -> None:
        """Close idle connections."""
        self._pool().clear()

    def _headers(
        self,
        method: str,
        data: bytes | Sequence[memoryview] | None,
        headers: Mapping[str, str],
        *,
        keeps_encoding: bool,
    ) -> dict[str, str]:
        sent = {name.lower(): value for name, value in headers.items()}
        if not keeps_encoding:
            # Read the body as it is sent: decompression could exceed every limit.
            sent.pop("accept-encoding", None)
        for name, value in self._settings.headers:
            sent.setdefault(name.lower(), value.reveal())
        if self._settings.user_agent is not None:
            sent["user-agent"] = self._settings.user_agent
        if method != "GET":
            sent["content-length"] = str(_length(data))
        return {**sent, **self._authorization.headers()}

    def _pool(self) -> urllib3.PoolManager:
        return self._pools.get("", lambda: make_pool(self._endpoint, self._settings))


def _place(url: str) -> str:
    """Path and query of ``url``."""
    return "/" + url.partition("://")[2].partition("/")[2]


def _length(data: bytes | Sequence[memoryview] | None) -> int:
    if data is None or isinstance(data, bytes):
        return len(data or b"")
    return sum(view.nbytes for view in data)


def _response(received: Any, body: bytes) -> Response:
    """A response in the form that the SDK expects."""
    response = Response()
    response.status_code = received.status
    response.headers = received.headers
    response.raw = io.BytesIO(body)
    return response
