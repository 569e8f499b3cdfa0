"""The methods of `LanceDataset` that commit versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self, Unpack

import pyarrow as pa

from lance_core.commits.handlers.lock import CommitLock
from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import HasSnapshot, Target
from lance_core.dataset.values.base_path import DatasetBasePath
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.dataset.values.operations import LanceOperation
from lance_core.dataset.values.to_stored import to_bases
from lance_core.dataset.values.transaction import Transaction, properties_of
from lance_core.dataset.write import config
from lance_core.dataset.write.commit import commit_operation, options_of
from lance_core.dataset.write.commit_batch import BulkCommitResult, commit_batch
from lance_core.dataset.write.commit_change import commit_change, restore
from lance_core.dataset.write.delete import DeleteResult, delete
from lance_core.dataset.write.input import ReaderLike
from lance_core.dataset.write.retry_on_conflict import (
    CONFLICT_RETRIES,
    RETRY_TIMEOUT,
    ConflictRetries,
)
from lance_core.dataset.write.write import APPEND, AllWriteArguments, file_version, write
from lance_core.errors import UnsupportedFeatureError, warn_caller
from lance_core.imports.on_demand import lazy_module
from lance_core.plugins import get_manager
from lance_core.store.secret import hide_secrets, hide_secrets_in
from lance_core.table.transactions.operations import UpdateBases

if TYPE_CHECKING:
    import os

    import pyarrow.compute as pc

    from lance_core.dataset import merge_insert as merging
    from lance_core.dataset.arguments import CommitArguments, InsertArguments, Mode
    from lance_core.dataset.merge_insert import MergeInsertBuilder
    from lance_core.dataset.snapshot import namespace_tables
    from lance_core.dataset.write import replace_rows as replacing
    from lance_core.dataset.write import row_changes
    from lance_core.dataset.write import update as updating
    from lance_core.dataset.write.merge_insert import key_pairs
    from lance_core.dataset.write.row_changes import RowChangeCommit, RowChangeCounts, RowChanges
    from lance_core.dataset.write.update import UpdateResult
    from lance_core.schema import LanceSchema
else:
    key_pairs = lazy_module("lance_core.dataset.write.merge_insert.key_pairs")
    merging = lazy_module("lance_core.dataset.merge_insert")
    namespace_tables = lazy_module("lance_core.dataset.snapshot.namespace_tables")
    replacing = lazy_module("lance_core.dataset.write.replace_rows")
    row_changes = lazy_module("lance_core.dataset.write.row_changes")
    updating = lazy_module("lance_core.dataset.write.update")


@short_tracebacks
class ChangeMethods(DatasetBase):
    """Commits new versions of the table."""

    def insert(
        self, data: ReaderLike, *, mode: Mode = "append", **options: Unpack[InsertArguments]
    ) -> None:
        """Write rows like `lance_core.write_dataset`, and move to the new version.

        ``mode``: ``"append"`` adds the rows, ``"overwrite"`` replaces all. The write is based on
        the open version. See `lance_core.write_dataset` for the other arguments and errors.
        """
        schema = options.pop("schema", None)
        self._snapshot = write(data, self, schema, mode, options)

    @classmethod
    def from_pydantic_model(
        cls,
        model_class: Any,
        data: Sequence[Any],
        uri: str | os.PathLike[str] | None = None,
        mode: Mode = "create",
        **kwargs: Unpack[AllWriteArguments],
    ) -> Self:
        """Write instances of a pydantic model as the rows of a table.

        ``uri``: by default the name of the class in snake case. Other arguments are those of
        `lance_core.write_dataset`. Needs the extra ``arrays``. Raises ``TypeError`` for instances
        of other classes and `InvalidInputError` for none.
        """
        hide_secrets_in(kwargs)  # type: ignore[arg-type]  # a TypedDict is a dictionary, too
        rows_of: Any = get_manager().tool("from_pydantic_model")
        rows, where = rows_of(model_class, data, uri)
        return cls.of(write(rows, where, None, mode, kwargs))

    def delete(
        self,
        predicate: str | pc.Expression,
        *,
        conflict_retries: int = CONFLICT_RETRIES,
        retry_timeout: timedelta | None = RETRY_TIMEOUT,
    ) -> DeleteResult:
        """Delete the rows that satisfy ``predicate``, and move to the new version.

        Rows with the result NULL stay; ``"true"`` deletes all rows. If a concurrent writer changes
        the same rows, the predicate is evaluated again on the newest version, at most
        ``conflict_retries`` times and not after ``retry_timeout``.

        Raises `InvalidInputError` and `UnsupportedFeatureError` for an invalid predicate,
        `CommitUnknownError` if it is unknown whether the rows are deleted, and another
        `CommitError` if they are not.
        """
        retries = ConflictRetries.of(conflict_retries, retry_timeout)
        self._snapshot, result = delete(self._snapshot, predicate, retries)
        return result

    def replace_rows(
        self,
        predicate: str | pc.Expression,
        fragments: Sequence[FragmentMetadata],
        *,
        transaction_uuid: str | None = None,
        schema: LanceSchema | None = None,
        **options: Unpack[CommitArguments],
    ) -> DeleteResult:
        """Replace the rows that satisfy ``predicate`` in one commit, and move to the new version.

        ``fragments``: the new rows, see `write_fragments`. ``transaction_uuid``: the id of the
        transaction, by default a new one. ``schema``: the table's with further columns, which are
        null in the old rows; then every other change of rows in the meantime is a conflict.
        ``options``: see `options_of`; only those of the
        transaction and of retries apply. Rows with the result NULL stay. Whether the new rows
        satisfy ``predicate`` is not checked.

        Raises `RetryableCommitConflictError` if another writer has changed the rows since the open
        version or added rows that satisfy ``predicate``, and the errors of `delete`. The files of
        ``fragments`` stay after an error.
        """
        how, properties = options_of(options)
        operation = LanceOperation.Append(list(fragments))
        change = Transaction(self._snapshot.version, operation, transaction_properties=properties)
        change.uuid = transaction_uuid or change.uuid
        self._snapshot, result = replacing.replace_rows(
            self._snapshot, predicate, change, how, schema
        )
        return result

    def update(
        self,
        updates: Mapping[str, str],
        where: str | pc.Expression | None = None,
        conflict_retries: int = CONFLICT_RETRIES,
        retry_timeout: timedelta | None = RETRY_TIMEOUT,
        data_storage_version: str | None = None,
    ) -> UpdateResult:
        """Set columns to SQL values where ``where`` is true, and move to the new version.

        ``updates`` maps names of columns to SQL text, such as ``{"price": "price * 1.1"}``. All
        values are computed from the old row and cast to the type of their column. Rows for which
        ``where`` is NULL do not change; without it all rows change. The rows move to the end of
        the table; with stable row ids they keep their ids. ``data_storage_version``: the version
        of the new files. If a concurrent writer changes the same rows, the update is computed
        again on the newest version, see `delete`.

        Raises ``TypeError`` unless names and values are text, `InvalidInputError` and
        `UnsupportedFeatureError` for invalid columns, SQL and values, `CommitUnknownError` if it is
        unknown whether the rows are updated, and another `CommitError` if they are not.
        """
        retries = ConflictRetries.of(conflict_retries, retry_timeout)
        version = None
        if data_storage_version is not None:
            version = file_version(self._snapshot, APPEND, data_storage_version)
        self._snapshot, result = updating.update(
            self._snapshot, updates, where, retries, version=version
        )
        return result

    def merge_insert(self, on: str | Iterable[str] | None = None) -> MergeInsertBuilder:
        """A builder for a merge of new data: it updates, inserts and deletes rows by key.

        ``on``: the key columns, by default the table's unenforced primary key. Raises
        `InvalidInputError` for an unknown column, and if there are no keys.
        """
        return merging.MergeInsertBuilder(self, on)

    def find_keys(self, keys: pa.Table, fragment_ids: Iterable[int] | None = None) -> pa.Table:
        """Find the rows with the given keys, which are equal as they are for `merge_insert`.

        ``keys``: one row for each key; its columns are columns of the table, with their types.
        ``fragment_ids``: the fragments to search, by default all; several processes can each search
        some of them. Returns a row for each pair of a row of the table and a row of ``keys``:
        ``_rowaddr``, the address of the first, and ``_position``, the position of the second.
        Deleted rows and keys with a null have no pair.

        Raises `SchemaMismatchError` for unknown columns and other types, and `InvalidInputError`
        for unknown fragments and keys without a column.
        """
        return key_pairs.key_pairs(self._snapshot, keys, fragment_ids)

    def write_row_changes(
        self,
        rows: Iterable[pa.RecordBatch],
        actions: Sequence[Collection[str] | None],
    ) -> RowChanges:
        """Write the files for changes of some rows, without committing them.

        Several processes can each write the changes of some fragments; `change_rows` commits all
        of them. ``rows`` have the columns ``_rowaddr`` (the address of a row of the open version,
        null for a new row), ``_action`` (an index of ``actions``), and columns with new values. An
        action is the names of the columns that get new values, or None to delete the row. The other
        columns of an updated row keep their values, those of a new row are null. New rows come
        last. Updated rows keep their stable row ids.

        Raises `MergeError` if a row is updated twice, `InvalidInputError` for unknown columns, rows
        and actions, and `SchemaMismatchError` for values that do not fit their column; then the
        written files are removed.
        """
        if any(isinstance(names, str) for names in actions):
            raise TypeError("each action must be None or a list of names of columns, not a string")
        chosen = [None if names is None else frozenset(names) for names in actions]
        return row_changes.write_row_changes(self._snapshot, rows, chosen)

    def change_rows(
        self,
        work: Callable[[Self], Iterable[RowChanges]],
        how: RowChangeCommit | None = None,
        *,
        conflict_retries: int = CONFLICT_RETRIES,
        retry_timeout: timedelta | None = RETRY_TIMEOUT,
    ) -> RowChangeCounts:
        """Commit what ``work`` has written, and move to the new version.

        ``work`` gets a dataset, and returns the results of `write_row_changes` for its version; the
        changed rows of a fragment must be in one of them. It is called again with the newest
        version if a concurrent writer has changed the same rows, see `delete`. Without changes
        nothing is committed. ``how``: see `RowChangeCommit`.

        Raises `InvalidInputError` for results that do not fit together, `CommitUnknownError` if it
        is unknown whether the rows are changed, and another `CommitError` if they are not; after
        all but `CommitUnknownError`, and after an error of ``work``, the files of the results that
        it has returned are removed.
        """
        how = row_changes.RowChangeCommit() if how is None else how
        rejects = how.rejects_added_rows
        if callable(rejects):
            how = dataclasses.replace(
                how, rejects_added_rows=lambda newer, ids: rejects(type(self).of(newer), ids)
            )
        self._snapshot, counts = row_changes.change_rows(
            self._snapshot,
            lambda snapshot: work(type(self).of(snapshot)),
            how,
            ConflictRetries.of(conflict_retries, retry_timeout),
        )
        return counts

    def restore(self) -> None:
        """Commit a new version with the content of the open one, and move to it."""
        self._snapshot = restore(self._snapshot)

    def truncate_table(self) -> None:
        """Delete all rows, and move to the new version."""
        self.delete("true")

    def update_config(
        self, values: Mapping[str, str | None], *, replace: bool = False
    ) -> dict[str, str]:
        """Set entries of the table's config (None removes an entry), and return the config.

        ``replace``: remove all keys that are not given. Raises `CommitConflictError` if another
        writer has changed the same keys since the open version.
        """
        self._snapshot = config.update_config(self._snapshot, values, replace)
        return dict(self._snapshot.manifest.config)

    def delete_config_keys(self, keys: list[str]) -> None:
        """Remove keys from the table's config; missing keys are ignored."""
        self._snapshot = config.delete_config_keys(self._snapshot, keys)

    def update_metadata(
        self, values: Mapping[str, str | None], *, replace: bool = False
    ) -> dict[str, str]:
        """Set entries of the table's metadata; see `update_config` for arguments and errors."""
        self._snapshot = config.update_metadata(self._snapshot, values, replace)
        return dict(self._snapshot.manifest.table_metadata)

    def update_schema_metadata(
        self, values: Mapping[str, str | None], *, replace: bool = False
    ) -> dict[str, str]:
        """Set entries of the schema's metadata; see `update_config` for arguments and errors."""
        self._snapshot = config.update_schema_metadata(self._snapshot, values, replace)
        return dict(self._snapshot.schema.metadata)

    def replace_schema_metadata(self, new_metadata: Mapping[str, str]) -> None:
        """Deprecated: call `update_schema_metadata` with ``replace=True`` instead."""
        _deprecated("replace_schema_metadata", "update_schema_metadata")
        self.update_schema_metadata(new_metadata, replace=True)

    def update_field_metadata(
        self, field_updates: Mapping[str, Mapping[str, str | None]], *, replace: bool = False
    ) -> None:
        """Set entries of the metadata of fields, by field path (``"s.x"``).

        See `update_config` for ``replace`` and conflicts. Raises `SchemaMismatchError` for an
        unknown field.
        """
        self._snapshot = config.update_field_metadata(self._snapshot, field_updates, replace)

    def replace_field_metadata(self, field_name: str, new_metadata: Mapping[str, str]) -> None:
        """Deprecated: call `update_field_metadata` with ``replace=True`` instead."""
        _deprecated("replace_field_metadata", "update_field_metadata")
        self.update_field_metadata({field_name: new_metadata}, replace=True)

    def replace_schema(self, schema: pa.Schema) -> None:
        """Raise `UnsupportedFeatureError`: the schema cannot be replaced as a whole."""
        raise UnsupportedFeatureError("the schema of a table cannot be replaced as a whole")

    def add_bases(
        self,
        new_bases: Sequence[DatasetBasePath],
        transaction_properties: Mapping[str, str] | None = None,
    ) -> Self:
        """Add base paths, move to the new version, and return this dataset.

        The dataset may read and write at these paths from then on. Raises `InvalidInputError` if
        the table has a base path with the same path, name or id.
        """
        bases = to_bases(new_bases)
        properties = properties_of(None, transaction_properties)
        root = self._snapshot.root.allowing(base.path for base in bases)
        opened = dataclasses.replace(self._snapshot, root=root)
        self._snapshot = commit_change(opened, UpdateBases(bases), properties)
        return self

    @classmethod
    def commit(
        cls,
        base_uri: Target,
        operation: LanceOperation.BaseOperation | Transaction,
        read_version: int | None = None,
        commit_lock: CommitLock | None = None,
        storage_options: Mapping[str, str] | None = None,
        **options: Unpack[CommitArguments],
    ) -> Self:
        """Commit an operation whose files are already written as a new version.

        ``read_version``: the version that the operation is based on. It is required for all
        operations except Overwrite and Restore, and ignored for a `Transaction`, which contains it.
        ``commit_lock``: a function that gets the new version number and returns a context manager
        that excludes other writers. ``options``: see `options_of`.
        """
        storage_options = hide_secrets(storage_options)
        hide_secrets_in(options)  # type: ignore[arg-type]  # a TypedDict is a dictionary, too
        base_uri, storage_options = namespace_tables.located(base_uri, storage_options, options)
        of_bases = options.get("base_store_params")
        root = open_table.root_of(base_uri, storage_options).allowing((), of_bases)
        root = root.with_lock(commit_lock)
        how, properties = options_of(options)
        opened = None
        if commit_lock is None and not of_bases and isinstance(base_uri, HasSnapshot):
            opened = base_uri.snapshot
        return cls.of(commit_operation(root, operation, read_version, how, properties, opened))

    @classmethod
    def commit_batch(
        cls,
        dest: Target,
        transactions: Sequence[Transaction],
        commit_lock: CommitLock | None = None,
        storage_options: Mapping[str, str] | None = None,
        **options: Unpack[CommitArguments],
    ) -> BulkCommitResult[Self]:
        """Commit the rows of several Append transactions as one version.

        The commit is based on the oldest ``read_version`` of the transactions and drops their
        properties. See `commit` for the other arguments. Raises `UnsupportedFeatureError` for other
        operations.
        """
        storage_options = hide_secrets(storage_options)
        hide_secrets_in(options)  # type: ignore[arg-type]  # a TypedDict is a dictionary, too
        dest, storage_options = namespace_tables.located(dest, storage_options, options)
        root = open_table.root_of(dest, storage_options)
        root = root.allowing((), options.get("base_store_params")).with_lock(commit_lock)
        how, properties = options_of(options)
        snapshot, merged = commit_batch(root, transactions, how, properties)
        return {"dataset": cls.of(snapshot), "merged": merged}


def _deprecated(name: str, instead: str) -> None:
    text = f"{name} is deprecated: use {instead} with replace=True"
    warn_caller(text, DeprecationWarning)
