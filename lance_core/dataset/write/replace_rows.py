"""`LanceDataset.replace_rows`: delete the rows that satisfy a condition, and add written ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.history import Version
from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.transaction import Transaction
from lance_core.dataset.write import deletions
from lance_core.dataset.write.delete import DeleteResult
from lance_core.dataset.write.deletions import Deletions
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.dataset.write.schema_evolution.column_files import plan_of_fragments
from lance_core.errors import RetryableCommitConflictError
from lance_core.lazy_dataclass import replace
from lance_core.schema.lance_schema import stored_schema
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.manifest.manifest_draft import max_fragment_id
from lance_core.table.transactions.operations import Append, Merge, Update

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.schema import LanceSchema, Schema
    from lance_core.table.transactions.transaction import Transaction as StoredTransaction


def replace_rows(
    snapshot: Snapshot,
    predicate: str | pc.Expression,
    new: Transaction,
    options: CommitOptions,
    schema: LanceSchema | None = None,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, DeleteResult]:
    """Commit the rows that ``new`` appends, and the deletion of those that satisfy ``predicate``.

    ``schema``: that of the new version, with further columns that can be null. Raises
    `RetryableCommitConflictError` if another writer has changed the deleted rows or added rows that
    satisfy ``predicate``, and the errors of `delete`. The files of ``new`` stay after an error.
    """
    appended = new.to_stored()
    assert isinstance(appended.operation, Append)
    check_writable(snapshot.manifest.flags)
    snapshot.root.check_can_commit()
    plan = deletions.plan_of(snapshot, predicate)
    if schema is not None:
        return _with_columns(snapshot, plan, appended, stored_schema(schema), options, environment)
    whole = deletions.constant(plan)
    options = replace(options, check_base=partial(_check_added, snapshot, predicate))
    with discard_on_failure(snapshot.root) as files:
        affected: dict[int, RowOffsets] | None = None
        if whole is None:
            affected = deletions.find(snapshot, plan)
            written = deletions.write_deletions(snapshot, affected, environment)
            count = sum(map(len, affected.values()))
        else:
            written = Deletions((), tuple(snapshot.manifest.fragments.ids if whole else ()))
            count = snapshot.num_rows if whole else 0
        files.deletions += written.updated
        fragments = appended.operation.fragments
        operation = Update(written.removed, written.updated, fragments, affected_rows=affected)
        change = replace(appended, operation=operation)
        return files.commit(snapshot, change, options), {"num_deleted_rows": count}


def _with_columns(
    snapshot: Snapshot,
    plan: ScanPlan,
    appended: StoredTransaction,
    schema: Schema,
    options: CommitOptions,
    environment: Environment,
) -> tuple[Snapshot, DeleteResult]:
    """`replace_rows` as a `Merge` of all fragments: any other change of rows conflicts with it."""
    rows = deletions.find(snapshot, plan)
    assert isinstance(appended.operation, Append)
    with discard_on_failure(snapshot.root) as files:
        written = deletions.write_deletions(snapshot, rows, environment, keeps_fragments=True)
        files.deletions += written.updated
        highest = max_fragment_id(snapshot.manifest)
        first = 0 if highest is None else highest + 1
        new = [
            replace(fragment, id=id_)
            for id_, fragment in enumerate(appended.operation.fragments, first)
        ]
        changed = {fragment.id: fragment for fragment in written.updated}
        existing = [changed.get(fragment.id, fragment) for fragment in snapshot.manifest.fragments]
        change = replace(appended, operation=Merge([*existing, *new], schema, True))
        count = sum(map(len, rows.values()))
        return files.commit(snapshot, change, options), {"num_deleted_rows": count}


def _check_added(snapshot: Snapshot, predicate: str | pc.Expression, base: Version) -> None:
    """Raise `RetryableCommitConflictError` if others have added rows that satisfy ``predicate``.

    Two writers that replace the same rows must not both add theirs, even if there were no rows to
    delete, so that they touch no common fragment.
    """
    if base.file.manifest.version == snapshot.version:
        return
    newest = Snapshot(snapshot.root, base.file, base.location)
    added = list(newest.manifest.fragments.new_data_since(snapshot.manifest.fragments))
    if not added:
        return
    plan = deletions.plan_of(newest, predicate)
    if deletions.find(newest, plan_of_fragments(plan, newest, *added)):
        raise RetryableCommitConflictError(
            f"Retryable commit conflict for version {newest.version}: another writer has added "
            f"rows that satisfy the condition for the rows to replace in version "
            f"{snapshot.version}; retry on the newest version"
        )
