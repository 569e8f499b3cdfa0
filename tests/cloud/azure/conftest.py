"""Containers of Azure Blob Storage, and stores on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lance_core.store.uri import parse_uri
from lance_core_azure.plugin import lance_object_stores
from lance_core_remote.store import RemoteStore
from lance_core_testing.network.fault_proxy import FaultProxy
from tests.servers.azurite import Azurite

Open = Callable[..., RemoteStore]
"""Opens a store, given a URL and more options."""


@pytest.fixture
def opened(azurite: Azurite) -> Iterator[Open]:
    """Opens stores on the server; they are closed at the end."""
    (spec,) = lance_object_stores()
    stores: list[RemoteStore] = []

    def make(uri: str, **options: str) -> RemoteStore:
        store = spec.open(parse_uri(uri), azurite.options | options)
        assert isinstance(store, RemoteStore)
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Open, container: str) -> RemoteStore:
    return opened(f"az://{container}/some/table")


@pytest.fixture
def proxy(azurite: Azurite) -> Iterator[FaultProxy]:
    """What makes chosen requests to the server fail, and counts them all."""
    with FaultProxy(azurite.origin) as running:
        yield running
