"""SQL databases keep the contract of external manifest stores, and commits that of handlers."""

from __future__ import annotations

import uuid
from functools import partial
from pathlib import Path

import pytest

from lance_core.commits.base import CommitHandler
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.config import Secret
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core_sql.options import SqlSettings
from lance_core_sql.store import SqlManifestStore
from lance_core_testing import CommitHandlerTests, ExternalManifestStoreTests
from lance_core_testing.commit_handlers.suite import MakeHandler, MakeOther
from lance_core_testing.manifest_stores.suite import MakeRows
from lance_core_testing.object_stores.instances import OpenStore
from tests.sql.conftest import Server

NO_FAULTS = "drivers of SQL talk to the database; other tests break their connections"


def settings_of(url: str, password: str | None = None, bucket: str = "") -> SqlSettings:
    """Rows of one test: each has a bucket of its own."""
    if password is None:
        return SqlSettings(url, durable=False)
    return SqlSettings(url, password=Secret(password), bucket=bucket)


def rows_of(url: str, password: str | None = None, bucket: str = "") -> SqlManifestStore:
    return SqlManifestStore(settings_of(url, password, bucket))


def handler_of(place: tuple[str, ...], base_uri: str, store: ObjectStore) -> CommitHandler:
    return ExternalManifestCommitHandler(store, rows_of(*place), base_uri)


@pytest.fixture
def sqlite(tmp_path: Path) -> tuple[str, ...]:
    return (f"sqlite:///{tmp_path}/rows.sqlite",)


@pytest.fixture
def postgres(postgresql: Server) -> tuple[str, ...]:
    return (postgresql.url, postgresql.password, str(uuid.uuid4()))


@pytest.fixture
def maria(mysql: Server) -> tuple[str, ...]:
    return (mysql.url, mysql.password, str(uuid.uuid4()))


class HandlerTests(CommitHandlerTests):
    """``place``: the arguments of `rows_of`."""

    without_service = NO_FAULTS

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(LocalStore, tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self, place: tuple[str, ...]) -> MakeHandler:
        return partial(handler_of, place, "a/b")

    @pytest.fixture
    def make_other(self, place: tuple[str, ...]) -> MakeOther:
        store = MemoryStore()
        return lambda: (store, handler_of(place, "a/B", store))


class TestSqlite(ExternalManifestStoreTests):
    without_service = NO_FAULTS

    @pytest.fixture
    def make_rows(self, sqlite: tuple[str, ...]) -> MakeRows:
        return partial(rows_of, *sqlite)


class TestCommitsThroughSqlite(HandlerTests):
    @pytest.fixture
    def place(self, sqlite: tuple[str, ...]) -> tuple[str, ...]:
        return sqlite


class TestPostgresql(ExternalManifestStoreTests):
    without_service = NO_FAULTS

    @pytest.fixture
    def make_rows(self, postgres: tuple[str, ...]) -> MakeRows:
        return partial(rows_of, *postgres)


class TestCommitsThroughPostgresql(HandlerTests):
    @pytest.fixture
    def place(self, postgres: tuple[str, ...]) -> tuple[str, ...]:
        return postgres


class TestMysql(ExternalManifestStoreTests):
    without_service = NO_FAULTS

    @pytest.fixture
    def make_rows(self, maria: tuple[str, ...]) -> MakeRows:
        return partial(rows_of, *maria)


class TestCommitsThroughMysql(HandlerTests):
    @pytest.fixture
    def place(self, maria: tuple[str, ...]) -> tuple[str, ...]:
        return maria
