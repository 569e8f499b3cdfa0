"""A server that answers every request with the bytes that a test chose, be they HTTP or not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice


@dataclass(frozen=True, slots=True)
class Says:
    """``start``, then ``again`` up to ``times`` times, each ``seconds`` after the one before.

    The server takes `PIECE` bytes of a request's body at a time, and so many seconds for each.
    """

    start: bytes
    again: bytes = b""
    times: int = 0
    seconds: float = 0.0
    seconds_to_take: float = 0.0


PIECE = 64 << 10


@dataclass(slots=True)
class RawServer:
    """Where the server listens, and how many requests came."""

    url: str
    requests: list[str] = field(default_factory=list)


@contextmanager
def saying(*answers: Says) -> Iterator[RawServer]:
    """A server on a free port that gives ``answers`` in turn, over and over; one a connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        if any(answer.seconds_to_take for answer in answers):
            # Nothing is to be taken before its time.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)
        server = RawServer(f"http://127.0.0.1:{listening.getsockname()[1]}")
        turns = cycle(answers)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                work = threading.Thread(
                    target=_serve, args=(connection, next(turns), server), daemon=True
                )
                work.start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)


def _serve(connection: socket.socket, answer: Says, server: RawServer) -> None:
    with connection, connection.makefile("rb") as received:
        try:
            head = list(iter(lambda: received.readline().strip(), b""))
            for line in head:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    for start in range(0, int(value), PIECE):
                        time.sleep(answer.seconds_to_take)
                        received.read(min(PIECE, int(value) - start))
            server.requests.append(head[0].decode() if head else "")
            connection.sendall(answer.start)
            for piece in islice(cycle([answer.again]), answer.times):
                time.sleep(answer.seconds)
                connection.sendall(piece)
        except OSError:
            return


def http(status: int, body: bytes = b"", **headers: str) -> Says:
    """An answer that closes its connection; ``content_length`` is that of ``body`` by default."""
    given = {"connection": "close", "content_length": str(len(body))} | headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items() if value]
    return Says("\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""]).encode() + body)
