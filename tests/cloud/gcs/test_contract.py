"""The store keeps the contract, and so do commits to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lance_core.commits.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.remote.settings import RemoteSettings
from lance_core.store.remote.store import RemoteStore
from lance_core.store.uri import parse_uri
from lance_core.testing import CommitHandlerTests, ObjectStoreTests
from lance_core.testing.commit_handler import MakeHandler
from lance_core_gcs.client import GcsClient
from lance_core_gcs.options import read_options
from lance_core_gcs.plugin import OF_THE_SERVICE
from tests.servers.gcs import GcsServer


@pytest.fixture
def client(gcs: GcsServer, bucket: str) -> GcsClient:
    """With what the service guarantees: the server keeps it as well."""
    options = read_options(parse_uri(f"gs://{bucket}"), gcs.options, {})
    return GcsClient(options, OF_THE_SERVICE)


class TestGcsStore(ObjectStoreTests):
    @pytest.fixture
    def store(self, client: GcsClient) -> ObjectStore:
        return RemoteStore(client, "some/table")

    @pytest.fixture
    def reopened(self, client: GcsClient) -> ObjectStore:
        return RemoteStore(client, "some/table")


class TestGcsStoreOfManySmallRequests(ObjectStoreTests):
    """Uploads take parts, reads several requests."""

    @pytest.fixture
    def store(self, client: GcsClient) -> ObjectStore:
        settings = RemoteSettings(
            read_size=80_001, part_size=1, max_single_put=2, coalesce_gap=10, parallel=3
        )
        return RemoteStore(client, settings=settings)


class TestCommitsToGcs(CommitHandlerTests):
    @pytest.fixture
    def store(self, client: GcsClient) -> ObjectStore:
        return RemoteStore(client, "table", replace(RemoteSettings(), retry_timeout=20))

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler
