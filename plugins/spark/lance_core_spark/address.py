"""Where a table is, and which of its versions a query reads."""

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
    """A version of a table: its number and when it was made.

    A table that is dropped and made again has versions of the same numbers, but of other times.
    """

    number: int
    made: datetime

    @classmethod
    def of(cls, dataset: lance_core.LanceDataset) -> TableVersion:
        """The version that is open."""
        made: datetime = dataset.get_version()["timestamp"]
        # It is in local time; executors may be in another zone.
        return cls(dataset.version, made.astimezone(UTC))


@dataclass(frozen=True, slots=True, repr=False)
class TableAddress:
    """A URI and the options of its store, as names and values in order of the names.

    Options whose names sound secret are wrapped. It travels to executors with all options, secrets
    among them; its representation has none.
    """

    uri: str
    storage_options: tuple[tuple[str, str | Secret], ...] = ()

    @classmethod
    def of(cls, uri: str, storage_options: Mapping[str, str | Secret]) -> TableAddress:
        """A local path is made absolute: executors have other working directories."""
        storage_options = hide_secrets(storage_options)
        place = parse_uri(uri).path if is_local_text(uri) else uri
        return cls(place, tuple(sorted(storage_options.items())))

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.storage_options)
        return f"TableAddress({self}, options=({names}))"

    def __str__(self) -> str:
        return str(parse_uri(self.uri))

    def __reduce__(self) -> tuple[object, ...]:
        given = tuple((name, plain(value)) for name, value in self.storage_options)
        return _received, (self.uri, given)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the store."""
        return dict(self.storage_options)

    def open(self, version: int | None = None, asof: str | None = None) -> lance_core.LanceDataset:
        """The table at a version, as it was at a time, or at its newest version.

        Raises `DatasetNotFoundError`.
        """
        return lance_core.dataset(self.uri, version, asof, storage_options=self.options)

    def find(self) -> lance_core.LanceDataset | None:
        """The table at its newest version, None if there is no table."""
        try:
            return self.open()
        except DatasetNotFoundError:
            return None


def _received(uri: str, given: tuple[tuple[str, str], ...]) -> TableAddress:
    """An address that was sent by another process."""
    return TableAddress(uri, tuple(hide_secrets(dict(given)).items()))


_OPEN_TABLES = 8

_open_tables: LruCache[tuple[TableAddress, TableVersion], lance_core.LanceDataset] = LruCache(
    _OPEN_TABLES, parents_only=True
)
"""Spark reuses its processes, so tables are kept open for a while."""


def remember(address: TableAddress, dataset: lance_core.LanceDataset) -> TableVersion:
    """Keep an open table for `open_version`; returns which version it is."""
    version = TableVersion.of(dataset)
    _open_tables.get((address, version), lambda: dataset)
    return version


def open_version(address: TableAddress, version: TableVersion) -> lance_core.LanceDataset:
    """The table at exactly this version, which may be open already.

    Raises `DatasetNotFoundError` if the version is gone or another table is in its place.
    """
    return _open_tables.get((address, version), lambda: _opened(address, version))


def _opened(address: TableAddress, version: TableVersion) -> lance_core.LanceDataset:
    dataset = address.open(version.number)
    if TableVersion.of(dataset) != version:
        raise DatasetNotFoundError(
            f"the table {address} was replaced after the query was planned: version "
            f"{version.number} is another one now"
        )
    return dataset
