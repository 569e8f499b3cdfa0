"""Opening buckets of a test server."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from lance_core.store.base import ObjectStore
from lance_core.store.secret import Secret
from lance_core.store.uri import parse_uri
from lance_core_remote.store import RemoteStore
from lance_core_s3.client import S3Client
from lance_core_s3.plugin import lance_object_stores
from tests.servers.moto import Moto

(SPEC,) = lance_object_stores()


def open_bucket(uri: str, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The store at a URI."""
    return SPEC.open(parse_uri(uri), options)


@contextmanager
def opened(uri: str, options: Mapping[str, str | Secret]) -> Iterator[RemoteStore]:
    """The store at a URI, whose connections are given back at the end."""
    store = SPEC.open(parse_uri(uri), options)
    assert isinstance(store, RemoteStore)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def store_of(moto: Moto, uri: str, **options: str) -> Iterator[RemoteStore]:
    """The same on ``moto``; ``options`` besides those that it takes."""
    with opened(uri, moto.options | options) as store:
        yield store


ANSWERS = {"content-length": "0", "etag": '"e"', "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"}


@contextmanager
def seen_requests(store: RemoteStore) -> Iterator[list[AWSPreparedRequest]]:
    """The requests of ``store``, as they would go to a server; none does, and all succeed.

    For what no server of the tests looks at, and for addresses of others.
    """
    seen: list[AWSPreparedRequest] = []

    def answer(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        seen.append(request)
        content = b""
        if request.method == "POST":
            content = b"<A><UploadId>u</UploadId></A>"
        elif "list-type=" in str(request.url):
            content = b"<A><Name>b</Name></A>"
        return AWSResponse(request.url, 200, ANSWERS, _Raw(content))

    assert isinstance(store.client, S3Client)
    events = store.client._connected().meta.events
    events.register("before-send.s3", answer)
    yield seen
    events.unregister("before-send.s3", answer)


class _Raw(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        yield self.read()
