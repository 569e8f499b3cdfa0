"""Sending one HTTP request, once, within its time."""

from __future__ import annotations

import os
import re
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
from lance_core_gcs.connections import direct, make_pool
from lance_core_gcs.failures import of_exception

MAX_LISTING = 64 << 20
"""Longest answer, in bytes, that is no content of an object."""

MAX_TEXT = 1 << 16
"""Bytes of a refusal that are read."""

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
        most: int = MAX_LISTING,
    ) -> Answer:
        """The answer to a request for ``place``: path and query.

        Of a longer body, ``most`` bytes and one are read, and of a refusal `MAX_TEXT`. Raises
        `RequestError` if no whole answer comes; it carries nothing of what urllib3 raised, which
        holds addresses.
        """
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
                most = most if response.status < 300 else MAX_TEXT
                return Answer(response.status, response.headers, _body(response, most))
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
        pool = self._pool() if url.startswith("https://") else direct(self._timeout)
        seconds = self._timeout if timeout is None else min(timeout, self._timeout)
        connecting = min(seconds, self._settings.connect_timeout)
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
                data = _body(response, MAX_TOKEN).to_pybytes()[:MAX_TOKEN]
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


def _body(response: Any, most: int) -> pa.Buffer:
    """The body of an answer; of one that is longer than ``most`` bytes, ``most`` and one."""
    text = response.headers.get("content-length", "")
    length = int(text) if re.fullmatch(r"[0-9]{1,15}", text) else None
    if length is not None and length <= most:
        return _of_length(response, length)
    pieces, size = [], 0
    while size <= most and (piece := response.read1(min(PIECE, most + 1 - size))):
        size += len(piece)
        pieces.append(piece)
    if size > most:
        response.close()  # nobody waits for the rest
    return pa.py_buffer(b"".join(pieces))


def _of_length(response: Any, length: int) -> pa.Buffer:
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
        piece = response.read1(min(length - position, PIECE))
        if not piece:
            raise RequestError(Failure.UNKNOWN, "the answer broke off")
