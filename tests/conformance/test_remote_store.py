"""The store that is made of a service's requests keeps the contract, and so do commits to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.base import Guarantee, ObjectStore
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.commit_handlers.suite import CommitHandlerTests, MakeHandler
from lance_core_testing.memory_client import CAPABILITIES, MemoryClient
from lance_core_testing.object_stores.suite import ObjectStoreTests


class _SmallParts(MemoryClient):
    min_part_size = 1
    max_copy_size = 4


class TestRemoteStore(ObjectStoreTests):
    in_process_only = "the service is in the memory of one process"

    @pytest.fixture
    def client(self) -> MemoryClient:
        return MemoryClient()

    @pytest.fixture
    def store(self, client: MemoryClient) -> ObjectStore:
        return RemoteStore(client, "some/table")

    @pytest.fixture
    def reopened(self, client: MemoryClient) -> ObjectStore:
        return RemoteStore(client, "some/table")


class TestRemoteStoreOfManySmallRequests(ObjectStoreTests):
    """Everything is split: reads, uploads, copies, listings."""

    in_process_only = "the service is in the memory of one process"

    @pytest.fixture
    def store(self) -> ObjectStore:
        settings = RemoteSettings(
            read_size=70_001, part_size=50_000, max_single_put=2, coalesce_gap=10, parallel=3
        )
        return RemoteStore(_SmallParts(page_size=3), settings=settings)


class TestRemoteStoreWithoutConditions(ObjectStoreTests):
    """The service has no conditional writes."""

    in_process_only = "the service is in the memory of one process"

    @pytest.fixture
    def store(self) -> ObjectStore:
        nothing = replace(
            CAPABILITIES,
            put_if_absent=Guarantee.NO,
            multipart_if_absent=Guarantee.NO,
            copy_if_absent=Guarantee.NO,
            ordered_list=Guarantee.NO,
        )
        return RemoteStore(MemoryClient(nothing), "root")


class TestCommitsToARemoteStore(CommitHandlerTests):
    in_process_only = "the service is in the memory of one process"
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return RemoteStore(MemoryClient(), "table")

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler
