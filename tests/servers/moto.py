"""Moto's server of S3 and DynamoDB, as a process of its own: ``python -m tests.servers.moto``.

It listens on a free port of the loopback interface, prints the port, and ends when its standard
input does, so that it never outlives the tests.
"""

from __future__ import annotations

import functools
import io
import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.servers.process import listen_until_input_ends, running_python

ACCESS_KEY = "test-access-key"
SECRET_KEY = "test-secret-key"
REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Moto:
    """A running server."""

    endpoint: str

    @property
    def options(self) -> dict[str, str]:
        """Storage options of S3, as both this project and pylance know them."""
        return {
            "aws_access_key_id": ACCESS_KEY,
            "aws_secret_access_key": SECRET_KEY,
            "aws_region": REGION,
            "aws_endpoint": self.endpoint,
            "allow_http": "true",
        }

    def client(self, service: str) -> Any:
        """A client of boto3, for what tests arrange and look at behind the plugins' backs."""
        return _client(self.endpoint, service)

    def new_bucket(self) -> str:
        """The name of a bucket that nobody else uses."""
        name = f"b{uuid.uuid4().hex}"
        self.client("s3").create_bucket(Bucket=name)
        return name


@functools.cache
def _client(endpoint: str, service: str) -> Any:
    """Made once, which takes longer than many requests."""
    import boto3

    return boto3.client(
        service,
        endpoint_url=endpoint,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        region_name=REGION,
    )


@contextmanager
def running_moto(**environment: str) -> Iterator[Moto]:
    """A server that is ready to answer, until the block ends; with these environment variables."""
    with running_python("-W", "ignore", "-m", "tests.servers.moto", **environment) as place:
        yield Moto(f"http://{place}")


class _OneWriteAtATime:
    """Moto looks whether an object is there and writes it afterwards: two threads may both do."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
            return self._application(environ, start)
        if environ.get("CONTENT_LENGTH"):  # all of it, so that nobody waits for a slow client
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            environ["wsgi.input"] = io.BytesIO(body)
        with self._lock:
            return self._application(environ, start)


def main() -> None:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    server._server.app = _OneWriteAtATime(server._server.app)
    listen_until_input_ends(port)


if __name__ == "__main__":
    main()
