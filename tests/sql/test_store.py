from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.concurrency.lru_cache import LruCache
from lance_core.errors import (
    InvalidInputError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.config import Secret
from lance_core.table.paths import DETACHED
from lance_core_sql import database
from lance_core_sql.database import database_of
from lance_core_sql.options import SqlSettings
from lance_core_sql.store import SqlManifestStore

BASE = "data/t.lance"


def entry(version: int, suffix: str = "") -> ManifestEntry:
    return ManifestEntry(version, f"{BASE}/_versions/{version}.manifest{suffix}", version)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "rows.sqlite"


@pytest.fixture
def rows(file: Path) -> SqlManifestStore:
    return SqlManifestStore(SqlSettings(f"sqlite:///{file}", durable=False))


@pytest.fixture(params=["sqlite", "postgresql", "mysql"])
def any_rows(request: pytest.FixtureRequest, rows: SqlManifestStore) -> SqlManifestStore:
    if request.param == "sqlite":
        return rows
    server: Any = request.getfixturevalue(request.param)
    return SqlManifestStore(
        SqlSettings(server.url, password=Secret(server.password), bucket=request.node.name)
    )


# --- tables and files ---------------------------------------------------------------------------


def test_reading_makes_nothing(rows: SqlManifestStore, file: Path) -> None:
    assert rows.get(BASE, 1) is None
    assert rows.get_latest(BASE) is None
    rows.delete(BASE)
    assert not file.parent.exists()


def test_a_database_that_vanished_is_made_anew(rows: SqlManifestStore, file: Path) -> None:
    rows.put_if_absent(BASE, entry(1))
    file.unlink()
    assert rows.get_latest(BASE) is None
    with pytest.raises(StoreError):
        rows.put_if_absent(BASE, entry(1))  # noticed
    rows.put_if_absent(BASE, entry(1))
    assert rows.get_latest(BASE) == entry(1)


def test_a_file_that_is_no_database_is_an_error(rows: SqlManifestStore, file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"not a database, whatever it is" * 100)
    for call in (
        lambda: rows.get(BASE, 1),
        lambda: rows.get_latest(BASE),
        lambda: rows.put_if_absent(BASE, entry(1)),
        lambda: rows.put_if_present(BASE, entry(1)),
        lambda: rows.delete(BASE),
    ):
        with pytest.raises(StoreError, match="not a database") as caught:
            call()
        assert not isinstance(caught.value, OutcomeUnknownError)


@pytest.mark.parametrize(
    "columns",
    [
        "table_key text, version bigint, base_uri text, path text, size bigint, e_tag text",
        "table_key text primary key, version bigint, base_uri text, path text",
    ],
)
def test_a_table_whose_key_does_not_decide_is_refused(
    rows: SqlManifestStore, file: Path, columns: str
) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"create table lance_manifests ({columns})")
    with pytest.raises(InvalidInputError, match="primary key"):
        rows.put_if_absent(BASE, entry(1))


def test_several_tables_of_rows_live_in_one_database(file: Path) -> None:
    one, other = (
        SqlManifestStore(SqlSettings(f"sqlite:///{file}", name, durable=False))
        for name in ("one", "main.other")
    )
    one.put_if_absent(BASE, entry(1))
    assert other.get_latest(BASE) is None
    other.put_if_absent(BASE, entry(1))


def test_the_same_path_in_two_buckets_is_two_tables(any_rows: SqlManifestStore) -> None:
    settings = any_rows.settings
    for bucket in ("", "a", "b"):
        rows = SqlManifestStore(
            SqlSettings(settings.url, settings.table, settings.password, settings.bucket + bucket)
        )
        rows.put_if_absent(BASE, entry(1))


def test_a_table_at_the_root_of_its_store_has_rows(rows: SqlManifestStore) -> None:
    rows.put_if_absent("", entry(1))
    assert rows.get("", 1) == entry(1)
    assert rows.get(BASE, 1) is None


def test_numbers_that_no_row_can_have_have_none(rows: SqlManifestStore) -> None:
    for version in (-1, DETACHED, DETACHED + 1, 1 << 64):
        assert rows.get(BASE, version) is None
        with pytest.raises(InvalidInputError):
            rows.put_if_absent(BASE, entry(version))
        with pytest.raises(ObjectNotFoundError):
            rows.put_if_present(BASE, entry(version))


def test_a_path_that_is_not_text_is_refused(rows: SqlManifestStore) -> None:
    with pytest.raises(InvalidInputError):
        rows.put_if_absent("data/\udcff", entry(1))


# --- outcomes -----------------------------------------------------------------------------------


@pytest.fixture
def failing(any_rows: SqlManifestStore) -> Iterator[list[str]]:
    """Where connections fail: put ``execute``, ``before commit`` or ``after commit`` into it."""
    any_rows.put_if_absent("other", entry(1))
    where: list[str] = []
    engine = database_of(any_rows.settings).engine
    dialect = engine.dialect
    commit = dialect.do_commit
    error = dialect.loaded_dbapi.OperationalError

    def execute(*_: object) -> None:
        if where == ["execute"]:
            raise error("connection lost")

    def fail_to_commit(connection: Any) -> None:
        if where == ["before commit"]:
            raise error("connection lost")
        commit(connection)
        if where == ["after commit"]:
            raise error("connection lost")

    event.listen(engine, "before_cursor_execute", execute)
    dialect.do_commit = fail_to_commit  # type: ignore[method-assign]
    yield where
    event.remove(engine, "before_cursor_execute", execute)
    dialect.do_commit = commit  # type: ignore[method-assign]


def test_an_error_before_the_commit_means_not_applied(
    any_rows: SqlManifestStore, failing: list[str]
) -> None:
    failing.append("execute")
    with pytest.raises(StoreError) as caught:
        any_rows.put_if_absent(BASE, entry(1))
    assert not isinstance(caught.value, OutcomeUnknownError)
    failing.clear()
    assert any_rows.get(BASE, 1) is None


@pytest.mark.parametrize("where", ["before commit", "after commit"])
def test_an_error_of_the_commit_means_unknown(
    any_rows: SqlManifestStore, failing: list[str], where: str
) -> None:
    any_rows.put_if_absent(BASE, entry(1))
    failing.append(where)
    with pytest.raises(OutcomeUnknownError):
        any_rows.put_if_absent(BASE, entry(2))
    with pytest.raises(OutcomeUnknownError):
        any_rows.put_if_present(BASE, entry(1, "-b"))
    with pytest.raises(ObjectExistsError):
        any_rows.put_if_absent(BASE, entry(1))
    failing.clear()
    applied = where == "after commit"
    assert any_rows.get(BASE, 2) == (entry(2) if applied else None)
    assert any_rows.get(BASE, 1) == entry(1, "-b" if applied else "")


def test_waiting_for_another_writers_lock_is_bounded(
    any_rows: SqlManifestStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.3)
    monkeypatch.setattr(database, "_postgresql_setup", _impatient)
    monkeypatch.setattr(database, "_mysql_setup", _impatient)
    any_rows.put_if_absent(BASE, entry(1))
    patient = database_of(any_rows.settings)
    # Connections that are there wait for as long as they were told.
    monkeypatch.setattr(database, "_engines", LruCache(1))
    monkeypatch.setattr(database, "_databases", LruCache(1))
    impatient = SqlManifestStore(any_rows.settings)
    with patient.engine.connect() as stopped:
        stopped.execute(patient.table.update().values(size=7))
        with pytest.raises(StoreError) as caught:
            impatient.put_if_present(BASE, entry(1, "-b"))
        assert not isinstance(caught.value, OutcomeUnknownError)
        stopped.rollback()
    impatient.put_if_present(BASE, entry(1, "-b"))
    assert any_rows.get(BASE, 1) == entry(1, "-b")


def _impatient(connection: Any, _: object) -> None:
    postgresql = "psycopg" in type(connection).__module__
    connection.cursor().execute(
        "SET lock_timeout = '300ms'" if postgresql else "SET SESSION innodb_lock_wait_timeout = 1"
    )
    connection.commit()


def test_a_server_that_is_not_there_is_an_error_and_no_outcome(
    unused_port: int,
) -> None:
    rows = SqlManifestStore(SqlSettings(f"postgresql://nobody@127.0.0.1:{unused_port}/x"))
    for call in (
        lambda: rows.get(BASE, 1),
        lambda: rows.put_if_absent(BASE, entry(1)),
        lambda: rows.delete(BASE),
    ):
        with pytest.raises(StoreError) as caught:
            call()
        assert not isinstance(caught.value, OutcomeUnknownError)


# --- processes ----------------------------------------------------------------------------------


def test_a_forked_child_uses_connections_of_its_own(any_rows: SqlManifestStore) -> None:
    any_rows.put_if_absent(BASE, entry(1))
    child = os.fork()
    if child == 0:
        try:
            any_rows.put_if_absent(BASE, entry(2))
            os._exit(0 if any_rows.get_latest(BASE) == entry(2) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    # The parent's connections still work, and answer what they are asked.
    assert any_rows.get(BASE, 2) == entry(2)
    any_rows.put_if_absent(BASE, entry(3))
    assert any_rows.get_latest(BASE) == entry(3)


def test_connections_of_a_server_are_used_again(any_rows: SqlManifestStore) -> None:
    if database_of(any_rows.settings).file is not None:
        return
    engine = database_of(any_rows.settings).engine
    any_rows.put_if_absent(BASE, entry(1))
    made: list[object] = []
    event.listen(engine, "connect", lambda *given: made.append(given))
    for _ in range(5):
        any_rows.get(BASE, 1)
    assert not made
    with engine.connect() as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"
