"""A proxy that injects network faults into chosen requests to an HTTP service.

::

    with FaultProxy("http://127.0.0.1:5000") as proxy:
        store = open_store("s3://b/t", {"aws_endpoint": proxy.url, "allow_http": "true"})
        proxy.set_rules([Rule(Reset(after=True), "PUT", "*.manifest", times=1)])
        ...
        assert proxy.struck == 1
        assert proxy.count("PUT", "*.manifest") == 2

Rules are tried in order, and the first matching one is applied; all other requests are forwarded.
Paths are shell patterns for the decoded path of the URL, such as ``/bucket/table/_versions/*``;
``query`` is a pattern for its query. `lance_core_testing.network.faults` defines the faults.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import socket
import struct
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import unquote, urlsplit

from lance_core_testing.network.faults import (
    Answer,
    Delay,
    Fault,
    LateAnswer,
    Reset,
    Rule,
    SlowBody,
    Truncated,
    Twice,
    Without,
)

HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "expect", "transfer-encoding", "content-length"}
)
GCS_CONDITION = "x-goog-if-generation-match"


@dataclass(frozen=True, slots=True)
class Request:
    """A request that was handled.

    ``status``: status code sent to the client; None: no response. ``sent`` and ``received``: bytes
    of the bodies. ``condition``, ``range`` and ``authorization``: headers of the request.
    """

    method: str
    path: str
    query: str
    status: int | None
    fault: Fault | None
    sent: int
    received: int
    condition: str | None
    range: str | None
    authorization: str


class FaultProxy:
    """Listens on a free port of this machine while the block runs, for any number of clients.

    ``target``: the URL of the service, without TLS. ``seed``: seed of rules with a probability.
    ``url``: the URL to which clients send their requests. ``requests``: handled requests, in the
    order of the responses.
    """

    def __init__(self, target: str, seed: int = 0) -> None:
        parts = urlsplit(target)
        self.target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._lock = threading.Lock()
        self._random = random.Random(seed)  # noqa: S311 (faults must be repeatable)
        self.set_rules(())
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FaultProxy:
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def set_rules(self, rules: Iterable[Rule]) -> None:
        """Replace the rules, clear the recorded requests and reset the counts."""
        with self._lock:
            self._rules = tuple(rules)
            self._seen = [0] * len(self._rules)
            self._struck = [0] * len(self._rules)
            self.requests: list[Request] = []

    def add_rules(self, rules: Iterable[Rule]) -> None:
        """Append rules; keeps the recorded requests and the counts."""
        with self._lock:
            more = tuple(rules)
            self._rules += more
            self._seen += [0] * len(more)
            self._struck += [0] * len(more)

    @property
    def struck(self) -> int:
        """The number of requests with an injected fault."""
        return sum(self._struck)

    def count(self, method: str = "*", path: str = "*", query: str = "*") -> int:
        """The number of received requests that match."""
        with self._lock:
            return sum(
                fnmatchcase(request.method, method)
                and fnmatchcase(request.path, path)
                and fnmatchcase(request.query, query)
                for request in self.requests
            )

    def choose(self, method: str, path: str, query: str, authorization: str) -> Fault | None:
        """The fault to apply to a received request, or None."""
        with self._lock:
            for number, rule in enumerate(self._rules):
                patterns = (
                    *((method, rule.method), (path, rule.path), (query, rule.query)),
                    (authorization, rule.authorization),
                )
                if not all(fnmatchcase(text, pattern) for text, pattern in patterns):
                    continue
                self._seen[number] += 1
                if self._seen[number] < rule.since or rule.nth not in {None, self._seen[number]}:
                    continue
                if rule.times is not None and self._struck[number] >= rule.times:
                    continue
                if rule.probability < 1.0 and self._random.random() >= rule.probability:
                    continue
                self._struck[number] += 1
                return rule.fault
        return None

    def record(self, request: Request) -> None:
        """Record a request."""
        with self._lock:
            self.requests.append(request)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that close their connection."""


class _Handler(BaseHTTPRequestHandler):
    """A connection of a client, with its own connection to the service."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing; `FaultProxy.requests` has the requests."""

    def setup(self) -> None:
        super().setup()
        self._upstream = http.client.HTTPConnection(*self.server.proxy.target, timeout=60)

    def finish(self) -> None:
        self._upstream.close()
        super().finish()

    def handle_one_request(self) -> None:
        """Forward one request, or apply its fault."""
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        proxy = self.server.proxy
        self.path = re.sub("^http://[^/]*", "", self.path)  # if used as an HTTP proxy
        path, _, query = self.path.partition("?")
        authorization = self.headers.get("Authorization", "")
        fault = proxy.choose(self.command, unquote(path), query, authorization)
        self.wfile.flush()  # "100 Continue": some clients wait for it before they send the body
        body = self._body()
        answer = self._answer(fault, body)
        status = None if answer is None else answer[0]
        condition = self.headers.get("If-None-Match") or self.headers.get(GCS_CONDITION)
        byte_range = self.headers.get("Range") or self.headers.get("x-ms-range")
        # Record before responding, so that the client finds its request recorded.
        proxy.record(
            Request(
                self.command,
                unquote(path),
                query,
                status,
                fault,
                sent=len(body),
                received=len(answer[2]) if answer else 0,
                condition=condition,
                range=byte_range,
                authorization=authorization,
            )
        )
        if answer is None:
            self._reset()
        else:
            self._send(*answer, fault)
            self.wfile.flush()

    def _answer(
        self, fault: Fault | None, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes] | None:
        """Status, headers and body after applying the fault; None: no response."""
        match fault:
            case Reset(after) | Answer(after=after) if after:
                self._forward(body)
            case Delay(seconds):
                time.sleep(seconds)
            case Twice():
                self._forward(body)
        match fault:
            case Reset():
                return None
            case Answer(status, content, headers):
                return status, list(headers.items()), content
            case Without(names):
                for name in names:
                    del self.headers[name]
        answer = self._forward(body)
        if isinstance(fault, LateAnswer):
            time.sleep(fault.seconds)
        return answer

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """The service's response; reconnects if the service closed the connection."""
        was_open = self._upstream.sock is not None
        try:
            return self._exchange(body)
        except (http.client.HTTPException, OSError):
            self._upstream.close()
            if not was_open:
                raise
        return self._exchange(body)

    def _exchange(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        upstream = self._upstream
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP_BY_HOP:
                upstream.putheader(name, value)
        if body or self.command in ("PUT", "POST"):
            upstream.putheader("Content-Length", str(len(body)))
        upstream.endheaders(body or None)
        response = upstream.getresponse()
        return response.status, response.getheaders(), response.read()

    def _send(
        self,
        status: int,
        headers: Iterable[tuple[str, str]],
        content: bytes,
        fault: Fault | None,
    ) -> None:
        self.send_response_only(status)
        length = str(len(content))
        for name, value in headers:
            if self.command == "HEAD" and name.lower() == "content-length":
                length = value  # length of the body of a GET
            elif name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", length)
        self.end_headers()
        if self.command == "HEAD":
            return
        if isinstance(fault, Truncated):
            content = content[: int(len(content) * fault.share)]
        step = len(content)
        if isinstance(fault, SlowBody):
            step = -(-len(content) // fault.pieces)
        for start in range(0, len(content), max(1, step)):
            if start:
                self.wfile.flush()
                assert isinstance(fault, SlowBody)
                time.sleep(fault.seconds / fault.pieces)
            self.wfile.write(content[start : start + step])
        if isinstance(fault, Truncated):
            self.close_connection = True

    def _reset(self) -> None:
        """Reset the connection."""
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        os.close(self.connection.detach())

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(chunks)
