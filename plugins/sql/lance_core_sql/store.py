"""The external manifest store on SQL, with one short transaction per call.

The primary key decides: exactly one of several writers can insert the row of a version. A failure
before the transaction's commit is sent means that nothing was applied; after that the outcome is
unknown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    Connection,
    Delete,
    Insert,
    Row,
    Select,
    Update,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from lance_core.errors import InvalidInputError, ObjectExistsError, ObjectNotFoundError
from lance_core.hookspecs import ExternalManifestStore, ManifestEntry, StoreUrl
from lance_core.hookspecs.options import Secret
from lance_core_sql.database import Database, database_of
from lance_core_sql.errors import refused, unknown
from lance_core_sql.options import SqlSettings, settings_of
from lance_core_sql.table import table_key

_VERSIONS = 1 << 63
"""Detached versions, numbered from here, have no rows; their numbers do not fit into a column."""


def open_rows(url: StoreUrl, options: Mapping[str, str | Secret]) -> SqlManifestStore:
    """The manifest store of the table at ``url``; does not connect yet.

    Raises `InvalidInputError` for invalid options.
    """
    return SqlManifestStore(settings_of(url, options))


class SqlManifestStore(ExternalManifestStore):
    """Rows in a table of a SQL database. Holds no connection, so it can be pickled and forked."""

    def __init__(self, settings: SqlSettings) -> None:
        self.settings = settings

    def __repr__(self) -> str:
        return f"SqlManifestStore(table={self.settings.table!r})"

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        if not 0 <= version < _VERSIONS:
            return None
        rows = self._database.table.c
        return self._read(self._rows_of(base_uri).where(rows.version == version))

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        rows = self._database.table.c
        return self._read(self._rows_of(base_uri).order_by(rows.version.desc()).limit(1))

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        if not 0 <= entry.version < _VERSIONS:
            raise InvalidInputError(f"version {entry.version} is detached and has no row")
        name = self._name(base_uri)
        key = {"table_key": table_key(name), "version": entry.version, "base_uri": name}
        try:
            self._write(insert(self._database.table).values(**key, **_columns(entry)))
        except IntegrityError as error:
            raise ObjectExistsError(entry.path) from error

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        table = self._database.table
        key = table_key(self._name(base_uri))
        this_row = (table.c.table_key == key) & (table.c.version == entry.version)
        known = 0 <= entry.version < _VERSIONS
        if not known or not self._write(update(table).where(this_row).values(**_columns(entry))):
            raise ObjectNotFoundError(entry.path)

    def delete(self, base_uri: str) -> None:
        database = self._database
        if database.has_table():
            key = table_key(self._name(base_uri))
            self._write(delete(database.table).where(database.table.c.table_key == key))

    @property
    def _database(self) -> Database:
        return database_of(self.settings)

    def _name(self, base_uri: str) -> str:
        """The name of a table in a database that may serve several buckets."""
        return f"{self.settings.bucket}/{base_uri}" if self.settings.bucket else base_uri

    def _rows_of(self, base_uri: str) -> Select[Any]:
        rows = self._database.table.c
        chosen = select(rows.version, rows.path, rows.size, rows.e_tag)
        return chosen.where(rows.table_key == table_key(self._name(base_uri)))

    def _read(self, statement: Select[Any]) -> ManifestEntry | None:
        database = self._database
        if database.file is not None and not database.file.exists():
            return None  # connecting would create the file
        try:
            row = _first(database, statement)
        except SQLAlchemyError as error:
            if not database.has_table():
                return None
            # Another process may have created the table in the meantime.
            try:
                row = _first(database, statement)
            except SQLAlchemyError:
                raise refused(error) from error
        if row is None:
            return None
        return ManifestEntry(row.version, row.path, row.size, row.e_tag)

    def _write(self, statement: Insert | Update | Delete) -> int:
        """Execute a statement in a transaction; returns the number of changed rows.

        Raises ``IntegrityError`` if the row to add exists; nothing is applied then.
        """
        database = self._database
        database.prepare()
        try:
            connection = database.engine.connect()
        except SQLAlchemyError as error:
            raise refused(error) from error
        try:
            return _committed(connection, statement)
        except Exception:
            database.doubt()
            raise
        finally:
            with contextlib.suppress(SQLAlchemyError):
                connection.close()


def _first(database: Database, statement: Select[Any]) -> Row[Any] | None:
    with database.engine.connect() as connection:
        return connection.execute(statement).first()


def _committed(connection: Connection, statement: Insert | Update | Delete) -> int:
    try:
        changed = connection.execute(statement).rowcount
    except IntegrityError:
        raise
    except SQLAlchemyError as error:
        raise refused(error) from error
    try:
        connection.commit()
    except Exception as error:
        # The state of the connection is unknown, so it is not reused.
        with contextlib.suppress(SQLAlchemyError):
            connection.invalidate()
        if isinstance(error, IntegrityError):
            raise
        raise unknown(error) from error
    return changed


def _columns(entry: ManifestEntry) -> dict[str, object]:
    return {"path": entry.path, "size": entry.size, "e_tag": entry.etag}
