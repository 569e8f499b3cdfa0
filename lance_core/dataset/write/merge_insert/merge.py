"""Run a merge: join, decide, write, commit; again on the newest version after a conflict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.dataset.write.merge_insert.decide import Decision
from lance_core.dataset.write.merge_insert.inserted_keys import InsertedKeys
from lance_core.dataset.write.merge_insert.join import Join
from lance_core.dataset.write.merge_insert.new_columns import NewColumns
from lance_core.dataset.write.merge_insert.new_values import NewValues
from lance_core.dataset.write.merge_insert.plan import Matched, MergePlan, WriteMode
from lance_core.dataset.write.merge_insert.source import Source
from lance_core.dataset.write.merge_insert.target import (
    by_fragment,
    ids_at,
)
from lance_core.dataset.write.retry_on_conflict import retry_on_conflict
from lance_core.dataset.write.row_rewrite import move_rows, write_rows
from lance_core.errors import PluginError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.store.temporary_folder import TemporaryFolder
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.operations import Update
from lance_core.table.transactions.transaction import Transaction


class ExecuteResult(TypedDict):
    """The result of a merge."""

    num_inserted_rows: int
    num_updated_rows: int
    num_deleted_rows: int


@dataclass(frozen=True, slots=True)
class MergeWork:
    """A merge that has written its files: the transaction to commit, and its result."""

    transaction: Transaction
    inserted: InsertedKeys | None
    result: ExecuteResult


def merge(
    snapshot: Snapshot,
    plan: MergePlan,
    source: Source,
    folder: TemporaryFolder,
    budget: float,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, ExecuteResult]:
    """Merge ``source`` into the table, and commit a new version, even without any change.

    Raises `MergeError` for matches that must not be, the errors of writing, and those of
    `commit_transaction`; after all but `CommitUnknownError` the written files are removed.
    """

    def attempt(version: Snapshot, options: CommitOptions) -> tuple[Snapshot, ExecuteResult]:
        version.root.check_can_commit()
        join = Join(version, plan, source.for_table(version.schema, plan), folder, budget)
        with discard_on_failure(version.root) as files:
            age, is_committed = environment.stopwatch(), plan.is_committed
            options = replace(options, age_of_files=age, is_committed=is_committed)
            work = write_merge(join, files, environment)
            if work.inserted is not None:
                options = replace(options, check_base=work.inserted.check)
            return files.commit(version, work.transaction, options), work.result

    return retry_on_conflict("merge insert", snapshot, attempt, plan.retries, environment)


def write_merge(join: Join, files: NewFiles, environment: Environment = SYSTEM) -> MergeWork:
    """Decide about all rows, and write the files of the new version."""
    snapshot, plan = join.snapshot, join.plan
    check_writable(snapshot.manifest.flags)
    try:
        decisions = list(join.decisions())
        unmatched = join.unmatched(decisions)
        inserted = InsertedKeys(snapshot, plan.on, join.source, decisions)
    except PluginError as error:  # of a kernel that searches keys, unless it names a file
        raise error.at(field="" if error.path else ", ".join(plan.on)) from error
    if plan.write_mode is WriteMode.REWRITE_COLUMNS:
        operation = NewColumns(join, files, decisions).write()
        return _work(join, operation, decisions, inserted, 0, environment)
    batches = NewValues(snapshot, join.source).batches(decisions)
    targets = plan.bases.targets_of(snapshot)
    new = write_rows(snapshot, files, batches, version=plan.version, targets=targets)
    updates = np.concatenate([decision.updates for decision in decisions])
    deletes = np.concatenate([unmatched, *(decision.deletes for decision in decisions)])
    row_ids = ids_at(snapshot, updates) if snapshot.manifest.uses_stable_row_ids else None
    rows = by_fragment(np.concatenate([updates, deletes]))
    moved = move_rows(snapshot, files, rows, new, row_ids=row_ids, environment=environment)
    operation = replace(
        moved,
        fields_for_preserving_frag_bitmap=_modified_fields(join),
        inserted_rows=inserted.filter(),
    )
    return _work(join, operation, decisions, inserted, len(deletes), environment)


def _work(
    join: Join,
    operation: Update,
    decisions: Sequence[Decision],
    inserted: InsertedKeys,
    num_deleted: int,
    environment: Environment,
) -> MergeWork:
    result = ExecuteResult(
        num_inserted_rows=sum(len(decision.inserts) for decision in decisions),
        num_updated_rows=sum(len(decision.updates) for decision in decisions),
        num_deleted_rows=num_deleted,
    )
    properties = join.plan.properties
    transaction = new_transaction(join.snapshot, operation, environment, properties)
    return MergeWork(transaction, inserted if join.plan.inserts else None, result)


def _modified_fields(join: Join) -> tuple[int, ...]:
    """Ids of the fields that may have new values in moved rows."""
    schema = join.snapshot.schema
    if join.plan.matched is Matched.DELETE and not join.plan.inserts:
        return tuple(field.id for field in schema.fields)
    return tuple(schema.field_ids)
