"""Containers keep the contract of object stores, and commits in them that of handlers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from azure.storage.blob import ContainerClient

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.base import Guarantee, ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.probe import probe
from lance_core.store.uri import parse_uri
from lance_core_azure.capabilities import OF_AZURE
from lance_core_azure.store import open_store
from lance_core_remote.client import RemoteClient
from lance_core_remote.store import RemoteStore
from lance_core_testing import CommitHandlerTests, ObjectStoreTests
from lance_core_testing.commit_handlers.suite import MakeHandler
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.object_stores.listing import fill
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

    # An answer of the service has up to 5,000 objects: the next test asks for fewer.
    test_a_listing_of_many_objects_is_complete = None  # type: ignore[assignment]

    def test_a_listing_of_many_answers_is_complete(
        self, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []

        def with_small_pages(real: Callable[..., Any]) -> Callable[..., Any]:
            def ask(*given: Any, **named: Any) -> Any:
                asked.append(named)
                return real(*given, results_per_page=100, **named)

            return ask

        for name in ("list_blobs", "walk_blobs"):
            real = getattr(ContainerClient, name)
            monkeypatch.setattr(ContainerClient, name, with_small_pages(real))
        names = [f"{number:05}" for number in range(250)]
        paths = [f"many/{name}" for name in names]
        fill(store, paths)
        assert list_paths(store, "many") == paths
        assert list_paths(store, "", "many/00099") == paths[100:]
        assert list(store.list_names("many")) == names
        assert len(asked) >= 3 + 2 + 3


class TestCommits(CommitHandlerTests):
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

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
