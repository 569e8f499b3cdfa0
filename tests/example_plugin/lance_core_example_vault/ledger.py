"""A commit handler for the processes of one machine: SQLite's write lock makes them take turns."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from lance_core.commits.directory import DirectoryCommitHandler
from lance_core.errors import InvalidInputError, ObjectExistsError, ObjectNotFoundError, StoreError
from lance_core.hookspecs import (
    Candidate,
    CommitHandler,
    ManifestLocation,
    ObjectStore,
    StoreUrl,
    Surroundings,
)
from lance_core.store.config import Secret


def open_ledger(
    store: ObjectStore,
    url: StoreUrl,
    options: Mapping[str, str | Secret],
    surroundings: Surroundings,
) -> CommitHandler:
    """The handler of the table at ``url``; its ledger is the file beside it."""
    if url.netloc:
        raise InvalidInputError(f"{url}: a ledger is for tables on this machine")
    return LedgerCommitHandler(store, Path("/", f"{url.path}.ledger"))


class LedgerCommitHandler(DirectoryCommitHandler):
    """Whoever holds the lock looks whether the version exists, and writes it if it does not.

    The lock goes with the process that holds it, so a crash blocks nobody. The store's writes must
    not land after they have failed: then they could replace what another holder wrote.
    """

    def __init__(self, store: ObjectStore, ledger: Path) -> None:
        super().__init__(store)
        self._ledger = ledger

    def commit(self, candidate: Candidate) -> ManifestLocation:
        self._ledger.parent.mkdir(parents=True, exist_ok=True)
        try:
            connection = sqlite3.connect(self._ledger, timeout=60, isolation_level=None)
            with contextlib.closing(connection):
                connection.execute("begin exclusive")
                return self._commit_alone(candidate)
        except sqlite3.Error as error:
            raise StoreError(f"ledger {self._ledger}: {error}") from error

    def _commit_alone(self, candidate: Candidate) -> ManifestLocation:
        try:
            self.store.head(candidate.path)
        except ObjectNotFoundError:
            self.store.put(candidate.path, candidate.data)
            return candidate.location
        raise ObjectExistsError(candidate.path)
