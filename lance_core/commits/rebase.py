"""Rebase a change of rows: merge its deletions with concurrently committed deletions.

A fragment names one deletion file with all its deleted rows. So if two changes delete rows of the
same fragment, the second one must write a file with the rows of both. This is correct only if no
row is in both changes; otherwise it is a conflict. `Operation.affected_rows` contains the rows that
a change deletes. The merged set is computed from these and the newest version alone, so each rebase
starts from the original change.

Compatible versions only ever add deletions to a fragment. So a fragment is unchanged exactly if its
number of deleted rows plus the rows that the change deletes equals the number in the file that the
change wrote. This comparison reads no file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import numpy as np

from lance_core.commits.environment import Environment
from lance_core.errors import (
    CommitError,
    ObjectNotFoundError,
    RetryableCommitConflictError,
    StoreError,
)
from lance_core.lazy_dataclass import replace
from lance_core.store.base import ObjectStore
from lance_core.table.fragments.deletion import RowOffsets, decode_deletions, encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.transactions.operations.delete import Delete
from lance_core.table.transactions.operations.update import Update, UpdateMode
from lance_core.table.transactions.transaction import Transaction

_LOW_64_BITS = (1 << 64) - 1


def rebased(
    store: ObjectStore, transaction: Transaction, base: ManifestFile, environment: Environment
) -> Transaction:
    """``transaction`` changed so that it can follow ``base``. Their operations are compatible.

    If other writers deleted further rows of the changed fragments, this writes new deletion files;
    a fragment without remaining rows is removed. ``uuid`` and ``read_version`` do not change.
    Returns ``transaction`` itself if there is nothing to merge, or if the rows that it deletes are
    unknown.

    Raises `RetryableCommitConflictError` if both sides delete the same row or a fragment was
    removed, `CommitError` if the store fails, and `CorruptFileError` for a corrupt deletion file.
    """
    operation = transaction.operation
    if not isinstance(operation, Delete | Update) or operation.affected_rows is None:
        return transaction
    if isinstance(operation, Update) and operation.update_mode is not UpdateMode.REWRITE_ROWS:
        return transaction
    merge = _Merge(store, base, environment)
    removed = list(_removed(operation))
    for fragment_id in removed:
        merge.check_removed(fragment_id, operation.affected_rows.get(fragment_id))
    updated: list[Fragment] = []
    for fragment in operation.updated_fragments:
        affected = operation.affected_rows.get(fragment.id)
        merged = fragment if affected is None else merge.fragment(fragment, affected)
        if merged is None:
            removed.append(fragment.id)
        else:
            updated.append(merged)
    if not merge.has_changed:
        return transaction
    changed = _with_fragments(operation, updated, removed)
    return replace(transaction, operation=changed)


def discard_merged(store: ObjectStore, rebased: Transaction, original: Transaction) -> None:
    """Remove the deletion files that rebasing wrote; called only if no version can name them."""
    written = _deletion_paths(rebased) - _deletion_paths(original)
    for path in sorted(written):
        with contextlib.suppress(Exception):  # the next cleanup removes it
            store.delete(path)


def _deletion_paths(transaction: Transaction) -> set[str]:
    operation = transaction.operation
    if not isinstance(operation, Delete | Update) or operation.affected_rows is None:
        return set()
    return {
        fragment.deletion_file.store_path(fragment.id)
        for fragment in operation.updated_fragments
        if fragment.deletion_file is not None and fragment.deletion_file.base_id is None
    }


class _Merge:
    """Merges deletions into the fragments of one version."""

    def __init__(self, store: ObjectStore, base: ManifestFile, environment: Environment) -> None:
        self._store = store
        self._base = base.manifest
        self._environment = environment
        self.has_changed = False
        """True after deletions were merged."""

    def fragment(self, changed: Fragment, affected: RowOffsets) -> Fragment | None:
        """``changed`` with the deletions of both sides, or None if no row remains.

        Returns ``changed`` itself if no other writer deleted rows of the fragment.
        """
        current = self._current(changed.id)
        written, before = changed.num_deleted_rows, current.num_deleted_rows
        if None not in (written, before) and written == (before or 0) + len(affected):
            return changed
        if current.physical_rows is None and changed.physical_rows is not None:
            current = replace(current, physical_rows=changed.physical_rows)
        existing = self._deletions(current)
        if len(np.intersect1d(existing, affected, assume_unique=True)):
            raise self._conflict(changed.id, "has lost some of the same rows")
        merged = np.union1d(existing, affected)
        self.has_changed = True
        if len(merged) == current.physical_rows:
            return None
        return replace(current, deletion_file=self._write(changed.id, merged))

    def check_removed(self, fragment_id: int, affected: RowOffsets | None) -> None:
        """Raise if a fragment to remove has lost rows since the change read it."""
        current = self._current(fragment_id)
        left = current.num_rows
        if affected is not None and left is not None and left != len(affected):
            raise self._conflict(fragment_id, "has lost some of the same rows")

    def _current(self, fragment_id: int) -> Fragment:
        current = self._base.fragments.by_id(fragment_id)
        if current is None:
            raise self._conflict(fragment_id, "is gone")
        return current

    def _deletions(self, current: Fragment) -> RowOffsets:
        file = current.deletion_file
        if file is None:
            return np.empty(0, np.uint32)
        if file.base_id is not None or current.physical_rows is None:
            # Deletes of this table do not write this; merging it needs the table's own reader.
            raise self._conflict(current.id, "has other deletions than before")
        path = file.store_path(current.id)
        try:
            data = self._store.get(path)
        except ObjectNotFoundError as error:
            raise self._conflict(current.id, "is cleaned up already in this version") from error
        except StoreError as error:
            raise CommitError(f"not committed, deletions cannot be read: {error}") from error
        return decode_deletions(
            file.file_type, data, current.physical_rows, file.num_deleted_rows, path
        )

    def _write(self, fragment_id: int, offsets: RowOffsets) -> DeletionFile:
        file_type, data = encode_deletions(offsets)
        number = self._environment.new_uuid().int & _LOW_64_BITS
        file = DeletionFile(file_type, self._base.version, number, len(offsets))
        try:
            self._store.put(file.store_path(fragment_id), data)
        except StoreError as error:
            raise CommitError(f"not committed, a deletion file failed: {error}") from error
        return file

    def _conflict(self, fragment_id: int, reason: str) -> RetryableCommitConflictError:
        return RetryableCommitConflictError(
            f"Retryable commit conflict for version {self._base.version}: fragment {fragment_id} "
            f"{reason}; retry on the newest version"
        )


def _removed(operation: Delete | Update) -> tuple[int, ...]:
    if isinstance(operation, Delete):
        return operation.deleted_fragment_ids
    return operation.removed_fragment_ids


def _with_fragments(
    operation: Delete | Update, updated: Iterable[Fragment], removed: Iterable[int]
) -> Delete | Update:
    changed, gone = tuple(updated), tuple(removed)
    if isinstance(operation, Delete):
        return replace(operation, updated_fragments=changed, deleted_fragment_ids=gone)
    return replace(operation, updated_fragments=changed, removed_fragment_ids=gone)
