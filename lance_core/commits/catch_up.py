"""Check a transaction against all versions committed since the version it was computed from.

Each version in between is read and checked once. These reads also detect a transaction that is
already committed, and a table that was replaced by another one.
"""

from __future__ import annotations

import contextlib

from lance_core.commits.base import CommitHandler, ManifestLocation
from lance_core.commits.history import LOOKS, Version, find_transaction, find_version, read_version
from lance_core.commits.identity import is_same
from lance_core.commits.options import CommitOptions
from lance_core.errors import (
    AlreadyCommittedError,
    CommitConflictError,
    CommitUnknownError,
    DatasetExistsError,
    DatasetNotFoundError,
    ObjectNotFoundError,
    StoreError,
)
from lance_core.store.base import ObjectStore
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.transactions import conflicts
from lance_core.table.transactions.operations import Clone, Overwrite
from lance_core.table.transactions.transaction import Transaction


class _Vanished(Exception):  # noqa: N818  # not an error: a newer version exists
    """A cleanup removed the newest version before it could be read."""


class CatchUp:
    """The versions that a transaction must be compatible with.

    ``base`` is the newest version seen so far, or None if there is no table. Initially, ``base`` is
    a version that the caller has read.
    """

    def __init__(
        self,
        handler: CommitHandler,
        store: ObjectStore,
        transaction: Transaction,
        base: Version | None,
        options: CommitOptions,
    ) -> None:
        self._handler = handler
        self._store = store
        self._transaction = transaction
        self.base = base
        self._checked = transaction.read_version
        """The number of the newest version that the transaction is known to be compatible with."""
        self._each = options.each
        self._may_be_repeated = options.may_be_repeated
        self._is_committed = options.is_committed
        is_overwrite = isinstance(transaction.operation, Overwrite)
        self._is_strict = is_overwrite and options.max_retries == 0
        """True if not even a compatible version may follow the one that the transaction read."""

    def run(self) -> Version | None:
        """Catch up with the newest version; return this transaction's version if it is committed.

        Raises `CommitConflictError`, `RetryableCommitConflictError`, `AlreadyCommittedError`,
        `DatasetExistsError`, `DatasetNotFoundError` and `CommitUnknownError` like
        `commit_transaction`.
        """
        for _ in range(LOOKS):
            with contextlib.suppress(_Vanished):
                return self._go_to(self._handler.latest())
        raise StoreError("manifests vanish faster than they are read")

    def follow(self, faster: Version) -> Version | None:
        """Catch up with the version that another writer published on top of ``base``.

        Otherwise like `run`.
        """
        if self.base is None or isinstance(self._transaction.operation, Clone):
            return self.run()  # the other writer has created the table
        check = self._check(faster.location.version, faster)
        if check is None:
            self.base, self._checked = faster, faster.location.version
        return check

    def _go_to(self, newest: ManifestLocation | None) -> Version | None:
        read_version = self._transaction.read_version
        operation = self._transaction.operation  # a clone reads another table
        if newest is None:
            if read_version and not isinstance(operation, Clone):
                raise DatasetNotFoundError("the table to commit to does not exist")
            self.base = None
            return None
        if isinstance(operation, Clone):
            return self._found_table(operation.ref_version)
        if read_version == 0 and isinstance(operation, Overwrite):
            return self._found_table(1)
        if newest.version < read_version:
            raise CommitConflictError(
                f"the transaction is based on version {read_version}, but the newest version is "
                f"{newest.version}: the table was recreated. Open it again and repeat the change."
            )
        if self._is_replaced(newest):
            raise CommitConflictError(
                "a version that the transaction is based on was replaced (table recreated or "
                "manifests renamed). Open the table again and repeat the change."
            )
        return self._check_until(newest)

    def _found_table(self, number: int) -> Version | None:
        """Handle a table that exists although this transaction creates it.

        ``number`` is the version that this transaction would have published. Returns the version of
        this transaction if it created the table itself; raises `DatasetExistsError` if another
        writer did.
        """
        try:
            first = read_version(self._store, self._handler.locate(number))
        except DatasetNotFoundError:
            first = None
        made_by = None if first is None else find_transaction(self._store, first)
        if self._is_ours(made_by, number):
            return first
        self._check_is_new(made_by, number)
        if first is None and self._may_be_repeated:
            raise self._unknown(number)
        raise DatasetExistsError("another writer has created a table at this location")

    def _check_until(self, newest: ManifestLocation) -> Version | None:
        """Check the transaction against all unchecked versions, and read the newest one.

        Returns the version of this transaction if it is committed already.
        """
        numbers = range(self._checked + 1, newest.version)
        versions = self._each(
            lambda number: find_version(self._handler, self._store, number, newest.naming), numbers
        )
        for number, version in zip(numbers, versions, strict=True):
            check = self._check(number, version)
            if check is not None:
                return check
        if self.base is None or self.base.location.version != newest.version:
            try:
                self.base = read_version(self._store, newest)
            except DatasetNotFoundError as error:
                raise _Vanished from error
        if newest.version > self._checked:
            check = self._check(newest.version, self.base)
            if check is not None:
                return check
        self._checked = newest.version
        return None

    def _check(self, number: int, version: Version | None) -> Version | None:
        """Raise if the transaction conflicts with ``version``; return it if both are the same."""
        committed = None if version is None else find_transaction(self._store, version)
        if self._is_ours(committed, number):
            return version
        if committed is None and self._may_be_repeated:
            raise self._unknown(number)
        self._check_is_new(committed, number)
        if self._is_strict:
            raise CommitConflictError(
                f"Commit conflict for version {number}: without retries, an overwrite must follow "
                f"the version that it read, {self._transaction.read_version}"
            )
        conflicts.check(self._transaction, committed, number)
        return None

    def _check_is_new(self, committed: Transaction | None, number: int) -> None:
        """Raise `AlreadyCommittedError` if the transaction of a version is the same change."""
        if self._is_committed is None or committed is None:
            return
        if self._is_committed(committed.properties):
            raise AlreadyCommittedError(f"version {number} already contains this change", number)

    def _unknown(self, number: int) -> CommitUnknownError:
        return CommitUnknownError(
            f"it is unknown whether version {number} is this transaction: the version cannot be "
            "read any more",
            self._transaction.uuid,
            number,
        )

    def _is_ours(self, committed: Transaction | None, number: int) -> bool:
        return committed is not None and is_same(committed, self._transaction, number)

    def _is_replaced(self, newest: ManifestLocation) -> bool:
        """True if the version that the caller read does not belong to this table any more."""
        if self.base is None:
            return False
        ours = self.base.location
        if ours.version > newest.version:
            return True
        try:
            theirs = newest
            if ours.version < newest.version:
                theirs = self._handler.locate(ours.version)
            if ours.path != theirs.path:
                return True
            if None not in (ours.etag, theirs.etag) and not ours.contradicts(theirs):
                return False
            # A handler may write the same manifest twice, which changes its etag.
            return not self._holds(theirs, self.base.file)
        except DatasetNotFoundError:
            return False  # most likely removed by a cleanup

    def _holds(self, location: ManifestLocation, file: ManifestFile) -> bool:
        """True if the manifest stored at ``location`` is ``file``."""
        if file.transaction:  # contains a unique uuid; a byte search avoids parsing
            try:
                return file.transaction in self._store.get(location.path).to_pybytes()
            except ObjectNotFoundError:
                return True  # removed by a cleanup in the meantime
        return read_version(self._store, location).file == file
