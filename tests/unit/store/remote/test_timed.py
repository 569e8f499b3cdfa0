"""A request ends in time, whatever its bytes do."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lance_core.store.remote.timed import TimedConnection

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"


@contextmanager
def connected(serve: Callable[[socket.socket], None]) -> Iterator[TimedConnection]:
    """A connection to a server, given a tenth of a second for connecting and half of one then."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            connection, _ = listening.accept()
            with connection:
                try:
                    serve(connection)
                except OSError:
                    return

        thread = threading.Thread(target=accept)
        thread.start()
        made = TimedConnection("127.0.0.1", listening.getsockname()[1], timeout=0.1)
        made.seconds = 0.5
        yield made
        made.close()
        thread.join()


def slowly(content: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        for at in range(len(content)):
            connection.sendall(content[at : at + 1])
            time.sleep(0.05)

    return serve


@pytest.mark.parametrize("head", ["HTTP/1.1 100 Continue\r\n\r\n" * 9, "HTTP/1.1 200 OK\r\nx: y"])
def test_a_head_that_trickles_ends_in_time(head: str) -> None:
    start = time.monotonic()
    with connected(slowly(head.encode())) as connection:
        connection.request("GET", "/")
        with pytest.raises(TimeoutError):
            connection.getresponse()
        assert time.monotonic() - start < 1.0


def test_a_body_that_trickles_ends_in_time() -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        slowly(bytes(100))(connection)

    start = time.monotonic()
    with connected(serve) as connection:
        connection.request("GET", "/")
        response = connection.getresponse()
        with pytest.raises(TimeoutError):
            response.read()
        assert time.monotonic() - start < 1.0


def test_what_is_not_taken_ends_in_time() -> None:
    start = time.monotonic()
    with connected(lambda connection: time.sleep(0.7)) as connection:
        with pytest.raises(TimeoutError):
            connection.request("PUT", "/", bytes(64 << 20))
        assert time.monotonic() - start < 1.0


def test_a_file_that_is_taken_slowly_ends_in_time() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            time.sleep(0.2)
            return super().read(size)

    start = time.monotonic()
    with connected(lambda connection: time.sleep(0.7)) as connection:
        connection.putrequest("PUT", "/")
        connection.endheaders()
        with pytest.raises(TimeoutError):
            connection.send(Slow(bytes(64 << 10)))
        assert time.monotonic() - start < 1.0


def test_every_request_of_a_connection_has_its_time() -> None:
    def serve(connection: socket.socket) -> None:
        for _ in range(3):
            connection.recv(65536)
            time.sleep(0.3)
            connection.sendall(HEAD + bytes(100))

    with connected(serve) as connection:
        for _ in range(3):
            connection.request("GET", "/")
            assert connection.getresponse().read() == bytes(100)
