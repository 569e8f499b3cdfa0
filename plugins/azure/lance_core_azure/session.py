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
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import urllib3
from azure.core.pipeline.transport import RequestsTransport
from requests import Response
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.errors import InvalidInputError
from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.remote.request_deadline import timed_pools
from lance_core.store.remote.response_limits import MAX_RESPONSE
from lance_core.store.remote.settings import RemoteSettings
from lance_core_azure.errors import from_transport
from lance_core_azure.settings import AzureSettings

CALLERS = 16
"""Threads of callers that may send requests at the same time, besides those of the store."""
PIECE = 16 << 20
"""Most bytes to read at once, which allocates as many: twice the longest range of a read."""
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
        self._pool = _make_pool(settings)
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
            body = _body(answer, limit)
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
                    self._pool = _make_pool(self._settings)
                    self._process = os.getpid()
        return self._pool


class _Body(io.BytesIO):
    """A body that has been read, to which `RequestsTransport` sets attributes."""


def _limit(headers: Mapping[str, str]) -> int:
    """The most bytes that the body of a success may have."""
    wanted = _RANGE.fullmatch(headers.get("x-ms-range") or "")
    return int(wanted[2]) - int(wanted[1]) + 1 + SURPLUS if wanted else MAX_RESPONSE


def _body(answer: urllib3.BaseHTTPResponse, limit: int) -> bytes:
    """The body; of a longer one ``limit`` bytes and one. The connection is kept or closed."""
    pieces, missing = [], limit + 1
    try:
        announced = answer.length_remaining
        if announced is not None:
            missing = min(missing, announced)
        while missing and (piece := answer.read(min(missing, PIECE))):
            pieces.append(piece)
            missing -= len(piece)
        if sum(map(len, pieces)) > limit:
            answer.close()
    except BaseException:
        answer.close()
        raise
    finally:
        answer.release_conn()
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _response(answer: urllib3.BaseHTTPResponse, url: str, body: bytes) -> Response:
    """The response as the SDK knows it."""
    response = Response()
    response.status_code = answer.status
    response.reason = answer.reason or ""
    response.headers.update(answer.headers)
    # A redirect without a place is not followed.
    response.headers.pop("Location", None)
    response.url = url
    response.raw = _Body(body)
    return response


def _make_pool(settings: AzureSettings) -> urllib3.PoolManager:
    """Connections, none of which is made yet; `InvalidInputError` for an unusable proxy."""
    remote = settings.remote
    size = remote.parallel + CALLERS
    proxy = _proxy(settings)
    context = _tls(remote) if settings.endpoint.startswith("https:") else None
    if proxy is None:
        pool = urllib3.PoolManager(num_pools=2, maxsize=size, ssl_context=context)
    else:
        pool = _through(proxy, remote, size, context)
    pool.pool_classes_by_scheme = timed_pools(
        remote.timeout, HTTPConnectionPool, HTTPSConnectionPool
    )
    return pool


def _through(
    proxy: str, remote: RemoteSettings, size: int, context: ssl.SSLContext | None
) -> urllib3.ProxyManager:
    """Connections by way of ``proxy``, whose URL may hold a password."""
    parts = urlsplit(proxy)
    headers = None
    if parts.username is not None:
        login = f"{parts.username}:{parts.password or ''}"
        headers = urllib3.make_headers(proxy_basic_auth=login)
    try:
        return urllib3.ProxyManager(
            parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(),
            num_pools=2,
            maxsize=size,
            proxy_headers=headers,
            ssl_context=context,
            proxy_ssl_context=_tls(remote, remote.proxy_ca_certificate),
        )
    except (urllib3.exceptions.HTTPError, ValueError):
        raise InvalidInputError("storage option 'proxy_url' is not the URL of a proxy") from None


def _proxy(settings: AzureSettings) -> str | None:
    """The proxy for the endpoint: of the option, else of the environment."""
    remote, host = settings.remote, settings.host
    if remote.proxy_url is not None:
        return None if _is_excluded(host, remote.proxy_excludes or "") else remote.proxy_url
    if proxy_bypass(host):
        return None
    return getproxies().get(urlsplit(settings.endpoint).scheme)


def _is_excluded(host: str, names: str) -> bool:
    """Whether ``names``, of hosts and domains, separated by commas, have ``host`` among them."""
    lists = (name.strip().lower().removeprefix(".") for name in names.split(","))
    return any(name == "*" or f".{host.lower()}".endswith(f".{name}") for name in lists if name)


def _tls(remote: RemoteSettings, trusted: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=os.environ.get("REQUESTS_CA_BUNDLE") or None)
    if not os.environ.get("REQUESTS_CA_BUNDLE"):
        context.load_verify_locations(certifi.where())
    if trusted is not None:
        try:
            context.load_verify_locations(cadata=trusted)
        except (ssl.SSLError, ValueError):
            raise InvalidInputError(
                "storage option 'proxy_ca_certificate' is no certificate in PEM"
            ) from None
    if remote.allow_invalid_certificates:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
