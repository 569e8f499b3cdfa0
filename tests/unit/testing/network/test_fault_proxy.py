"""The proxy that makes requests fail does what its rules say, and nothing else."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lance_core_testing.network.fault_proxy import FaultProxy
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
    json_error,
    xml_error,
)
from tests.patience import LASTING, SLACK

BODY = bytes(range(250)) * 40


class _Service(BaseHTTPRequestHandler):
    """Keeps what is put, and remembers the paths that it was asked for."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    seen: list[str]
    kept: dict[str, bytes]

    def do_PUT(self) -> None:
        self.kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._say(200, b"")

    def do_GET(self) -> None:
        if self.path in self.kept:
            self._say(200, self.kept[self.path])
        else:
            self._say(404, b"missing")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _say(self, status: int, body: bytes) -> None:
        self.seen.append(f"{self.command} {self.path}")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Own", "yes")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def service() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def proxy(service: ThreadingHTTPServer) -> Iterator[FaultProxy]:
    _Service.seen, _Service.kept = [], {"/b/old": BODY}
    with FaultProxy(f"http://127.0.0.1:{service.server_address[1]}") as proxy:
        yield proxy


@pytest.fixture
def ask(proxy: FaultProxy) -> Iterator[Callable[..., tuple[int, bytes]]]:
    """Sends a request over one connection, made anew after it broke; status and body."""
    connection = http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=10)

    def send(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except Exception:
            connection.close()
            raise

    yield send
    connection.close()


Ask = Callable[..., tuple[int, bytes]]


def test_without_rules_everything_passes(proxy: FaultProxy, ask: Ask) -> None:
    assert ask("PUT", "/b/new%20one?x=1", BODY) == (200, b"")
    assert ask("GET", "/b/old") == (200, BODY)
    assert ask("HEAD", "/b/old") == (200, b"")
    assert ask("GET", "/b/none") == (404, b"missing")
    assert _Service.kept["/b/new%20one?x=1"] == BODY
    told = [(one.method, one.path, one.query, one.status, one.sent) for one in proxy.requests]
    assert told[:2] == [("PUT", "/b/new one", "x=1", 200, len(BODY)), ("GET", "/b/old", "", 200, 0)]
    assert proxy.count("GET") == 2
    assert proxy.count(path="/b/old") == 2
    assert proxy.struck == 0


@pytest.mark.parametrize("after", [False, True])
def test_a_reset_breaks_the_connection_before_or_after_the_service_acts(
    proxy: FaultProxy, ask: Ask, after: bool
) -> None:
    proxy.set_rules([Rule(Reset(after=after), "PUT", times=1)])
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        ask("PUT", "/b/new", b"1")
    assert ("/b/new" in _Service.kept) is after
    assert ask("PUT", "/b/new", b"2") == (200, b"")
    assert [one.status for one in proxy.requests] == [None, 200]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [(xml_error, 503, b"<Code>SlowDown</Code>"), (json_error, 429, b'"reason": "SlowDown"')],
)
def test_an_answer_replaces_that_of_the_service(
    proxy: FaultProxy, ask: Ask, fault: Callable[..., Answer], status: int, text: bytes, after: bool
) -> None:
    proxy.set_rules([Rule(fault(status, "SlowDown", after=after))])
    code, body = ask("PUT", "/b/new", b"1")
    assert code == status
    assert text in body
    assert ("/b/new" in _Service.kept) is after


def test_a_truncated_body_ends_the_connection(proxy: FaultProxy, ask: Ask) -> None:
    proxy.set_rules([Rule(Truncated(0.3), "GET", times=1)])
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask("GET", "/b/old")
    assert caught.value.partial == BODY[:3000]
    assert ask("GET", "/b/old") == (200, BODY)


@pytest.mark.parametrize("fault", [Delay(0.15), LateAnswer(0.15), SlowBody(0.2)])
def test_slow_answers_are_complete(proxy: FaultProxy, ask: Ask, fault: Fault) -> None:
    proxy.set_rules([Rule(fault)])
    start = time.monotonic()
    assert ask("GET", "/b/old") == (200, BODY)
    assert time.monotonic() - start >= 0.15


def test_a_request_can_arrive_twice(proxy: FaultProxy, ask: Ask) -> None:
    proxy.set_rules([Rule(Twice(), "PUT")])
    assert ask("PUT", "/b/new", b"1") == (200, b"")
    assert _Service.seen == ["PUT /b/new", "PUT /b/new"]
    assert len(proxy.requests) == 1


def test_rules_count_draw_and_are_tried_in_order(proxy: FaultProxy, ask: Ask) -> None:
    proxy.set_rules(
        [
            Rule(Answer(418), "GET", "*old", nth=2),
            Rule(Answer(500), "GET", query="list-type=2*", times=1),
            Rule(Answer(503), "HEAD", probability=0.5),
        ]
    )
    assert [ask("GET", "/b/old")[0] for _ in range(3)] == [200, 418, 200]
    assert [ask("GET", "/b/?list-type=2&prefix=x")[0] for _ in range(2)] == [500, 404]
    drawn = [ask("HEAD", "/b/old")[0] for _ in range(40)]
    assert 5 < drawn.count(503) < 35
    assert proxy.struck == 2 + drawn.count(503)


def test_credentials_can_end(proxy: FaultProxy) -> None:
    proxy.set_rules([Rule(Answer(401), authorization="Bearer old*", since=2)])
    connection = http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=10)
    statuses = []
    for token in ("old1", "new", "old1", "old2", "new"):
        connection.request("GET", "/b/old", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    assert statuses == [200, 200, 401, 401, 200]
    assert proxy.requests[1].authorization == "Bearer new"


def test_a_client_is_answered_while_others_wait(proxy: FaultProxy) -> None:
    proxy.set_rules([Rule(LateAnswer(LASTING), times=19)])
    where = proxy.url.removeprefix("http://")
    clients = [http.client.HTTPConnection(where, timeout=SLACK) for _ in range(20)]
    for client in clients[:-1]:
        client.request("GET", "/b/old")
    while proxy.struck < 19:
        time.sleep(0.01)
    clients[-1].request("GET", "/b/old")
    assert clients[-1].getresponse().status == 200
    for client in clients:
        client.close()
