"""Checks of a commit against changes since it read the newest version.

Before publishing: the new files exist, and the base is still the newest version. After publishing:
the history contains the published version, and its files still exist. A commit to a local table
makes all checks. Where a check costs requests, only slow attempts make it, and files are assumed to
exist while they are younger than `FRESH`.
"""

from __future__ import annotations

from collections.abc import Sequence

from lance_core.commits import ancestry
from lance_core.commits.ancestry import Doubt
from lance_core.commits.base import CommitHandler
from lance_core.commits.checked_handler import unchecked
from lance_core.commits.history import Version
from lance_core.commits.new_files import NewFile, check_existence, check_new_files, new_files
from lance_core.commits.options import FRESH, CommitOptions
from lance_core.errors import CommitFileMissingError, CommitUnknownError
from lance_core.store.base import ObjectStore
from lance_core.store.functions import exists
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.transactions.operations import Clone, Restore
from lance_core.table.transactions.transaction import Transaction


class CommitVerification:
    """The checks of one commit."""

    def __init__(
        self,
        handler: CommitHandler,
        store: ObjectStore,
        transaction: Transaction,
        options: CommitOptions,
    ) -> None:
        self._handler = handler
        self._store = store
        self._transaction = transaction
        self._options = options
        self._has_folder = unchecked(handler).has_folder
        self._is_free = store.has_views and self._has_folder
        """True if checking the table costs no request."""
        self._brings_files = not isinstance(transaction.operation, Clone | Restore)
        """True if the transaction adds files; the files of an old version are kept with it."""
        self._found_files = False
        self._listed: tuple[ManifestFile, ManifestFile | None, Sequence[NewFile]] | None = None

    def at_files(self, file: ManifestFile, before: ManifestFile | None, is_slow: bool) -> None:
        """Raise `CommitFileMissingError` if a new file of the transaction is missing."""
        age = self._options.age_of_files
        if age is None or not self._brings_files:
            return
        if is_slow or self._is_free or (not self._found_files and age() > FRESH):
            check_new_files(self._store, self._new_files(file, before), self._options.each)
            self._found_files = True

    def _new_files(self, file: ManifestFile, before: ManifestFile | None) -> Sequence[NewFile]:
        """The `new_files`, which both checks of an attempt ask for."""
        if self._listed is None or self._listed[0] is not file or self._listed[1] is not before:
            self._listed = file, before, new_files(file, before)
        return self._listed[2]

    def is_overtaken(self, base: Version | None) -> bool:
        """True if ``base`` (None: no table) is no longer the newest version."""
        newest = self._handler.latest()
        if base is None or newest is None:
            return (base is None) != (newest is None)
        return newest.contradicts(base.location)

    def is_continued(
        self, made: Version, before: ManifestFile | None, doubt: Doubt, is_slow: bool
    ) -> bool:
        """True if the newest version contains ``made``; see `Doubt`."""
        if not is_slow and not self._is_free:
            return True
        return ancestry.is_continued(self._handler, self._store, made, before, doubt)

    def at_published_files(
        self, made: Version, before: ManifestFile | None, is_slow: bool, is_certain: bool
    ) -> None:
        """Withdraw ``made`` and raise `CommitFileMissingError` if one of its files was removed.

        Nobody can read such a version, so withdrawing it loses nothing. Raises `CommitUnknownError`
        if it cannot be withdrawn, because later versions exist or because another request for it
        may still take effect (``is_certain`` is False).
        """
        if self._options.age_of_files is None or not self._brings_files:
            return
        if not is_slow and not self._is_free:
            return
        files = self._new_files(made.file, before)
        try:
            if self._is_free:  # `at_files` has just checked their sizes
                check_existence(self._store, files)
            else:
                check_new_files(self._store, files, self._options.each)
        except CommitFileMissingError as error:
            if is_certain and self._withdraw(made):
                raise
            number = made.location.version
            raise CommitUnknownError(
                f"version {number} was published, but cannot be read: {error.path!r} was removed "
                "in the meantime, and others may have followed it; restore an older version",
                self._transaction.uuid,
                number,
                stalled=True,
            ) from error
        except Exception:  # the check failed, but the version exists
            return

    def _withdraw(self, made: Version) -> bool:
        """Remove the newest version; True if it is certainly removed and has no successor."""
        try:
            if not self._has_folder or self.is_overtaken(made):
                return False
            self._store.delete(made.location.path)
            return not exists(self._store, made.location.path)
        except Exception:  # it may still exist
            return False
