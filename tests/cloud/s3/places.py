"""Opening buckets of a test server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lance_core.store.remote.store import RemoteStore
from lance_core.store.secret import Secret
from lance_core.store.uri import parse_uri
from lance_core_s3.plugin import lance_object_stores
from tests.servers.moto import Moto

(SPEC,) = lance_object_stores()


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
