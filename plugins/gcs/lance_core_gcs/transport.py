"""Sending one HTTP request, once, within its time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import urllib3
from google.auth.exceptions import TransportError
from urllib3.exceptions import HTTPError

from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.remote.settings import RemoteSettings
from lance_core_gcs.connections import make_pool
from lance_core_gcs.failures import of_exception

MAX_TEXT = 64 << 20
"""Longest answer, in bytes, that is no content of an object."""

MAX_TOKEN = 1 << 20
"""Longest answer of a token service, in bytes."""

PIECE = 1 << 20
"""Bytes that are read from a connection at a time, at most."""

USER_AGENT = "lance-core-gcs"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (whatever their case) and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: pa.Buffer


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer of a token service, with the names that google-auth has for its parts."""

    status: int
    headers: Mapping[str, str]
    data: bytes


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
        self._connections = make_pool(endpoint, settings)

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

    def fetch(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: object,
    ) -> Fetched:
        """The answer of a token service: what google-auth calls a request.

        Its own would log headers and bodies. Raises google-auth's `TransportError`.
        """
        # What is not encrypted is the machine's own metadata server: no proxy knows it.
        pool = self._pool() if url.startswith("https://") else urllib3.PoolManager()
        seconds = self._timeout if timeout is None else min(timeout, self._timeout)
        connecting = min(seconds, self._settings.connect_timeout)
        deadline = time.monotonic() + seconds
        try:
            response = pool.urlopen(
                method,
                url,
                body=body,
                headers={**self._agent, **(headers or {})},
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=connecting, read=seconds),
                preload_content=False,
                decode_content=False,
            )
            try:
                data = _body(response, deadline, MAX_TOKEN).to_pybytes()
            finally:
                response.close()
            return Fetched(response.status, response.headers, data)
        except (HTTPError, OSError, RequestError) as error:
            failed = TransportError(type(error).__name__)
        raise failed

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._connections.clear()

    def _pool(self) -> urllib3.PoolManager:
        if self._process != os.getpid():
            self._connections = make_pool(self._endpoint, self._settings)
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
    while piece := response.read1(PIECE):
        size += len(piece)
        if size > most:
            raise _too_long(most)
        pieces.append(piece)
        _check(deadline)
    return pa.py_buffer(b"".join(pieces))


def _of_length(response: Any, length: int, deadline: float) -> pa.Buffer:
    if not length:
        return pa.py_buffer(b"")
    # As many bytes as have arrived: at least one, unless the body has ended.
    piece: bytes = response.read1(length)
    if len(piece) == length:
        return pa.py_buffer(piece)
    buffer = pa.allocate_buffer(length)
    target = np.frombuffer(buffer, np.uint8)
    position = 0
    while True:
        target[position : position + len(piece)] = np.frombuffer(piece, np.uint8)
        position += len(piece)
        if position == length:
            return buffer
        _check(deadline)
        piece = response.read1(min(length - position, PIECE))
        if not piece:
            raise RequestError(Failure.UNKNOWN, "the answer broke off")


def _check(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise RequestError(Failure.UNKNOWN, "the answer did not come in time")


def _too_long(most: int) -> RequestError:
    return RequestError(Failure.REFUSED, f"an answer of more than {most} bytes is not read")
