"""A server of Google Cloud Storage for tests: a strict subset of it, in memory.

::

    python -m tests.servers.gcs --port 4443 --bucket lance

What is not in the subset is answered with 501: a client that leans on it is found out. Unlike
known emulators it heeds preconditions, unless ``--ignore-preconditions`` says otherwise.

``--writer``, ``--reader``: bearer tokens; without any of these, everybody may do everything.
``--issue N``: ``/token`` hands out tokens, each of which expires after N requests.
It prints its port, and ends when its standard input does, so that it never outlives the tests.
"""

from __future__ import annotations

import argparse
import json
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import urlopen

from tests.servers.gcs_json import Answer, Asked, JsonInterface, json_refusal, of_json
from tests.servers.gcs_objects import Buckets, RefusedError, malformed
from tests.servers.gcs_xml import XmlInterface, xml_refusal
from tests.servers.process import STARTING, listen_until_input_ends, running_python

JSON_FOLDERS = ("/storage/v1/", "/download/storage/v1/", "/upload/storage/v1/")


class Access:
    """Who may do what."""

    def __init__(self, writers: Sequence[str], readers: Sequence[str], uses: int | None) -> None:
        self._open = not (writers or readers or uses)
        self._writers = set(writers)
        self._readers = set(readers)
        self._uses = uses
        self._left: dict[str, int] = {}
        self._lock = threading.Lock()

    def issue(self) -> str:
        """A new token."""
        if self._uses is None:
            raise RefusedError(404, "NotFound", "notFound", "no tokens here")
        token = f"issued-{uuid.uuid4().hex}"
        with self._lock:
            self._left[token] = self._uses
        return token

    def check(self, asked: Asked) -> None:
        if self._open:
            return
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        with self._lock:
            left = self._left.get(token, 0)
            self._left[token] = max(left - 1, 0)
        if scheme != "Bearer" or not (left or token in self._writers | self._readers):
            raise RefusedError(401, "AuthenticationRequired", "authError", "Invalid Credentials")
        if token in self._readers and asked.method not in {"GET", "HEAD"}:
            message = "reader does not have storage.objects.create access to the object."
            raise RefusedError(403, "AccessDenied", "forbidden", message)


class Service:
    """Both interfaces, over the same buckets."""

    def __init__(self, buckets: Buckets, access: Access, rewrite_bytes: int) -> None:
        self._access = access
        self._json = JsonInterface(buckets, rewrite_bytes)
        self._xml = XmlInterface(buckets)

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/token":
            token = {"access_token": self._access.issue(), "token_type": "Bearer"}
            kind = "urn:ietf:params:oauth:token-type:access_token"
            return of_json({**token, "issued_token_type": kind, "expires_in": 3600})
        return self._interface(asked)

    def _interface(self, asked: Asked) -> Answer:
        is_json = asked.path.startswith(JSON_FOLDERS)
        try:
            self._access.check(asked)
            return self._json.answer(asked) if is_json else self._xml.answer(asked)
        except RefusedError as refused:
            if asked.query.get("alt") == "media":
                return Answer(refused.status, {"content-type": "text/html"}, str(refused).encode())
            return json_refusal(refused) if is_json else xml_refusal(refused)


class Handler(BaseHTTPRequestHandler):
    """HTTP around a `Service`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, service: Service, *arguments: Any) -> None:
        self._service = service
        super().__init__(*arguments)

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if headers.get("transfer-encoding"):
            body = self._chunks()
        else:
            body = self.rfile.read(int(headers.get("content-length", "0")))
        place = urlsplit(self.path)
        pairs = parse_qsl(place.query, keep_blank_values=True)
        asked = Asked(self.command, place.path, dict(pairs), headers, body)
        if len(asked.query) < len(pairs):
            answer = json_refusal(malformed("A parameter is given twice."))
        else:
            answer = self._service.answer(asked)
        self._send(answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815

    def _chunks(self) -> bytes:
        body = bytearray()
        while length := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(body)

    def _send(self, answer: Answer) -> None:
        lines = [f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('-',))[0]}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        if answer.status != 204:
            lines.append(f"content-length: {len(answer.body)}")
        head = "\r\n".join([*lines, "", ""]).encode()
        # In one piece: two would wait for each other's acknowledgement.
        self.wfile.write(head if self.command == "HEAD" else head + answer.body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""


class Server(ThreadingHTTPServer):
    """One thread for each connection."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are usual here."""


@dataclass(frozen=True, slots=True)
class GcsServer:
    """A running server."""

    endpoint: str

    @property
    def options(self) -> dict[str, str]:
        """Storage options that both this project and pylance know."""
        key = {"gcs_base_url": self.endpoint, "disable_oauth": True}
        key |= dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        return {"google_service_account_key": json.dumps(key), "allow_http": "true"}

    def new_bucket(self) -> str:
        """The name of a bucket that nobody else uses."""
        name = f"b{uuid.uuid4().hex}"
        body = json.dumps({"name": name}).encode()
        with urlopen(f"{self.endpoint}/storage/v1/b", body, timeout=STARTING):
            return name


@contextmanager
def running_gcs(*arguments: str) -> Iterator[GcsServer]:
    """A server that is ready to answer, until the block ends."""
    with running_python("-m", "tests.servers.gcs", *arguments) as place:
        yield GcsServer(f"http://{place}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bucket", action="append", default=[])
    parser.add_argument("--writer", action="append", default=[])
    parser.add_argument("--reader", action="append", default=[])
    parser.add_argument("--issue", type=int)
    parser.add_argument("--rewrite-bytes", type=int, default=1 << 30)
    parser.add_argument("--ignore-preconditions", action="store_true")
    given = parser.parse_args(arguments)
    buckets = Buckets(heeds_conditions=not given.ignore_preconditions)
    for bucket in given.bucket:
        buckets.create(bucket)
    access = Access(given.writer, given.reader, given.issue)
    service = Service(buckets, access, given.rewrite_bytes)
    with Server(("127.0.0.1", given.port), partial(Handler, service)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        listen_until_input_ends(server.server_port)


if __name__ == "__main__":
    main()
