"""Run a merge: join, decide, write, commit; again on the newest version after a conflict."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import pyarrow as pa

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.read.projection import ROW_ADDRESS
from lance_core.dataset.read.scan import scan_batches
from lance_core.dataset.read.scan_options import ScanOptions, plan_scan
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write import deletions
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.dataset.write.merge_insert.decide import Decision, UpdateCondition, decide
from lance_core.dataset.write.merge_insert.inserted_keys import InsertedKeys
from lance_core.dataset.write.merge_insert.keys import KeyIndex
from lance_core.dataset.write.merge_insert.new_values import NewValues
from lance_core.dataset.write.merge_insert.plan import MergePlan
from lance_core.dataset.write.merge_insert.source import Source
from lance_core.dataset.write.merge_insert.spill import SpilledRows, TemporaryFolder
from lance_core.dataset.write.merge_insert.target import (
    Addresses,
    Matches,
    addresses_of,
    by_fragment,
    find_keys,
    ids_at,
)
from lance_core.dataset.write.retry_on_conflict import retry_on_conflict
from lance_core.dataset.write.row_rewrite import move_rows, write_rows
from lance_core.lazy_dataclass import dataclass
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.transaction import Transaction


class MergeResult(TypedDict):
    """The result of a merge."""

    num_inserted_rows: int
    num_updated_rows: int
    num_deleted_rows: int


@dataclass(frozen=True, slots=True)
class MergeWork:
    """A merge that has written its files: the transaction to commit, and its result."""

    transaction: Transaction
    inserted: InsertedKeys | None
    result: MergeResult


def merge(
    snapshot: Snapshot,
    plan: MergePlan,
    source: Source,
    folder: TemporaryFolder,
    budget: float,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, MergeResult]:
    """Merge ``source`` into the table, and commit a new version, even without any change.

    Raises `MergeError` for matches that must not be, the errors of writing, and those of
    `commit_transaction`; after all but `CommitUnknownError` the written files are removed.
    """

    def attempt(version: Snapshot, options: CommitOptions) -> tuple[Snapshot, MergeResult]:
        join = Join(version, plan, source, folder, budget)
        with discard_on_failure(version.root) as files:
            options = dataclasses.replace(options, age_of_files=environment.stopwatch())
            work = write_merge(join, files, environment)
            if work.inserted is not None:
                options = dataclasses.replace(options, check_base=work.inserted.check)
            return files.commit(version, work.transaction, options), work.result

    return retry_on_conflict("merge insert", snapshot, attempt, plan.retries, environment)


def write_merge(join: Join, files: NewFiles, environment: Environment = SYSTEM) -> MergeWork:
    """Decide about all rows, and write the files of the new version."""
    snapshot, plan = join.snapshot, join.plan
    check_writable(snapshot.manifest.flags)
    decisions = list(join.decisions())
    unmatched = join.unmatched(decisions)
    batches = NewValues(snapshot, join.source).batches(decisions)
    new = write_rows(snapshot, files, batches, version=plan.version)
    updates = np.concatenate([one.updates for one in decisions])
    deletes = np.concatenate([unmatched, *(one.deletes for one in decisions)])
    row_ids = ids_at(snapshot, updates) if snapshot.manifest.uses_stable_row_ids else None
    rows = by_fragment(np.concatenate([updates, deletes]))
    operation = move_rows(snapshot, files, rows, new, row_ids=row_ids, environment=environment)
    inserted = None
    if plan.inserts:
        inserted = InsertedKeys(snapshot, plan.on, join.source, decisions)
    operation = dataclasses.replace(
        operation,
        fields_for_preserving_frag_bitmap=_preserved_fields(snapshot, plan),
        inserted_rows=InsertedKeys(snapshot, plan.on, join.source, decisions).filter(),
    )
    result = MergeResult(
        num_inserted_rows=sum(len(one.inserts) for one in decisions),
        num_updated_rows=len(updates),
        num_deleted_rows=len(deletes),
    )
    name = str(environment.new_uuid())
    return MergeWork(Transaction(snapshot.version, name, operation), inserted, result)


def _preserved_fields(snapshot: Snapshot, plan: MergePlan) -> tuple[int, ...]:
    """Ids of fields whose indices stay valid: a moved row keeps its id."""
    if plan.updates or plan.inserts:
        return tuple(snapshot.schema.field_ids)
    return tuple(field.id for field in snapshot.schema.fields)


class Join:
    """The join of a source with one version of the table."""

    def __init__(
        self,
        snapshot: Snapshot,
        plan: MergePlan,
        source: Source,
        folder: TemporaryFolder,
        budget: float,
    ) -> None:
        """Raises `MergeError` and `InvalidInputError` for invalid conditions."""
        self.snapshot, self.plan, self.source = snapshot, plan, source
        self._folder, self._budget = folder, budget
        self._condition = None
        if plan.condition is not None:
            schema = source.part(0).schema
            self._condition = UpdateCondition(snapshot, schema, plan.condition)
        self._unmatched = None
        if plan.deletes_unmatched:
            condition = plan.unmatched_condition
            self._unmatched = deletions.plan_of(
                snapshot, "true" if condition is None else condition
            )

    def decisions(self) -> Iterator[Decision]:
        """The decisions about each part of the source."""
        spilled = None if self.source.spilled is None else self._spilled_keys()
        for number in range(self.source.num_parts):
            rows = self.source.part(number)
            index = KeyIndex(rows.select(list(self.plan.on)).columns)
            if spilled is None:
                matches = find_keys(self.snapshot, self.plan.on, index)
            else:
                matches = _matches(index, spilled.part(number))
            yield decide(self.plan, rows, index, matches, self._condition)

    def unmatched(self, decisions: list[Decision]) -> Addresses:
        """The addresses of the target rows to delete because the source does not have their key."""
        none = np.empty(0, np.uint64)
        if self._unmatched is None or deletions.constant(self._unmatched) is False:
            return none
        rows = addresses_of(deletions.find(self.snapshot, self._unmatched))
        matched = np.concatenate([none, *(one.matched for one in decisions)])
        return np.setdiff1d(rows, matched, assume_unique=True)

    def _spilled_keys(self) -> SpilledRows:
        """The keys and addresses of all target rows, in the same partitions as the source."""
        names = list(self.plan.on)
        options = ScanOptions(columns=names, with_row_address=True)
        scan = plan_scan(self.snapshot, options)
        arrow = scan.projection.schema.remove_metadata()
        name = f"target-{self.snapshot.version}"
        with SpilledRows(self._folder, name, arrow, self.plan.on, self._budget) as spilled:
            for batch in scan_batches(self.snapshot, scan):
                spilled.write(pa.Table.from_batches([batch], arrow))
        return spilled


def _matches(index: KeyIndex, target: pa.Table) -> Matches:
    """The rows of a partition of the target whose key is in ``index``."""
    found = index.find(target.columns[:-1])
    addresses = target.column(ROW_ADDRESS).to_numpy()
    return Matches(addresses[found.rows], found.members)
