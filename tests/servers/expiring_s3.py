"""A door to a server of S3 that lets in keys until their end, as Amazon's does."""

from __future__ import annotations

import http.client
import re
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_KEY = re.compile(r"Credential=([^/]+)/")
_EXPIRED = (
    b"<?xml version='1.0'?><Error><Code>ExpiredToken</Code>"
    b"<Message>The provided token has expired.</Message></Error>"
)
_OF_CONNECTIONS = {"connection", "transfer-encoding", "keep-alive"}


class ExpiringS3:
    """Passes requests to the server at ``endpoint`` whose key is valid by ``clock``.

    ``used``: the number of requests by key. ``refused``: those with a key that has expired.
    """

    def __init__(self, endpoint: str, clock: Callable[[], float]) -> None:
        self.behind = urlsplit(endpoint).netloc
        self.clock = clock
        self.ends: dict[str, float] = {}
        self.used: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.url = ""

    def new_keys(self, seconds: float) -> dict[str, str]:
        """Storage options with a new key, which are valid for so many seconds."""
        key = f"ASIA{uuid.uuid4().hex[:16].upper()}"
        end = self.clock() + seconds
        self.ends[key] = end
        return {
            "aws_access_key_id": key,
            "aws_secret_access_key": uuid.uuid4().hex,
            "aws_session_token": uuid.uuid4().hex,
            "aws_region": "us-east-1",
            "aws_endpoint": self.url,
            "allow_http": "true",
            "expires_at_millis": str(int(end * 1000)),
        }

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Whether the key of a request is valid now."""
        match = _KEY.search(headers.get("authorization", ""))
        key = match[1] if match else ""
        is_valid = self.clock() < self.ends.get(key, 0.0)
        (self.used if is_valid else self.refused)[key] += 1
        return is_valid


@contextmanager
def expiring_s3(endpoint: str, clock: Callable[[], float]) -> Iterator[ExpiringS3]:
    """The door, which is open until the block ends."""
    door = ExpiringS3(endpoint, clock)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if not door.admits(headers):
                self.answer(400, {"content-type": "application/xml"}, _EXPIRED)
                return
            connection = http.client.HTTPConnection(door.behind)
            try:
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
                self.answer(response.status, dict(response.getheaders()), response.read())
            finally:
                connection.close()

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on  # noqa: N815 - of the base class

        def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response_only(status)
            names = {name.lower() for name in headers}
            for name, value in headers.items():
                if name.lower() not in _OF_CONNECTIONS:
                    self.send_header(name, value)
            if "content-length" not in names:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    door.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield door
    finally:
        server.shutdown()
        server.server_close()
