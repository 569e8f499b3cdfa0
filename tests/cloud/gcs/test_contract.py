"""The store keeps the contract, and so do commits to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.uri import parse_uri
from lance_core_gcs.capabilities import OF_GOOGLE
from lance_core_gcs.client import GcsClient
from lance_core_gcs.options import read_options
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing import CommitHandlerTests, ObjectStoreTests
from lance_core_testing.commit_handlers.suite import MakeHandler
from lance_core_testing.object_stores.instances import OpenStore
from tests.servers.gcs import GcsServer


def client_of(bucket: str, options: Mapping[str, str]) -> GcsClient:
    """With what the service guarantees: the server keeps it as well."""
    return GcsClient(read_options(parse_uri(f"gs://{bucket}"), options, {}), OF_GOOGLE)


def open_bucket(
    bucket: str, options: Mapping[str, str], root: str = "", settings: RemoteSettings | None = None
) -> ObjectStore:
    return RemoteStore(client_of(bucket, options), root, settings or RemoteSettings())


@pytest.fixture
def client(gcs: GcsServer, bucket: str) -> GcsClient:
    return client_of(bucket, gcs.options)


class TestGcsStore(ObjectStoreTests):
    @pytest.fixture
    def store(self, client: GcsClient) -> ObjectStore:
        return RemoteStore(client, "some/table")

    @pytest.fixture
    def open_store(self, gcs: GcsServer, bucket: str) -> OpenStore:
        return partial(open_bucket, bucket, gcs.options, "some/table")


class TestGcsStoreOfManySmallRequests(ObjectStoreTests):
    """Uploads take parts, reads several requests."""

    # Listings do not depend on it; `TestRemoteStoreOfManySmallRequests` asks for as many ranges.
    test_a_listing_of_many_objects_is_complete = None  # type: ignore[assignment]
    test_thousands_of_ranges_can_be_asked_for_at_once = None  # type: ignore[assignment]

    @pytest.fixture
    def open_store(self, gcs: GcsServer, bucket: str) -> OpenStore:
        settings = RemoteSettings(
            read_size=80_001, part_size=1, max_single_put=2, coalesce_gap=10, parallel=3
        )
        return partial(open_bucket, bucket, gcs.options, settings=settings)


class TestCommitsToGcs(CommitHandlerTests):
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def open_store(self, gcs: GcsServer, bucket: str) -> OpenStore:
        settings = replace(RemoteSettings(), retry_timeout=20)
        return partial(open_bucket, bucket, gcs.options, "table", settings)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler
