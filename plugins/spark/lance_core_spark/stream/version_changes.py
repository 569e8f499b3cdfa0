"""The rows that a stream delivers for each version of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import lance_core
from lance_core import LanceOperation, Transaction
from lance_core.errors import DatasetNotFoundError, UnsupportedFeatureError
from lance_core_spark.scan.row_bytes import stored_bytes
from lance_core_spark.table_ref import TableVersion

Operation = LanceOperation.BaseOperation

_NO_ROWS = (
    LanceOperation.Rewrite,
    LanceOperation.CreateIndex,
    LanceOperation.UpdateConfig,
    LanceOperation.Project,
)
_NO_ROWS_STORED = ("ReserveFragments", "UpdateBases")
"""Operations that leave all rows as they are; the latter have no public class."""

_NEW_SCHEMA = (LanceOperation.Merge, LanceOperation.Project)
"""Operations that add, change or drop columns."""

_SKIP_DELETES = ("ignore_deletes", "ignore_changes")


@dataclass(frozen=True, slots=True)
class FragmentRows:
    """A fragment, its physical rows, and the bytes of its files."""

    id: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class VersionRows:
    """The rows of a version that a stream delivers.

    ``is_diff``: they are computed from the version and the one before; ``fragments`` then only
    estimate their number, and all of them are delivered at once.
    """

    version: TableVersion
    fragments: tuple[FragmentRows, ...] = ()
    is_diff: bool = False
    is_snapshot: bool = False

    @property
    def rows(self) -> int:
        return sum(fragment.rows for fragment in self.fragments)

    @property
    def bytes(self) -> int:
        return sum(fragment.bytes for fragment in self.fragments)

    @property
    def is_empty(self) -> bool:
        return not self.fragments and not self.is_diff


def snapshot_rows(dataset: lance_core.LanceDataset) -> VersionRows:
    """All rows of a version."""
    return VersionRows(
        TableVersion.of(dataset), _last(dataset, len(dataset.get_fragments())), is_snapshot=True
    )


def version_rows(
    dataset: lance_core.LanceDataset, made_by: Transaction | None, changes: str | None
) -> VersionRows:
    """The rows that the version ``dataset``, committed by ``made_by``, adds to a stream.

    ``changes``: how to treat deleted and changed rows, one of
    `lance_core_spark.options.stream_options.CHANGES`. Raises `UnsupportedFeatureError` naming the
    version and the operation if it does not allow them, and `DatasetNotFoundError` if the version
    before is needed and was removed.
    """
    operation = None if made_by is None else made_by.operation
    nothing = VersionRows(TableVersion.of(dataset))
    if _keeps_rows(operation):
        return nothing
    if dataset.version == 1:
        return replace(nothing, fragments=snapshot_rows(dataset).fragments)
    appended = _appended(operation, dataset)
    if appended is not None:
        return replace(nothing, fragments=_last(dataset, appended))
    is_delete = isinstance(operation, LanceOperation.Delete)
    if changes == "skip_change_commits" or (is_delete and changes in _SKIP_DELETES):
        return nothing
    new = 0 if is_delete else _rewritten(operation, dataset)
    if new is not None and changes == "ignore_changes":
        return replace(nothing, fragments=_last(dataset, new))
    if new is not None and changes == "read_change_feed":
        return replace(nothing, fragments=_last(dataset, new), is_diff=True)
    raise _refusal(dataset.version, _name(operation), changes)


def has_new_schema(made_by: Transaction | None) -> bool:
    """True if the transaction added, changed or dropped columns."""
    return made_by is not None and isinstance(
        made_by.operation, (*_NEW_SCHEMA, LanceOperation.Overwrite)
    )


def _name(operation: Operation | None) -> str:
    if isinstance(operation, LanceOperation.Stored):
        return type(operation.operation).__name__
    return "" if operation is None else type(operation).__name__


def _keeps_rows(operation: Operation | None) -> bool:
    """True if ``operation`` adds, changes and deletes no rows."""
    if isinstance(operation, LanceOperation.Stored):
        return _name(operation) in _NO_ROWS_STORED
    if isinstance(operation, LanceOperation.Delete):
        return not operation.updated_fragments and not list(operation.deleted_fragment_ids)
    return isinstance(operation, _NO_ROWS)


def _appended(operation: Operation | None, dataset: lance_core.LanceDataset) -> int | None:
    """The number of fragments that ``operation`` added, None if it also touched other rows."""
    if isinstance(operation, LanceOperation.Append):
        return len(operation.fragments)
    if isinstance(operation, LanceOperation.Merge):
        before = _before_columns(dataset)
        return None if _deletes_rows(before, dataset) else _added_with_columns(before, dataset)
    if isinstance(operation, LanceOperation.Update) and not (
        operation.removed_fragment_ids or operation.updated_fragments
    ):
        return len(operation.new_fragments)  # a merge that only inserts
    return None


def _before_columns(dataset: lance_core.LanceDataset) -> lance_core.LanceDataset:
    """The version before one that added columns: the operation names all fragments."""
    try:
        return dataset.checkout_version(dataset.version - 1)
    except DatasetNotFoundError as error:
        raise DatasetNotFoundError(
            f"version {dataset.version - 1} was removed by a cleanup, so the rows that version "
            f"{dataset.version} added together with columns are not known. Start a query with a "
            "new checkpoint"
        ) from error


def _deletes_rows(before: lance_core.LanceDataset, dataset: lance_core.LanceDataset) -> bool:
    deleted = {fragment.fragment_id: fragment.num_deletions for fragment in before.get_fragments()}
    after = {fragment.fragment_id: fragment.num_deletions for fragment in dataset.get_fragments()}
    return any(after[id_] != count for id_, count in deleted.items())


def _added_with_columns(before: lance_core.LanceDataset, dataset: lance_core.LanceDataset) -> int:
    """The number of fragments that were added together with columns."""
    highest = before.max_fragment_id
    ids = [fragment.fragment_id for fragment in dataset.get_fragments()]
    return len(ids) if highest is None else sum(id_ > highest for id_ in ids)


def _rewritten(operation: Operation | None, dataset: lance_core.LanceDataset) -> int | None:
    """The number of fragments with inserted and changed rows, None if they are not in their own."""
    if isinstance(operation, LanceOperation.Overwrite):
        return len(dataset.get_fragments())
    if isinstance(operation, LanceOperation.Merge):
        return _added_with_columns(_before_columns(dataset), dataset)
    if isinstance(operation, LanceOperation.Update) and operation.update_mode != "rewrite_columns":
        return len(operation.new_fragments)
    return None


def _last(dataset: lance_core.LanceDataset, count: int) -> tuple[FragmentRows, ...]:
    """The fragments with the ``count`` highest ids: a commit gives ascending ids to new ones."""
    fragments = sorted(dataset.get_fragments(), key=lambda fragment: fragment.fragment_id)
    return tuple(
        FragmentRows(fragment.fragment_id, fragment.physical_rows, stored_bytes(fragment))
        for fragment in fragments[len(fragments) - count :]
    )


def _refusal(version: int, name: str, changes: str | None) -> UnsupportedFeatureError:
    if not name:
        what = "does not record its transaction, so its new rows are not known"
    else:
        what = f"was committed by {name}, which changes or deletes rows"
    remedy = "'skip_change_commits' skips such versions"
    if changes == "read_change_feed":
        remedy = "its changes cannot be computed; start a query from a newer version"
    elif changes is None and name in ("Delete", "Update", "Overwrite"):
        remedy = (
            "'read_change_feed' delivers inserted, updated and deleted rows (with stable row ids), "
            "'ignore_changes' delivers inserted and changed rows, 'skip_change_commits' skips such "
            "versions"
        ) + (", 'ignore_deletes' skips deletes" if name == "Delete" else "")
    return UnsupportedFeatureError(
        f"a stream delivers appended rows, and version {version} {what}. Options: {remedy}"
    )
