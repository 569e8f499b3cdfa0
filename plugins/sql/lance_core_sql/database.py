"""Connections to databases: one pool per database and process.

A child process does not use its parent's connections: messages of both processes on one connection
would be interleaved. Every wait is bounded, so that a database that does not respond, or a writer
that holds a lock for too long, leads to an error.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, NullPool, Pool, create_engine, event, inspect
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from lance_core.errors import InvalidInputError, PluginLoadError
from lance_core.hookspecs.concurrency import LruCache
from lance_core_sql.errors import refused
from lance_core_sql.options import SqlSettings
from lance_core_sql.table import manifest_table

CONNECT_SECONDS = 10
LOCK_SECONDS = 20
"""Maximum seconds to wait for another writer's lock."""
CALL_SECONDS = 30
"""Maximum seconds to wait for a response."""

MAX_ENGINES = 16
"""Maximum number of databases whose connections are kept."""
MAX_TABLES = 256
"""Maximum number of tables of rows that are cached as existing."""


class Database:
    """A database and the table of rows in it. Safe for threads."""

    def __init__(self, settings: SqlSettings) -> None:
        url = settings.database_url()
        self.table = manifest_table(settings.table)
        self.file = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
        self.engine = _engines.get(
            (os.getpid(), url, settings.durable), lambda: _connecting(url, settings.durable)
        )
        self._is_ready = False

    def has_table(self) -> bool:
        """True if the table of rows exists. Creates nothing, not even a file."""
        if self.file is not None and not self.file.exists():
            return False
        try:
            return inspect(self.engine).has_table(self.table.name, schema=self.table.schema)
        except SQLAlchemyError as error:
            raise refused(error) from error

    def prepare(self) -> None:
        """Create the table of rows if it does not exist; `StoreError` if that fails.

        Raises `InvalidInputError` for a table whose key would let two writers add one row.
        """
        if self._is_ready:
            return
        if self.file is not None:
            self._make_folder(self.file.parent)
        try:
            self.table.create(self.engine, checkfirst=True)
        except SQLAlchemyError as error:
            # Another writer may have created it, or this user lacks permission to create it.
            if not self.has_table():
                raise refused(error) from error
        self._check_key()
        self._is_ready = True

    def doubt(self) -> None:
        """After a failure: check again if the table exists."""
        self._is_ready = False

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused(error) from error

    def _check_key(self) -> None:
        names = [column.name for column in self.table.primary_key]
        try:
            key = inspect(self.engine).get_pk_constraint(self.table.name, self.table.schema)
        except SQLAlchemyError as error:
            raise refused(error) from error
        if sorted(key["constrained_columns"]) != sorted(names):
            raise InvalidInputError(
                f"the table {self.table.fullname!r} cannot hold manifests: its primary key is "
                f"not ({', '.join(names)})"
            )


# The process id in the key separates children from their parent; they must not drop the parent's
# connections, which could close these for the parent.
_engines: LruCache[tuple[int, URL, bool], Engine] = LruCache(MAX_ENGINES)
_databases: LruCache[tuple[int, SqlSettings], Database] = LruCache(MAX_TABLES)


def database_of(settings: SqlSettings) -> Database:
    """The database of ``settings`` in this process; does not connect yet."""
    return _databases.get((os.getpid(), settings), lambda: Database(settings))


def _engine(url: URL, durable: bool) -> Engine:
    backend = url.get_backend_name()
    options: dict[str, Any] = {"hide_parameters": True}
    if backend == "sqlite":
        # Opening a file is cheap, and a child process must not inherit a connection.
        options |= {"poolclass": NullPool, "connect_args": {"timeout": LOCK_SECONDS}}
        setup = _sqlite_setup(durable)
    else:
        options |= {
            "isolation_level": "READ COMMITTED",
            "pool_pre_ping": True,
            "pool_recycle": 1800,
            "pool_timeout": CALL_SECONDS,
            "connect_args": _timeouts(url),
        }
        setup = _postgresql_setup if backend == "postgresql" else _mysql_setup
    try:
        engine = create_engine(url, **options)
    except ImportError as error:
        raise PluginLoadError(
            f"the driver of {url.drivername!r} is not installed ({error}): pip install "
            f'"lance-core-sql[{"postgresql" if backend == "postgresql" else "mysql"}]", or name '
            "another driver in sqlUrl"
        ) from error
    except (ArgumentError, SQLAlchemyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"sqlUrl is not usable: {type(error).__name__}") from None
    event.listen(engine, "connect", setup)
    return engine


def _connecting(url: URL, durable: bool) -> Engine:
    engine = _engine(url, durable)
    weakref.finalize(engine, _close, engine.pool, os.getpid())
    return engine


def _close(pool: Pool, pid: int) -> None:
    if os.getpid() == pid:
        pool.dispose()


def _timeouts(url: URL) -> dict[str, object]:
    driver = url.get_driver_name()
    if driver in {"psycopg", "psycopg2"}:
        return {"connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": CALL_SECONDS * 1000}
    if driver == "pymysql":
        return {
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": CALL_SECONDS,
            "write_timeout": CALL_SECONDS,
        }
    return {}


def _sqlite_setup(durable: bool) -> Callable[[Any, object], None]:
    def setup(connection: Any, _: object) -> None:
        # EXTRA also syncs the folder after removing the journal, which is the commit.
        connection.execute(f"PRAGMA synchronous = {'EXTRA' if durable else 'OFF'}")

    return setup


def _postgresql_setup(connection: Any, _: object) -> None:
    # The last one ends the transaction of a writer that was suspended within it.
    _run(
        connection,
        f"SET lock_timeout = '{LOCK_SECONDS}s'",
        f"SET statement_timeout = '{CALL_SECONDS}s'",
        f"SET idle_in_transaction_session_timeout = '{CALL_SECONDS}s'",
    )


def _mysql_setup(connection: Any, _: object) -> None:
    _run(connection, f"SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}")


def _run(connection: Any, *statements: str) -> None:
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()
    connection.commit()
