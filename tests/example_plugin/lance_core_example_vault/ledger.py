"""A commit handler for the processes of one machine: a ledger in SQLite says whose a version is.

The manifest is staged, then its version is entered in the ledger, whose key is the version: that is
the commit. Then the manifest is copied to its usual place. Whoever comes across an entry whose
manifest is not there yet copies it, so nothing is lost if a writer dies in between, and a table can
be read without the ledger. Copying twice or late is harmless: what is copied never changes.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lance_core.errors import (
    InvalidInputError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.hookspecs import (
    Candidate,
    CommitHandler,
    Environment,
    ManifestLocation,
    ObjectStore,
    StoreUrl,
)
from lance_core.hookspecs.commits import DirectoryCommitHandler
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import exists

DETACHED = 1 << 63
"""Numbers from here on are those of detached versions, and more than SQLite's integers hold."""
CREATE = """create table if not exists versions (
    version integer primary key, path text, staging text, is_in_place integer default 0)"""


def open_ledger(
    store: ObjectStore,
    url: StoreUrl,
    options: Mapping[str, str | Secret],
    environment: Environment,
) -> CommitHandler:
    """The handler of the table at ``url``; its ledger is the file beside it."""
    if url.netloc:
        raise InvalidInputError(f"{url}: a ledger is for tables on this machine")
    return LedgerCommitHandler(store, Path("/", f"{url.path}.ledger"))


class LedgerCommitHandler(DirectoryCommitHandler):
    """Versions are manifests in the usual place, after a look into the ledger."""

    def __init__(self, store: ObjectStore, ledger: Path) -> None:
        super().__init__(store)
        self._file = ledger

    def latest(self) -> ManifestLocation | None:
        self._finish()
        return super().latest()

    def locate(self, version: int) -> ManifestLocation:
        self._finish()
        return super().locate(version)

    def list_versions(self) -> Sequence[ManifestLocation]:
        self._finish()
        return super().list_versions()

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if candidate.version >= DETACHED:  # nobody competes for the number of a detached version
            self.store.put(candidate.path, candidate.data)
            return candidate.location
        entry = (candidate.version, candidate.path, _staging_path(candidate))
        if exists(self.store, candidate.path):  # a table may be older than its ledger
            raise ObjectExistsError(candidate.path)
        try:
            self.store.put(entry[2], candidate.data)
        except StoreError as error:
            raise StoreError(f"the manifest could not be staged: {error}") from error
        try:
            with self._ledger() as ledger:
                query = "insert into versions (version, path, staging) values (?, ?, ?)"
                ledger.execute(query, entry)
        except sqlite3.IntegrityError:
            raise ObjectExistsError(candidate.path) from None
        try:
            self._finish()
        except StoreError as error:
            raise OutcomeUnknownError(f"committed, but not in place: {error}") from error
        return candidate.location

    def discard(self, candidate: Candidate) -> None:
        self.store.delete(_staging_path(candidate))

    def forget(self, folder: str = "") -> None:
        ledger = self._file.with_suffix("") / f"{folder}.ledger" if folder else self._file
        ledger.unlink(missing_ok=True)

    def _finish(self) -> None:
        """Put every manifest in place that is in the ledger only."""
        if not self._file.exists():
            return
        with self._ledger() as ledger:
            query = "select version, path, staging from versions where not is_in_place"
            for version, path, staging in ledger.execute(query).fetchall():
                with contextlib.suppress(ObjectNotFoundError):  # somebody else was faster
                    self.store.copy(staging, path)
                    self.store.delete(staging)
                done = "update versions set is_in_place = 1 where version = ?"
                ledger.execute(done, [version])

    @contextlib.contextmanager
    def _ledger(self) -> Iterator[sqlite3.Connection]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            connection = sqlite3.connect(self._file, timeout=60, isolation_level=None)
            with contextlib.closing(connection):
                connection.execute(CREATE)
                yield connection
        except sqlite3.OperationalError as error:
            raise OutcomeUnknownError(f"ledger {self._file}: {error}") from error


def _staging_path(candidate: Candidate) -> str:
    return f"_versions/.tmp_{candidate.version}_{candidate.transaction_uuid}"
