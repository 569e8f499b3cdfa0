"""Requests that end in time, however slowly their bytes trickle.

The time-outs of sockets begin anew with every byte that arrives, so that they bound neither a head
nor a body; and urllib3 gives a body as long to be sent as connecting may take.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any


class TimedConnection(http.client.HTTPConnection):
    """To be mixed into kinds of connections: ``class Mine(TimedConnection, HTTPSConnection)``.

    Sending a request and reading all of its answer take ``seconds`` together, then `TimeoutError`
    is raised. Connecting, by a tunnel if need be, takes its own time, ``timeout``.
    """

    seconds: float = 30.0
    _end: float = 0.0

    def connect(self) -> None:
        self._begin(self.seconds if self.timeout is None else self.timeout)
        super().connect()

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        """Begin a request, and its time."""
        self._begin(self.seconds)
        super().putrequest(*args, **kwargs)

    def send(self, data: Any) -> None:
        """Send what is left of a request in the time that is left."""
        if hasattr(data, "read"):  # else each piece of it would be given that time
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
        """The answer that comes by ``sock``; what `http.client` calls for one."""
        timed: Any = _TimedSocket(sock, self._end)
        return http.client.HTTPResponse(timed, *args, **kwargs)

    def _begin(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds


def timed_pools(seconds: float, http: Any, https: Any) -> dict[str, Any]:
    """Kinds of urllib3's pools, by scheme, with a `TimedConnection` of so many seconds in each.

    ``http`` and ``https`` are kinds of pools, ``ConnectionCls`` in each the kind of its connections
    which is mixed into. The result is for ``PoolManager.pool_classes_by_scheme``.
    """
    return {"http": _timed_pool(seconds, http), "https": _timed_pool(seconds, https)}


def _timed_pool(seconds: float, pool: Any) -> Any:
    kinds = (TimedConnection, pool.ConnectionCls)
    timed = type(f"Timed{pool.ConnectionCls.__name__}", kinds, {"seconds": seconds})
    return type(f"Timed{pool.__name__}", (pool,), {"ConnectionCls": timed})


class _TimedSocket:
    """A socket as an answer knows it: something to read from, until ``end``."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock = sock
        self._end = end

    def makefile(self, mode: str) -> io.BufferedReader:
        """Its bytes; ``mode`` is ``rb``."""
        return io.BufferedReader(_TimedReads(self._sock, self._end))


class _TimedReads(io.RawIOBase):
    """The bytes that come by a socket until ``end``."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock = sock
        self._end = end
        self._reads = sock.makefile("rb", 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        _wait_until(self._end, self._sock)
        return self._reads.readinto(buffer)

    def close(self) -> None:
        # The socket stays open, when its connection is closed, for as long as this reads from it.
        self._reads.close()
        super().close()


_LONGER = 1.02
"""How much longer than it should a socket may wait: another time-out lets other threads run first,
which costs a short request more than its own work."""


def _wait_until(end: float, sock: socket.socket) -> None:
    """Let ``sock`` wait until ``end``; `TimeoutError` if that has been."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    held = sock.gettimeout()
    if held is None or not left <= held <= left * _LONGER:
        sock.settimeout(left)
