"""A request ends in time, whatever its bytes do."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from types import SimpleNamespace

import pytest

from lance_core_remote import request_deadline
from lance_core_remote.request_deadline import TimedConnection
from tests.patience import LASTING, ends_within

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"


@contextmanager
def connected(serve: Callable[[socket.socket], None]) -> Iterator[TimedConnection]:
    """A connection to a server; half a second for each request, more for connecting."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                serve(connection)
                is_over.wait(LASTING)

        thread = threading.Thread(target=accept)
        thread.start()
        made = TimedConnection("127.0.0.1", listening.getsockname()[1], timeout=20.0)
        made.seconds = 0.5
        yield made
        made.close()
        is_over.set()
        thread.join()


def slowly(content: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        for byte in cycle(content):
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    return serve


def never_reading(connection: socket.socket) -> None:
    """Take nothing, and leave the connection open."""


@pytest.mark.parametrize("head", ["HTTP/1.1 100 Continue\r\n\r\n" * 9, "HTTP/1.1 200 OK\r\nx: y"])
def test_a_head_that_trickles_ends_in_time(head: str) -> None:
    with connected(slowly(head.encode())) as connection, ends_within(0.5):
        connection.request("GET", "/")
        with pytest.raises(TimeoutError):
            connection.getresponse()


def test_a_body_that_trickles_ends_in_time() -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        slowly(bytes(100))(connection)

    with connected(serve) as connection, ends_within(0.5):
        connection.request("GET", "/")
        response = connection.getresponse()
        with pytest.raises(TimeoutError):
            response.read()


def test_what_is_not_taken_ends_in_time() -> None:
    with connected(never_reading) as connection, ends_within(0.5), pytest.raises(TimeoutError):
        connection.request("PUT", "/", bytes(64 << 20))


def test_a_file_that_is_taken_slowly_ends_in_time() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            time.sleep(0.2)
            return super().read(size)

    with connected(never_reading) as connection, ends_within(0.5):
        connection.putrequest("PUT", "/")
        connection.endheaders()
        with pytest.raises(TimeoutError):
            connection.send(Slow(bytes(8 << 20)))


def test_every_request_of_a_connection_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(request_deadline, "time", clock)

    def serve(connection: socket.socket) -> None:
        for _ in range(3):
            connection.recv(65536)
            clock.now += 20.0
            connection.sendall(HEAD + bytes(100))

    with connected(serve) as connection:
        connection.seconds = 30.0
        for _ in range(3):
            connection.request("GET", "/")
            assert connection.getresponse().read() == bytes(100)
