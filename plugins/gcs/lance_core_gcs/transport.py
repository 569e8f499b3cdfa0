"""Sending one HTTP request, once, within its time."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import (
    getproxies_environment,
    proxy_bypass_environment,  # type: ignore[attr-defined]  # it is there
)

import google.auth.transport.urllib3
import numpy as np
import pyarrow as pa
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from lance_core.errors import InvalidInputError
from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.remote.settings import RemoteSettings
from lance_core_gcs.failures import of_exception

MAX_TEXT = 64 << 20
"""Longest answer, in bytes, that is no content of an object."""

PIECE = 1 << 20
"""Bytes that are read from a connection at a time, at most."""

USER_AGENT = "lance-core-gcs"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (whatever their case) and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: pa.Buffer


class Transport:
    """Connections to ``endpoint``, by way of the proxy of the settings or the environment.

    Thread-safe. A forked child makes connections of its own.
    """

    def __init__(self, endpoint: str, settings: RemoteSettings) -> None:
        self._endpoint = endpoint
        self._timeout = settings.timeout
        self._wait = urllib3.Timeout(connect=settings.connect_timeout, read=settings.timeout)
        self._agent = {"user-agent": settings.user_agent or USER_AGENT}
        self._settings = settings
        self._process = os.getpid()
        self._connections = _pool(endpoint, settings)

    def send(
        self,
        method: str,
        place: str,
        headers: Mapping[str, str],
        body: Sequence[memoryview] = (),
        most: int = MAX_TEXT,
    ) -> Answer:
        """The answer to a request for ``place``: path and query.

        A body of more than ``most`` bytes is not read: REFUSED. Raises `RequestError` if no whole
        answer comes; it carries nothing of what urllib3 raised, which holds addresses.
        """
        deadline = time.monotonic() + self._timeout
        length = sum(view.nbytes for view in body)
        own = {**self._agent, **headers}
        if method != "GET":
            own["content-length"] = str(length)
        try:
            response = self._pool().urlopen(
                method,
                f"{self._endpoint}{place}",
                # Only what has no length of its own is sent piece by piece.
                body=iter(body) if length else None,
                headers=own,
                retries=False,
                redirect=False,
                timeout=self._wait,
                preload_content=False,
                decode_content=False,
            )
            try:
                return Answer(response.status, response.headers, _body(response, deadline, most))
            except BaseException:
                response.close()
                raise
            finally:
                response.release_conn()
        except (HTTPError, OSError) as error:
            failed = of_exception(error)
        raise failed

    def fetch(self, *arguments: Any, **options: Any) -> Any:
        """A request to a token service, as google-auth makes it."""
        return google.auth.transport.urllib3.Request(self._pool())(*arguments, **options)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._connections.clear()

    def _pool(self) -> urllib3.PoolManager:
        if self._process != os.getpid():
            self._connections = _pool(self._endpoint, self._settings)
            self._process = os.getpid()
        return self._connections


def _body(response: Any, deadline: float, most: int) -> pa.Buffer:
    """The body of an answer; `RequestError` if it is too long or takes too long."""
    text = response.headers.get("content-length", "")
    if text.isdigit():
        length = int(text)
        if length > most:
            raise _too_long(most)
        return _of_length(response, length, deadline)
    pieces, size = [], 0
    while piece := _piece(response, PIECE, deadline):
        size += len(piece)
        if size > most:
            raise _too_long(most)
        pieces.append(piece)
    return pa.py_buffer(b"".join(pieces))


def _of_length(response: Any, length: int, deadline: float) -> pa.Buffer:
    if not length:
        return pa.py_buffer(b"")
    first = _piece(response, length, deadline)
    if len(first) == length:
        return pa.py_buffer(first)
    buffer = pa.allocate_buffer(length)
    target = np.frombuffer(buffer, np.uint8)
    position = len(first)
    target[:position] = np.frombuffer(first, np.uint8)
    while position < length:
        piece = _piece(response, min(length - position, PIECE), deadline)
        if not piece:
            raise RequestError(Failure.UNKNOWN, "the answer broke off")
        target[position : position + len(piece)] = np.frombuffer(piece, np.uint8)
        position += len(piece)
    return buffer


def _piece(response: Any, most: int, deadline: float) -> bytes:
    """What has arrived: at least a byte, unless the body has ended."""
    piece: bytes = response.read1(most)
    if time.monotonic() > deadline:
        raise RequestError(Failure.UNKNOWN, "the answer did not come in time")
    return piece


def _too_long(most: int) -> RequestError:
    return RequestError(Failure.REFUSED, f"an answer of more than {most} bytes is not read")


def _pool(endpoint: str, settings: RemoteSettings) -> urllib3.PoolManager:
    common: dict[str, Any] = {
        "maxsize": settings.parallel + 16,
        "timeout": urllib3.Timeout(connect=settings.connect_timeout, read=settings.timeout),
    }
    context = _tls(settings)
    if endpoint.startswith("https://") or context is not None:
        common["ssl_context"] = context or ssl.create_default_context()
    proxy = _proxy(endpoint, settings)
    pool = urllib3.PoolManager(**common) if proxy is None else _through(proxy, common)
    pool.pool_classes_by_scheme = _patient(settings.timeout)
    return pool


def _through(proxy: str, common: dict[str, Any]) -> urllib3.ProxyManager:
    """Connections by way of ``proxy``, whose address may hold a password."""
    try:
        place = urllib3.util.parse_url(proxy)
        headers = urllib3.make_headers(proxy_basic_auth=place.auth) if place.auth else None
        plain = place._replace(auth=None).url
        return urllib3.ProxyManager(plain, proxy_headers=headers, **common)
    except (HTTPError, ValueError, AssertionError):
        pass
    raise InvalidInputError("the URL of the proxy (proxy_url) cannot be used")


def _tls(settings: RemoteSettings) -> ssl.SSLContext | None:
    """How to check certificates, if not in the usual way."""
    if not settings.allow_invalid_certificates and settings.proxy_ca_certificate is None:
        return None
    context = ssl.create_default_context()
    if settings.proxy_ca_certificate is not None:
        try:
            context.load_verify_locations(cadata=settings.proxy_ca_certificate)
        except (ssl.SSLError, ValueError):
            raise InvalidInputError("'proxy_ca_certificate' is no certificate (PEM)") from None
    if settings.allow_invalid_certificates:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _proxy(endpoint: str, settings: RemoteSettings) -> str | None:
    """The URL of the proxy for ``endpoint``, None for none."""
    place = urlsplit(endpoint)
    excluded = {"no": settings.proxy_excludes} if settings.proxy_excludes else None
    known = getproxies_environment()
    if settings.proxy_url is not None:
        known = {place.scheme: settings.proxy_url}
        is_direct = excluded is not None and proxy_bypass_environment(place.netloc, excluded)
    else:
        is_direct = proxy_bypass_environment(place.netloc, known)
    return None if is_direct else known.get(place.scheme, known.get("all"))


def _patient(seconds: float) -> dict[str, Any]:
    """Kinds of connections that let a body take ``seconds`` to be sent.

    Those of urllib3 give the first body on a connection only as long as connecting may take.
    """

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            self.sock.settimeout(seconds)

    class Tls(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            self.sock.settimeout(seconds)

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Plain

    class TlsPool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Tls

    return {"http": PlainPool, "https": TlsPool}
