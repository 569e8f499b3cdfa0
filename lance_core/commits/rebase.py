"""Rebasing a change of rows: its deletions are merged with those that others have committed since.

A fragment names one deletion file with all of its deleted rows, so of two changes of the same
fragment the second has to write a file with the rows of both. That is right if no row is in both,
and not done otherwise. What a change deletes by itself is in `Operation.affected_rows`; the merged
set is computed from that and the newest version alone, so rebasing once more starts afresh.

Deletions of a fragment only ever become more, along versions that a change can be rebased over. So
the fragment is as the change found it exactly if the deletions counted before it and those of its
own add up to those of the file that it wrote; no file is read to find that out.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable

import numpy as np

from lance_core.commits.environment import Environment
from lance_core.errors import (
    CommitError,
    ObjectNotFoundError,
    RetryableCommitConflictError,
    StoreError,
)
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
    """``transaction`` as it can follow ``base``, which its kind is compatible with.

    A change of rows whose fragments have lost further rows gets new deletion files, which are
    written here; a fragment that has no rows left becomes one that is removed. ``uuid`` and
    ``read_version`` stay. If there is nothing to merge, or what the change deletes is not known,
    this is ``transaction`` itself.

    Raises `RetryableCommitConflictError` if a row is deleted by both sides or a fragment is gone,
    `CommitError` if the store fails, and `CorruptFileError` for a broken deletion file.
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
    return dataclasses.replace(transaction, operation=changed)


def discard_merged(store: ObjectStore, rebased: Transaction, original: Transaction) -> None:
    """Remove the deletion files that rebasing wrote; only once nobody can ever name them."""
    written = _deletion_paths(rebased) - _deletion_paths(original)
    for path in sorted(written):
        with contextlib.suppress(Exception):  # it is collected by the next cleanup
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
    """Merging into the fragments of one version."""

    def __init__(self, store: ObjectStore, base: ManifestFile, environment: Environment) -> None:
        self._store = store
        self._base = base.manifest
        self._environment = environment
        self.has_changed = False
        """Whether anything was merged."""

    def fragment(self, changed: Fragment, affected: RowOffsets) -> Fragment | None:
        """``changed`` with the deletions of both sides, None if no row is left.

        It is ``changed`` itself if nobody else has deleted rows of the fragment.
        """
        current = self._current(changed.id)
        written, before = changed.num_deleted_rows, current.num_deleted_rows
        if None not in (written, before) and written == (before or 0) + len(affected):
            return changed
        if current.physical_rows is None and changed.physical_rows is not None:
            current = dataclasses.replace(current, physical_rows=changed.physical_rows)
        existing = self._deletions(current)
        if len(np.intersect1d(existing, affected, assume_unique=True)):
            raise self._conflict(changed.id, "has lost some of the same rows")
        merged = np.union1d(existing, affected)
        self.has_changed = True
        if len(merged) == current.physical_rows:
            return None
        return dataclasses.replace(current, deletion_file=self._write(changed.id, merged))

    def check_removed(self, fragment_id: int, affected: RowOffsets | None) -> None:
        """Raise if a fragment that is to be removed with all its rows is not as it was found."""
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
            # Not what a delete of this table leaves behind; the table's own reader knows more.
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
            f"commit conflict: fragment {fragment_id} {reason}, in version {self._base.version}; "
            "retry on the newest version"
        )


def _removed(operation: Delete | Update) -> tuple[int, ...]:
    if isinstance(operation, Delete):
        return operation.deleted_fragment_ids
    return operation.removed_fragment_ids


def _with_fragments(
    operation: Delete | Update, updated: Iterable[Fragment], removed: Iterable[int]
) -> Delete | Update:
    kept, gone = tuple(updated), tuple(removed)
    if isinstance(operation, Delete):
        return dataclasses.replace(operation, updated_fragments=kept, deleted_fragment_ids=gone)
    return dataclasses.replace(operation, updated_fragments=kept, removed_fragment_ids=gone)
