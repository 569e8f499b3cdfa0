"""Containers keep the contract of object stores, and commits in them that of handlers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.base import Guarantee, ObjectStore
from lance_core.store.probe import probe
from lance_core.store.remote.client import RemoteClient
from lance_core.store.remote.store import RemoteStore
from lance_core.store.uri import parse_uri
from lance_core.testing import CommitHandlerTests, ObjectStoreTests
from lance_core.testing.commit_handler import MakeHandler
from lance_core.testing.object_store_instances import OpenStore
from lance_core_azure.capabilities import OF_AZURE
from lance_core_azure.store import open_store
from tests.servers.azurite import KEY, Azurite


@pytest.fixture(scope="class")
def client(azurite: Azurite) -> Iterator[RemoteClient]:
    container = azurite.new_container()
    opened = open_store(parse_uri(f"az://{container}"), azurite.options)
    assert isinstance(opened, RemoteStore)
    yield opened.client
    azurite.delete_container(container)


class TestAzureStore(ObjectStoreTests):
    @pytest.fixture
    def root(self) -> str:
        return f"täble {uuid.uuid4()}"

    @pytest.fixture
    def store(self, client: RemoteClient, root: str) -> ObjectStore:
        return RemoteStore(client, root)

    @pytest.fixture
    def open_store(self, client: RemoteClient, root: str, azurite: Azurite) -> OpenStore:
        return partial(open_store, parse_uri(f"{client.name}/{root}"), azurite.options)

    @pytest.fixture
    def secrets(self) -> tuple[str, ...]:
        return (KEY,)


class TestCommits(CommitHandlerTests):
    @pytest.fixture
    def root(self) -> str:
        return f"table {uuid.uuid4()}"

    @pytest.fixture
    def store(self, client: RemoteClient, root: str) -> ObjectStore:
        return RemoteStore(client, root)

    @pytest.fixture
    def open_store(self, client: RemoteClient, root: str, azurite: Azurite) -> OpenStore:
        return partial(open_store, parse_uri(f"{client.name}/{root}"), azurite.options)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler


def test_the_probe_finds_everything_that_azure_declares(client: RemoteClient) -> None:
    store = RemoteStore(client, f"table {uuid.uuid4()}")
    assert store.capabilities.put_if_absent is Guarantee.UNKNOWN
    seen = probe(store)
    assert (seen.put_if_absent, seen.copy_if_absent) == (OF_AZURE.put_if_absent,) * 2
