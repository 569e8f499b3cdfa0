"""Which table, and which of its versions, a query reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import lance_core
from lance_core.concurrency.lru_cache import LruCache
from lance_core.errors import DatasetNotFoundError
from lance_core.store.secret import Secret, hide_secrets, plain
from lance_core.store.uri import is_local_text, parse_uri


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table: its number and its timestamp.

    A table that is dropped and created again has versions of the same numbers, but of other times.
    """

    number: int
    timestamp: datetime

    @classmethod
    def of(cls, dataset: lance_core.LanceDataset) -> TableVersion:
        """The version that is open."""
        timestamp: datetime = dataset.get_version()["timestamp"]
        # It is in local time; executors may be in another zone.
        return cls(dataset.version, timestamp.astimezone(UTC))


@dataclass(frozen=True, slots=True, repr=False)
class TableRef:
    """The URI of a table and the options of its store, as names and values in order of the names.

    Options whose names suggest a secret are wrapped. Pickling includes all options, secrets among
    them, since executors need them; the representation has no values.
    """

    uri: str
    storage_options: tuple[tuple[str, str | Secret], ...] = ()

    @classmethod
    def of(cls, uri: str, storage_options: Mapping[str, str | Secret]) -> TableRef:
        """A local path is made absolute: executors have other working directories."""
        storage_options = hide_secrets(storage_options)
        absolute = parse_uri(uri).path if is_local_text(uri) else uri
        return cls(absolute, tuple(sorted(storage_options.items())))

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.storage_options)
        return f"TableRef({self}, options=({names}))"

    def __str__(self) -> str:
        return str(parse_uri(self.uri))

    def __reduce__(self) -> tuple[object, ...]:
        options = tuple((name, plain(value)) for name, value in self.storage_options)
        return _unpickle, (self.uri, options)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the store."""
        return dict(self.storage_options)

    def open(self, version: int | None = None, asof: str | None = None) -> lance_core.LanceDataset:
        """The table at a version, as it was at a time, or at its newest version.

        Raises `DatasetNotFoundError`.
        """
        return lance_core.dataset(self.uri, version, asof, storage_options=self.options)

    def open_if_exists(self) -> lance_core.LanceDataset | None:
        """The table at its newest version, None if there is no table."""
        try:
            return self.open()
        except DatasetNotFoundError:
            return None


def _unpickle(uri: str, options: tuple[tuple[str, str], ...]) -> TableRef:
    """A reference that another process pickled; its secrets are wrapped again."""
    return TableRef(uri, tuple(hide_secrets(dict(options)).items()))


MAX_OPEN_TABLES = 8
"""Tables that stay open in a process; Spark reuses its processes for many tasks."""

_open_tables: LruCache[tuple[TableRef, TableVersion], lance_core.LanceDataset] = LruCache(
    MAX_OPEN_TABLES, parents_only=True
)


def keep_open(table: TableRef, dataset: lance_core.LanceDataset) -> TableVersion:
    """Keep an open table for `open_version`; returns which version it is."""
    version = TableVersion.of(dataset)
    _open_tables.get((table, version), lambda: dataset)
    return version


def open_version(table: TableRef, version: TableVersion) -> lance_core.LanceDataset:
    """The table at exactly this version, which may be open already.

    Raises `DatasetNotFoundError` if the version is gone or another table is in its place.
    """
    return _open_tables.get((table, version), lambda: _open(table, version))


def _open(table: TableRef, version: TableVersion) -> lance_core.LanceDataset:
    dataset = table.open(version.number)
    if TableVersion.of(dataset) != version:
        raise DatasetNotFoundError(
            f"the table {table} was replaced after the query was planned: its version "
            f"{version.number} has another timestamp now"
        )
    return dataset
