"""`LanceDataset.delete`: mark the rows that satisfy a predicate as deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write import deletions
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.deletions import Deletions
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.dataset.write.retry_on_conflict import ConflictRetries, retry_on_conflict
from lance_core.lazy_dataclass import replace
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.operations import Delete

if TYPE_CHECKING:
    import pyarrow.compute as pc


class DeleteResult(TypedDict):
    """The result of a delete."""

    num_deleted_rows: int


def delete(
    snapshot: Snapshot,
    predicate: str | pc.Expression,
    retries: ConflictRetries,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, DeleteResult]:
    """Delete the rows of ``snapshot`` that satisfy ``predicate``, and commit the deletion.

    Rows with the result NULL stay. Returns the new version, which is committed even if no row
    matches. If another writer has changed the same rows, the predicate is evaluated again on the
    newest version. Raises `InvalidInputError` and `UnsupportedFeatureError` for an invalid
    predicate, and the errors of `commit_transaction`; after all but `CommitUnknownError` the
    written files are removed.
    """

    def attempt(version: Snapshot, options: CommitOptions) -> tuple[Snapshot, DeleteResult]:
        return _Delete(version, predicate, environment).run(options)

    return retry_on_conflict("delete", snapshot, attempt, retries, environment)


class _Delete:
    """One attempt of a delete, based on one version."""

    def __init__(
        self, snapshot: Snapshot, predicate: str | pc.Expression, environment: Environment
    ) -> None:
        check_writable(snapshot.manifest.flags)
        self._snapshot = snapshot
        self._predicate = predicate
        self._environment = environment
        self._plan = deletions.plan_of(snapshot, predicate)

    def run(self, options: CommitOptions) -> tuple[Snapshot, DeleteResult]:
        self._snapshot.root.check_can_commit()
        whole = deletions.constant(self._plan)
        if whole is None:
            rows = deletions.find(self._snapshot, self._plan)
            options = replace(options, age_of_files=self._environment.stopwatch())
            written = deletions.write_deletions(self._snapshot, rows, self._environment)
            count = sum(map(len, rows.values()))
            operation = Delete(written.updated, written.removed, self._text, affected_rows=rows)
        else:
            # No rows were evaluated, so there are no offsets to merge with a concurrent change.
            removed = self._snapshot.manifest.fragments.ids if whole else ()
            count = self._snapshot.num_rows if whole else 0
            written = Deletions((), tuple(removed))
            operation = Delete((), written.removed, self._text)
        return self._committed(operation, written, options), {"num_deleted_rows": count}

    @property
    def _text(self) -> str:
        return str(self._predicate)

    def _committed(self, operation: Delete, written: Deletions, options: CommitOptions) -> Snapshot:
        snapshot = self._snapshot
        transaction = new_transaction(snapshot, operation, self._environment)
        with discard_on_failure(snapshot.root) as files:
            files.deletions += written.updated
            return files.commit(snapshot, transaction, options)
