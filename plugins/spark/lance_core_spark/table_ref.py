"""References to a table and to a version, which Spark sends to its executors."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import lance_core
from lance_core.errors import DatasetNotFoundError, RefNotFoundError
from lance_core.hookspecs.concurrency import LruCache
from lance_core.hookspecs.options import Secret, hide_secrets, hint, plain, shortened
from lance_core.hookspecs.stores import is_local_text, parse_uri


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table: its number and its timestamp.

    The timestamp distinguishes the table from one that was dropped and created again with the same
    version numbers.
    """

    number: int
    timestamp: datetime

    @classmethod
    def of(cls, dataset: lance_core.LanceDataset) -> TableVersion:
        """The open version of ``dataset``."""
        timestamp: datetime = dataset.get_version()["timestamp"]
        # The timestamp is local time, but executors may be in another time zone.
        return cls(dataset.version, timestamp.astimezone(UTC))


@dataclass(frozen=True, slots=True, repr=False)
class TableRef:
    """The URI of a table, the options of its store, sorted by name, and a branch (None: main).

    Values of options whose names suggest a secret are wrapped. Pickling includes all options with
    their secrets, because executors need them; ``repr`` shows no values.
    """

    uri: str
    storage_options: tuple[tuple[str, str | Secret], ...] = ()
    branch: str | None = None

    @classmethod
    def of(cls, uri: str, storage_options: Mapping[str, str | Secret]) -> TableRef:
        """Make a reference; local paths become absolute: executors have other work directories."""
        storage_options = hide_secrets(storage_options)
        absolute = parse_uri(uri).path if is_local_text(uri) else uri
        return cls(absolute, tuple(sorted(storage_options.items())))

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.storage_options)
        return f"TableRef({self}, options=({names}))"

    def __str__(self) -> str:
        branch = "" if self.branch is None else f" (branch {self.branch!r})"
        return f"{parse_uri(self.uri)}{branch}"

    def __reduce__(self) -> tuple[object, ...]:
        options = tuple((name, plain(value)) for name, value in self.storage_options)
        return _unpickle, (self.uri, options, self.branch)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the store."""
        return dict(self.storage_options)

    @property
    def source_options(self) -> dict[str, str]:
        """The options of the store as those of Spark's data source, without wrapped secrets."""
        return {f"storage.{name}": plain(value) for name, value in self.storage_options}

    def open(self, version: int | None = None, asof: str | None = None) -> lance_core.LanceDataset:
        """Open the table at a version, as it was at the time ``asof``, or at its newest version.

        All tables that this process opens share their caches. Raises `DatasetNotFoundError`.
        """
        reference = version if self.branch is None else (self.branch, version)
        return lance_core.dataset(
            self.uri, reference, asof, storage_options=self.options, session=_session()
        )

    def at_tag(self, tag: str) -> tuple[TableRef, int]:
        """The branch of a tagged version, and its number. Raises `RefNotFoundError`."""
        tags = self.open().tags.list()
        if tag not in tags:
            raise RefNotFoundError(f"the table {self} has no tag {shortened(tag)}{hint(tag, tags)}")
        return replace(self, branch=tags[tag]["branch"]), tags[tag]["version"]

    def open_if_exists(self) -> lance_core.LanceDataset | None:
        """Open the table at its newest version; None if it does not exist."""
        try:
            return self.open()
        except DatasetNotFoundError:
            return None


def _unpickle(uri: str, options: tuple[tuple[str, str], ...], branch: str | None) -> TableRef:
    """A reference that another process pickled; its secrets are wrapped again."""
    return TableRef(uri, tuple(hide_secrets(dict(options)).items()), branch)


@functools.cache
def _session() -> lance_core.Session:
    """The caches of this process: versions share most of their files and indices."""
    return lance_core.Session()


MAX_OPEN_TABLES = 8
"""Maximum tables that stay open in a process; Spark reuses a process for many tasks."""

_open_tables: LruCache[tuple[TableRef, TableVersion], lance_core.LanceDataset] = LruCache(
    MAX_OPEN_TABLES, parents_only=True
)


def keep_open(table: TableRef, dataset: lance_core.LanceDataset) -> TableVersion:
    """Cache an open table for `open_version`, and return its version."""
    version = TableVersion.of(dataset)
    _open_tables.get((table, version), lambda: dataset)
    return version


def open_version(table: TableRef, version: TableVersion) -> lance_core.LanceDataset:
    """The table at exactly this version, from the cache if it is open.

    Raises `DatasetNotFoundError` if the version was removed or the table was replaced.
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
