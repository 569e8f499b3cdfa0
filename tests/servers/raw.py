"""A server that answers every request with the bytes that a test chose, be they HTTP or not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import BinaryIO

from tests.patience import LASTING

RECEIVED = 64 << 10
"""Bytes that the machine takes for a server that takes its time."""


@dataclass(frozen=True, slots=True)
class Says:
    """``start``, then ``again`` up to ``times`` times, each ``seconds`` after the one before.

    The server takes ``piece`` bytes of a request's body at a time, and so many seconds for each.
    Then it hangs up, unless it ``keeps`` the connection for the next request.
    """

    start: bytes
    again: bytes = b""
    times: int = 0
    seconds: float = 0.0
    seconds_to_take: float = 0.0
    piece: int = RECEIVED
    keeps: bool = False


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
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED)
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
            while request := _taken(received, answer):
                server.requests.append(request)
                connection.sendall(answer.start)
                for piece in islice(cycle([answer.again]), answer.times):
                    time.sleep(answer.seconds)
                    connection.sendall(piece)
                if not answer.keeps:
                    return
        except OSError:
            return


def _taken(received: BinaryIO, answer: Says) -> str:
    """The first line of the next request, all of which is read; empty if there is none."""
    head = list(iter(lambda: received.readline().strip(), b""))
    for line in head:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            for start in range(0, int(value), answer.piece):
                time.sleep(answer.seconds_to_take)
                received.read(min(answer.piece, int(value) - start))
    return head[0].decode() if head else ""


def http(status: int, body: bytes = b"", **headers: str) -> Says:
    """An answer that closes its connection; ``content_length`` is that of ``body`` by default."""
    given = {"connection": "close", "content_length": str(len(body))} | headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items() if value]
    return Says("\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""]).encode() + body)


def trickling(start: bytes) -> Says:
    """``start``, and then a byte every tenth of a second, for longer than any call may take."""
    return Says(start, again=b"a", times=int(10 * LASTING), seconds=0.1)


def slowly_taking(answer: bytes) -> Says:
    """``answer`` to each request of a connection, and a pause of 0.3 s before each 2 MiB of a body.

    To be held up, it has to be longer than what machines keep of it on the way, some 4 MiB.
    """
    return Says(answer, seconds_to_take=0.3, piece=2 << 20, keeps=True)
