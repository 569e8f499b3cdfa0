"""Committing a transaction: load, check, apply, publish, and again if another was faster.

Each attempt builds the next version on the newest one that it found, after checking the transaction
against every transaction in between. The transaction's uuid stays the same throughout. Files become
visible in the order data, transaction, manifest.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.history import Version, read_version, transaction_of
from lance_core.commits.outcome import publish
from lance_core.commits.surroundings import REAL, Surroundings
from lance_core.errors import (
    CommitConflictError,
    CommitError,
    CommitUnknownError,
    CorruptFileError,
    DatasetExistsError,
    DatasetNotFoundError,
    ObjectNotFoundError,
    RetryableCommitConflictError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.shortcuts import exists
from lance_core.table import conflicts
from lance_core.table.apply import CommitFacts, apply, writes_transaction_file
from lance_core.table.manifest_file import ManifestFile, serialize_manifest_file
from lance_core.table.paths import DETACHED, NamingScheme, transaction_path
from lance_core.table.transaction import Transaction

SHORTEST_PAUSE = 0.001
LONGEST_PAUSE = 5.0
"""Seconds; the bounds of what a writer waits, at most, after losing to another."""


@dataclass(frozen=True, slots=True)
class CommitSettings:
    """How a commit is made.

    ``max_retries``: how often to begin again after another writer was faster. ``timeout``: seconds
    after which no further attempt begins. ``naming``: of the manifests of a new table.
    ``storage_version`` and ``stable_row_ids``: see `CommitFacts`.
    """

    max_retries: int = 20
    timeout: float = 1800.0
    naming: NamingScheme = NamingScheme.V2
    storage_version: str | None = None
    stable_row_ids: bool = False


DEFAULT_SETTINGS = CommitSettings()


def commit_transaction(
    handler: CommitHandler,
    store: ObjectStore,
    transaction: Transaction,
    base: Version | None = None,
    settings: CommitSettings = DEFAULT_SETTINGS,
    surroundings: Surroundings = REAL,
) -> Version:
    """Make ``transaction`` a version of the table, and return that version.

    ``base`` is a version that the caller has read; if it is still the newest, nothing is read
    again. A transaction with ``read_version`` 0 creates the table. Committing a transaction again
    that is in the table already returns the version that it led to.

    Ends in one of three ways. Returning: committed. `CommitUnknownError`: it may or may not be
    committed, keep all files. Any other exception: definitely not committed; in particular
    `CommitConflictError` (`RetryableCommitConflictError` if doing the operation again may succeed)
    if another commit is in the way, `DatasetExistsError` if the table to create is there,
    `DatasetNotFoundError` if the table to change is not.
    """
    return _Attempts(handler, store, transaction, base, settings, surroundings).run()


class _Attempts:
    """One commit, from the first attempt to the last."""

    def __init__(
        self,
        handler: CommitHandler,
        store: ObjectStore,
        transaction: Transaction,
        base: Version | None,
        settings: CommitSettings,
        surroundings: Surroundings,
    ) -> None:
        self._handler = handler
        self._store = store
        self._transaction = transaction
        self._base = base
        self._settings = settings
        self._surroundings = surroundings
        self._checked = transaction.read_version
        """The transaction is compatible with everything up to this version."""
        self._has_file = False
        """Whether the transaction file is written."""

    def run(self) -> Version:
        if self._transaction.read_version & DETACHED:
            raise UnsupportedFeatureError("a detached version cannot be committed to")
        try:
            return self._repeat()
        except (CommitConflictError, DatasetExistsError):
            self._remove_file()
            raise

    def _repeat(self) -> Version:
        deadline = self._surroundings.monotonic() + self._settings.timeout
        attempts = 0
        while attempts <= self._settings.max_retries:
            started = self._surroundings.monotonic()
            if started > deadline:
                break
            made = self._catch_up() or self._publish()
            if made is not None:
                return made
            if attempts < self._settings.max_retries:
                self._pause(attempts, self._surroundings.monotonic() - started)
            attempts += 1
        raise RetryableCommitConflictError(
            f"the commit was given up after {attempts} attempts: another writer was always faster"
        )

    def _pause(self, attempt: int, duration: float) -> None:
        """Wait a random time, up to twice as long after each attempt, in units of an attempt."""
        unit = max(duration, SHORTEST_PAUSE)
        longest = min(unit * 2 ** min(attempt, 32), LONGEST_PAUSE)
        self._surroundings.sleep(longest * self._surroundings.random())

    def _catch_up(self) -> Version | None:
        """Go on to the newest version, or return the version that already is this transaction."""
        newest = self._handler.latest()
        read_version = self._transaction.read_version
        if newest is None:
            if read_version:
                raise DatasetNotFoundError("the table to commit to is not there")
            self._base = None
            return None
        if read_version == 0:
            return self._found_table()
        if newest.version < read_version:
            raise CommitConflictError(
                f"the transaction was computed from version {read_version}, the newest is "
                f"{newest.version}: this is not the same table any more"
            )
        if self._is_replaced(newest):
            raise CommitConflictError(
                f"version {newest.version} is not the one that the transaction was computed "
                "from: the table was made anew"
            )
        return self._check_until(newest)

    def _found_table(self) -> Version | None:
        """A table is where one was to be created: by this transaction, or by another."""
        try:
            first = read_version(self._store, self._handler.locate(1))
        except DatasetNotFoundError:
            first = None
        if first is not None and self._is_ours(self._transaction_of(first), 1):
            return first
        raise DatasetExistsError("a table is there already, by another writer")

    def _check_until(self, newest: ManifestLocation) -> Version | None:
        """Check the transaction against all it has not been checked against, and read the newest.

        Returns the version that is this very transaction, if one is.
        """
        for number in range(self._checked + 1, newest.version):
            found = self._check(number, self._located(number))
            if found is not None:
                return found
        if self._base is None or self._base.location.version != newest.version:
            self._base = read_version(self._store, newest)
        if newest.version > self._checked:
            found = self._check(newest.version, self._base)
            if found is not None:
                return found
        self._checked = newest.version
        return None

    def _located(self, number: int) -> Version | None:
        try:
            return read_version(self._store, self._handler.locate(number))
        except (DatasetNotFoundError, CorruptFileError):
            return None

    def _check(self, number: int, version: Version | None) -> Version | None:
        """Raise if the transaction cannot follow a version; return it if it is the transaction."""
        committed = None if version is None else self._transaction_of(version)
        if self._is_ours(committed, number):
            return version
        if committed is None and not self._has_file and exists(self._store, self._file_path):
            # The transaction was sent before; what cannot be read may be what became of it.
            raise CommitUnknownError(
                f"whether this transaction is version {number} cannot be read any more",
                self._transaction.uuid,
                number,
            )
        conflicts.check(self._transaction, committed, number)
        return None

    def _transaction_of(self, version: Version) -> Transaction | None:
        try:
            return transaction_of(self._store, version.file)
        except CorruptFileError:
            return None  # what cannot be read cannot be excluded as a conflict either

    def _is_ours(self, committed: Transaction | None, number: int) -> bool:
        """Whether a version is this transaction; raises if it is another one of the same uuid."""
        if committed is None or committed.uuid != self._transaction.uuid:
            return False
        if committed.to_bytes() == self._transaction.to_bytes():
            return True
        raise CommitConflictError(
            f"version {number} is another change with the same transaction id "
            f"{committed.uuid}: give each change an id of its own"
        )

    def _is_replaced(self, newest: ManifestLocation) -> bool:
        """Whether the version that the caller read is not a version of this table any more."""
        if self._base is None:
            return False
        ours = self._base.location
        if ours.version > newest.version:
            return True
        try:
            theirs = newest
            if ours.version < newest.version:
                theirs = self._handler.locate(ours.version)
            if ours.contradicts(theirs):
                return True
            if ours.etag is not None and theirs.etag is not None:
                return False
            return not self._holds(theirs, self._base.file)
        except DatasetNotFoundError:
            return False  # cleaned up, in all likelihood

    def _holds(self, location: ManifestLocation, file: ManifestFile) -> bool:
        """Whether ``file`` is what is stored at ``location``."""
        if file.transaction:  # its uuid is in no other manifest; found without parsing
            try:
                return file.transaction in self._store.get(location.path).to_pybytes()
            except ObjectNotFoundError:
                return True  # cleaned up meanwhile
        return read_version(self._store, location).file == file

    def _publish(self) -> Version | None:
        """Send the next version; None if another writer was faster."""
        base = self._base
        facts = CommitFacts(
            timestamp_ns=self._surroundings.clock(),
            storage_version=self._settings.storage_version,
            stable_row_ids=self._settings.stable_row_ids,
        )
        if base is not None and base.file.manifest.version != base.location.version:
            raise CorruptFileError(
                f"the manifest says that it is version {base.file.manifest.version}, its name "
                f"says {base.location.version}",
                base.location.path,
            )
        file = apply(None if base is None else base.file, self._transaction, facts)
        transaction = file.transaction or self._transaction.to_bytes()
        if writes_transaction_file(None if base is None else base.file):
            self._write_file(transaction)
        candidate = Candidate(
            version=file.manifest.version,
            naming=self._settings.naming if base is None else base.location.naming,
            data=serialize_manifest_file(file),
            transaction_uuid=self._transaction.uuid,
            transaction=transaction,
        )
        location = publish(self._handler, self._store, candidate, self._surroundings)
        return None if location is None else Version(file, location)

    @property
    def _file_path(self) -> str:
        return transaction_path(self._transaction.file_name)

    def _write_file(self, transaction: bytes) -> None:
        if self._has_file:
            return
        try:
            self._store.put(self._file_path, transaction)
        except StoreError as error:
            raise CommitError(f"not committed, the transaction file failed: {error}") from error
        self._has_file = True

    def _remove_file(self) -> None:
        """Take back the transaction file; only after a definite conflict."""
        if self._has_file:
            with contextlib.suppress(Exception):
                self._store.delete(self._file_path)
