"""SQL databases keep the contract of external manifest stores, and commits that of handlers."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from lance_core.commits.external_manifest import ExternalManifestCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.config import Secret
from lance_core.store.memory import MemoryStore
from lance_core.testing import CommitHandlerTests, ExternalManifestStoreTests
from lance_core.testing.commit_handler import MakeHandler
from lance_core.testing.external_manifest_store import MakeRows
from lance_core_sql.settings import SqlSettings
from lance_core_sql.store import SqlManifestStore
from tests.sql.conftest import Server


@pytest.fixture
def sqlite(tmp_path: Path) -> SqlSettings:
    return SqlSettings(f"sqlite:///{tmp_path}/rows.sqlite", durable=False)


@pytest.fixture
def postgres(postgresql: Server) -> SqlSettings:
    return on(postgresql)


@pytest.fixture
def maria(mysql: Server) -> SqlSettings:
    return on(mysql)


def on(server: Server) -> SqlSettings:
    """Rows of one test: each has a bucket of its own."""
    return SqlSettings(server.url, password=Secret(server.password), bucket=str(uuid.uuid4()))


class TestSqlite(ExternalManifestStoreTests):
    @pytest.fixture
    def make_rows(self, sqlite: SqlSettings) -> MakeRows:
        return lambda: SqlManifestStore(sqlite)


class TestCommitsThroughSqlite(CommitHandlerTests):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self, sqlite: SqlSettings) -> MakeHandler:
        return lambda store: ExternalManifestCommitHandler(store, SqlManifestStore(sqlite), "a/b")


class TestPostgresql(ExternalManifestStoreTests):
    @pytest.fixture
    def make_rows(self, postgres: SqlSettings) -> MakeRows:
        return lambda: SqlManifestStore(postgres)


class TestCommitsThroughPostgresql(CommitHandlerTests):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self, postgres: SqlSettings) -> MakeHandler:
        return lambda store: ExternalManifestCommitHandler(store, SqlManifestStore(postgres), "a/b")


class TestMysql(ExternalManifestStoreTests):
    @pytest.fixture
    def make_rows(self, maria: SqlSettings) -> MakeRows:
        return lambda: SqlManifestStore(maria)


class TestCommitsThroughMysql(CommitHandlerTests):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self, maria: SqlSettings) -> MakeHandler:
        return lambda store: ExternalManifestCommitHandler(store, SqlManifestStore(maria), "a/b")
