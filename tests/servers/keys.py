"""A server that hands out keys of AWS, as containers ask for them: another one each time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def running_keys(
    before: Callable[[int], object] = lambda _: None,
) -> Iterator[tuple[str, list[str]]]:
    """Its address, and whom it trusted: the header of each request. Keys are key1, key2, …

    ``before`` is called with the number of each before it is handed out.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("Authorization", ""))
            before(len(asked))
            until = datetime.now(UTC) + timedelta(hours=6)
            keys = {
                "AccessKeyId": f"key{len(asked)}",
                "SecretAccessKey": "secret",
                "Token": "token",
                "Expiration": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            body = json.dumps(keys).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/keys", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
