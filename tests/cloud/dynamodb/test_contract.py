"""DynamoDB keeps the contract of external manifest stores, and commits that of handlers."""

from __future__ import annotations

import pytest

from lance_core.commits.external_manifest import ExternalManifestCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core.testing import CommitHandlerTests, ExternalManifestStoreTests
from lance_core.testing.commit_handler import MakeHandler
from lance_core.testing.external_manifest_store import MakeRows
from lance_core_dynamodb.settings import DynamoSettings, named
from lance_core_dynamodb.store import DynamoManifestStore


@pytest.fixture
def settings(ddb_table: str, options: dict[str, str]) -> DynamoSettings:
    return named(ddb_table, options)


class TestDynamoDB(ExternalManifestStoreTests):
    @pytest.fixture
    def make_rows(self, settings: DynamoSettings) -> MakeRows:
        return lambda: DynamoManifestStore(settings)


class TestCommitsThroughDynamoDB(CommitHandlerTests):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self, settings: DynamoSettings, base_uri: str) -> MakeHandler:
        return lambda store: ExternalManifestCommitHandler(
            store, DynamoManifestStore(settings), base_uri
        )
