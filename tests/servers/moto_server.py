"""Moto's server of S3 and DynamoDB: ``python -m tests.servers.moto_server``.

It listens on a free port of the loopback interface, prints the port, and ends when its standard
input does, so that it never outlives the tests.

Answers are moto's. Around them is less than moto has: with its own server, each request takes a
connection, the listing of a folder, hundreds of patterns, and twice the processor time.
"""

from __future__ import annotations

import functools
import gc
import io
import logging
import string
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from moto.core import errors
from moto.moto_api._internal.moto_random import MotoRandom
from moto.moto_server import werkzeug_app
from werkzeug.serving import make_server

from tests.servers.process import listen_until_input_ends

LETTERS_AND_DIGITS = string.ascii_letters + string.digits


class Application(werkzeug_app.DomainDispatcherApplication):
    """Moto's, with one writing request at a time.

    Moto looks whether an object is there and writes it afterwards: two threads may both do.
    """

    # Which lists a folder and tries the patterns of all services.
    get_backend_for_host = functools.cache(
        werkzeug_app.DomainDispatcherApplication.get_backend_for_host
    )

    def __init__(self) -> None:
        super().__init__(werkzeug_app.create_backend_app)
        self._writing = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
            return super().__call__(environ, start)
        with self._writing:
            return super().__call__(environ, start)


class Handler(werkzeug_app.MotoRequestHandler):
    """Keeps connections. The one of werkzeug ends each, and first waits for what else may come."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def run_wsgi(self) -> None:
        """Answer a request."""
        environ = self.make_environ()
        length = int(self.headers.get("Content-Length", "0"))
        if environ.get("wsgi.input_terminated"):
            length = -1
        # All of it, so that nobody waits for a slow client.
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
        started: list[tuple[str, list[tuple[str, str]]]] = []
        try:
            parts = self.server.app(environ, lambda *status: started.append(status))
        except Exception:
            traceback.print_exc()
            self._send("500 INTERNAL SERVER ERROR", [], b"")
        else:
            self._send(*started[-1][:2], b"".join(parts))

    def _send(self, status: str, headers: list[tuple[str, str]], body: bytes) -> None:
        names = {name.lower() for name, _ in headers}
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers)]
        if "date" not in names:
            lines.append(f"date: {self.date_time_string()}")
        if "content-length" not in names and status[:3] not in {"204", "304"}:
            lines.append(f"content-length: {len(body)}")
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        # In one piece: two would wait for each other's acknowledgement.
        self.wfile.write(head if self.command == "HEAD" else head + body)


def random_string(
    random: MotoRandom, length: int = 20, include_digits: bool = True, lower_case: bool = False
) -> str:
    """What `MotoRandom.get_random_string` gives, by fewer calls: each answer has two."""
    pool = LETTERS_AND_DIGITS if include_digits else string.ascii_letters
    found = "".join(random.choices(pool, k=length))
    return found.lower() if lower_case else found


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    factory = errors.ErrorLookupFactory()  # it has a cache, and moto makes one for each error
    errors.ErrorLookupFactory = lambda: factory  # type: ignore[misc,assignment]
    MotoRandom.get_random_string = random_string  # type: ignore[method-assign]
    werkzeug_app.DISABLE_GLOBAL_CORS = True
    server = make_server("127.0.0.1", 0, Application(), threaded=True, request_handler=Handler)
    # Moto's requests leave cycles, and most of what is there is the descriptions of services.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    listen_until_input_ends(server.server_port)


if __name__ == "__main__":
    main()
