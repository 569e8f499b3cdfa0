"""DynamoDB keeps the contract of external manifest stores, and commits that of handlers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core_dynamodb.options import named
from lance_core_dynamodb.store import DynamoManifestStore
from lance_core_testing import CommitHandlerTests, ExternalManifestStoreTests
from lance_core_testing.commit_handlers.suite import MakeHandler, MakeOther
from lance_core_testing.manifest_stores.suite import MakeRows
from lance_core_testing.network import FaultProxy
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.service import FaultyService, ProxiedService
from tests.servers.moto import Moto


def rows_of(table: str, options: Mapping[str, str]) -> DynamoManifestStore:
    return DynamoManifestStore(named(table, options))


def handler_of(
    table: str, options: Mapping[str, str], base_uri: str, store: ObjectStore
) -> ExternalManifestCommitHandler:
    return ExternalManifestCommitHandler(store, rows_of(table, options), base_uri)


@pytest.fixture
def proxy(moto: Moto) -> Iterator[FaultProxy]:
    with FaultProxy(moto.endpoint) as running:
        yield running


@pytest.fixture
def settings(options: dict[str, str], proxy: FaultProxy) -> dict[str, str]:
    """Options with which a client gives up soon."""
    return {**options, "dynamodb_endpoint": proxy.url, "client_retry_timeout": "0.05"}


class TestDynamoDB(ExternalManifestStoreTests):
    keeps_etags = False

    @pytest.fixture
    def service(self, proxy: FaultProxy) -> FaultyService:
        return ProxiedService(proxy)

    @pytest.fixture
    def make_rows(self, ddb_table: str, settings: dict[str, str]) -> MakeRows:
        return partial(rows_of, ddb_table, settings)


class TestCommitsThroughDynamoDB(CommitHandlerTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(LocalStore, tmp_path, Durability.fast)

    @pytest.fixture
    def service(self, proxy: FaultProxy) -> FaultyService:
        return ProxiedService(proxy)

    @pytest.fixture
    def make_handler(self, ddb_table: str, settings: dict[str, str], base_uri: str) -> MakeHandler:
        return partial(handler_of, ddb_table, settings, base_uri)

    @pytest.fixture
    def make_other(self, ddb_table: str, settings: dict[str, str], base_uri: str) -> MakeOther:
        store = MemoryStore()
        return lambda: (store, handler_of(ddb_table, settings, f"{base_uri}2", store))
