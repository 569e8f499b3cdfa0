"""Bound the total time of a request, even if bytes arrive slowly.

A socket time-out restarts with every byte that arrives, so it bounds neither a header nor a body.
urllib3 also gives the sending of a body the time-out for connecting.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any


class TimedConnection(http.client.HTTPConnection):
    """A mixin for connection classes: ``class Mine(TimedConnection, HTTPSConnection)``.

    Sending a request and reading its whole response may take ``seconds`` in total, then
    `TimeoutError` is raised, and also after ``idle`` seconds without a byte of the response.
    Connecting, including a proxy tunnel, has its own limit, ``timeout``.
    """

    seconds: float = 30.0
    idle: float | None = None
    _end: float = 0.0

    def connect(self) -> None:
        self._begin(self.seconds if self.timeout is None else self.timeout)
        super().connect()

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        """Start a request and its deadline."""
        self._begin(self.seconds)
        super().putrequest(*args, **kwargs)

    def send(self, data: Any) -> None:
        """Send the rest of a request within the remaining time."""
        if hasattr(data, "read"):  # otherwise each piece would get the full remaining time
            while piece := data.read(self.blocksize):
                self.send(piece)
            return
        if self.sock is None:
            self.connect()
            self._begin(self.seconds)
        _wait_until(self._end, self.sock)
        super().send(data)

    def response_class(  # type: ignore[override]  # what is called need not be a class
        self, sock: socket.socket, *args: Any, **kwargs: Any
    ) -> http.client.HTTPResponse:
        """The response that arrives on ``sock``; `http.client` calls this to create one."""
        timed: Any = _TimedSocket(sock, self._end, self.idle)
        return http.client.HTTPResponse(timed, *args, **kwargs)

    def _begin(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds


def timed_pools(seconds: float, http: Any, https: Any, idle: float | None = None) -> dict[str, Any]:
    """urllib3 pool classes by scheme whose connections are `TimedConnection` with these limits.

    ``http`` and ``https`` are pool classes; the mixin is added to the ``ConnectionCls`` of each.
    The result is for ``PoolManager.pool_classes_by_scheme``.
    """
    limits = {"seconds": seconds, "idle": idle}
    return {"http": _timed_pool(limits, http), "https": _timed_pool(limits, https)}


def _timed_pool(limits: dict[str, float | None], pool: Any) -> Any:
    bases = (TimedConnection, pool.ConnectionCls)
    timed = type(f"Timed{pool.ConnectionCls.__name__}", bases, dict(limits))
    return type(f"Timed{pool.__name__}", (pool,), {"ConnectionCls": timed})


class _TimedSocket:
    """The part of a socket that a response uses: a file to read from until ``end``."""

    def __init__(self, sock: socket.socket, end: float, idle: float | None = None) -> None:
        self._sock = sock
        self._end = end
        self._idle = idle

    def makefile(self, mode: str) -> io.BufferedReader:
        """A file of the received bytes; ``mode`` is ``rb``."""
        return io.BufferedReader(_TimedReads(self._sock, self._end, self._idle))


class _TimedReads(io.RawIOBase):
    """The bytes that a socket receives until ``end``, with pauses of at most ``idle`` seconds."""

    def __init__(self, sock: socket.socket, end: float, idle: float | None) -> None:
        self._sock = sock
        self._end = end
        self._idle = idle
        self._reads = sock.makefile("rb", 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        _wait_until(self._end, self._sock, self._idle)
        return self._reads.readinto(buffer)

    def close(self) -> None:
        # The socket of a closed connection stays open as long as this object reads from it.
        self._reads.close()
        super().close()


_LONGER = 1.02
"""Tolerance of socket time-outs, in seconds, to avoid setting a new one for each read. Setting a
time-out lets other threads run first, which costs a short request more than its own work."""


def _wait_until(end: float, sock: socket.socket, idle: float | None = None) -> None:
    """Set the time-out of ``sock`` to ``end``, or to ``idle`` seconds if that is earlier.

    Raises `TimeoutError` if ``end`` has passed.
    """
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    if idle is not None:
        left = min(left, idle)
    held = sock.gettimeout()
    if held is None or not left <= held <= left * _LONGER:
        sock.settimeout(left)
