"""Buckets keep the contract of object stores, and commits in them that of handlers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.base import ObjectStore
from lance_core_remote.client import RemoteClient
from lance_core_remote.store import RemoteStore
from lance_core_testing import CommitHandlerTests, ObjectStoreTests
from lance_core_testing.commit_handlers.suite import MakeHandler
from lance_core_testing.object_stores.instances import OpenStore
from tests.cloud.s3.places import open_bucket, store_of
from tests.servers.moto import SECRET_KEY, Moto


@pytest.fixture(scope="module")
def client(moto: Moto) -> Iterator[RemoteClient]:
    with store_of(moto, f"s3://{moto.new_bucket()}") as opened:
        yield opened.client


class TestS3Store(ObjectStoreTests):
    @pytest.fixture
    def root(self) -> str:
        return f"täble {uuid.uuid4()}"

    @pytest.fixture
    def store(self, client: RemoteClient, root: str) -> ObjectStore:
        return RemoteStore(client, root)

    @pytest.fixture
    def reopened(self, moto: Moto, client: RemoteClient, root: str) -> Iterator[ObjectStore]:
        with store_of(moto, f"{client.name}/{root}") as opened:
            yield opened

    @pytest.fixture
    def open_store(self, moto: Moto, client: RemoteClient, root: str) -> OpenStore:
        return partial(open_bucket, f"{client.name}/{root}", moto.options)

    @pytest.fixture
    def secrets(self) -> tuple[str, ...]:
        return (SECRET_KEY,)


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
    def open_store(self, moto: Moto, client: RemoteClient, root: str) -> OpenStore:
        return partial(open_bucket, f"{client.name}/{root}", moto.options)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler
