"""Buckets of Google Cloud Storage, and stores on them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from lance_core.store.base import ObjectStore
from lance_core.store.uri import parse_uri
from lance_core_gcs.store import open_store
from tests.servers.gcs import GcsServer

Open = Callable[..., ObjectStore]
"""Opens a store, given a URL and more options."""


@pytest.fixture
def bucket(gcs: GcsServer) -> str:
    """The name of an empty bucket of this test."""
    return gcs.new_bucket()


@pytest.fixture
def opened(gcs: GcsServer) -> Iterator[Open]:
    """Opens stores on the server; they are closed at the end."""
    stores = []

    def make(uri: str, **options: str) -> ObjectStore:
        store = open_store(parse_uri(uri), gcs.options | options)
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()  # type: ignore[attr-defined]  # stores of the factory are remote stores


@pytest.fixture
def store(opened: Open, bucket: str) -> ObjectStore:
    return opened(f"gs://{bucket}/some/table")


@pytest.fixture
def unused_endpoint() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{free.getsockname()[1]}"
