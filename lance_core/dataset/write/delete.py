"""`LanceDataset.delete`: mark the rows that fulfil a condition as deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write import deletions
from lance_core.dataset.write.commit import CommitOptions, commit
from lance_core.dataset.write.deletions import Deletions
from lance_core.errors import (
    CommitUnknownError,
    InvalidInputError,
    LanceError,
    RetryableCommitConflictError,
)
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.operations import Delete
from lance_core.table.transactions.transaction import Transaction

if TYPE_CHECKING:
    import pyarrow.compute as pc

CONFLICT_RETRIES = 10
RETRY_TIMEOUT = timedelta(seconds=30)

_SHORTEST_PAUSE = 0.001
_LONGEST_PAUSE = 5.0
"""Seconds; the bounds of what a writer waits, at most, after meeting another."""


class DeleteResult(TypedDict):
    """What became of a delete."""

    num_deleted_rows: int


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a change is computed again on a newer version, and for how long.

    ``timeout`` in seconds; the first attempt may take longer.
    """

    most: int
    timeout: float

    @classmethod
    def of(cls, conflict_retries: int, retry_timeout: timedelta | None) -> Retries:
        """Out of pylance's arguments; a timeout of None is the default."""
        if not isinstance(conflict_retries, int) or conflict_retries < 0:
            raise InvalidInputError(
                f"conflict_retries must be a whole number from 0 on, got {conflict_retries!r}"
            )
        timeout = RETRY_TIMEOUT if retry_timeout is None else retry_timeout
        if not isinstance(timeout, timedelta) or timeout < timedelta(0):
            raise InvalidInputError(f"retry_timeout must be a timedelta from 0 on, got {timeout!r}")
        return cls(conflict_retries, timeout.total_seconds())


def delete(
    snapshot: Snapshot,
    predicate: str | pc.Expression,
    retries: Retries,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, DeleteResult]:
    """Commit that the rows of ``snapshot`` that fulfil ``predicate`` are deleted.

    Rows where it is NULL stay. Returns the new version; there is one even if no row was found.
    When another writer has changed the same rows, the condition is evaluated again on the newest
    version. Raises `InvalidInputError` and `UnsupportedFeatureError` for what is not a condition,
    and as `commit_transaction`; unless that is `CommitUnknownError`, nothing is left behind.
    """
    started = environment.monotonic()
    unit = _SHORTEST_PAUSE
    attempt = 0
    while True:
        passed = environment.monotonic() - started
        options = CommitOptions()
        if attempt:
            options = CommitOptions(timeout=max(0.0, retries.timeout - passed))
        try:
            return _Delete(snapshot, predicate, environment).run(options)
        except RetryableCommitConflictError as error:
            passed = environment.monotonic() - started
            if attempt == 0:
                unit = max(passed, unit)
            longest = min(unit * 2 ** min(attempt, 32), _LONGEST_PAUSE)
            pause = longest * environment.random()
            if attempt >= retries.most or passed + pause >= retries.timeout:
                raise RetryableCommitConflictError(
                    f"the delete was given up after {attempt + 1} attempts: {error}"
                ) from error
        environment.sleep(pause)
        attempt += 1
        snapshot = open_table.open_version(snapshot.root)


class _Delete:
    """One attempt, on one version."""

    def __init__(
        self, snapshot: Snapshot, predicate: str | pc.Expression, environment: Environment
    ) -> None:
        check_writable(snapshot.manifest.flags)
        self._snapshot = snapshot
        self._predicate = predicate
        self._environment = environment
        self._plan = deletions.plan_of(snapshot, predicate)

    def run(self, options: CommitOptions) -> tuple[Snapshot, DeleteResult]:
        whole = deletions.constant(self._plan)
        if whole is None:
            rows = deletions.find(self._snapshot, self._plan)
            options = replace(options, age_of_files=self._environment.stopwatch())
            written = deletions.write_deletions(self._snapshot, rows, self._environment)
            count = sum(map(len, rows.values()))
            operation = Delete(written.updated, written.removed, self._text, affected_rows=rows)
        else:
            # No row is looked at, so nothing is known that another change could be merged by.
            removed = self._snapshot.manifest.fragments.counts.ids if whole else ()
            count = self._snapshot.num_rows if whole else 0
            written = Deletions((), tuple(removed))
            operation = Delete((), written.removed, self._text)
        return self._committed(operation, written, options), {"num_deleted_rows": count}

    @property
    def _text(self) -> str:
        return str(self._predicate)

    def _committed(self, operation: Delete, written: Deletions, options: CommitOptions) -> Snapshot:
        snapshot = self._snapshot
        name = str(self._environment.new_uuid())
        transaction = Transaction(snapshot.version, name, operation)
        try:
            made = commit(snapshot.root, snapshot, transaction, options)
        except CommitUnknownError:
            raise  # The files may be part of a version.
        except LanceError:
            deletions.discard(snapshot.root, written.updated)
            raise
        deletions.discard(snapshot.root, _superseded(written, made))
        return made


def _superseded(written: Deletions, made: Snapshot) -> Iterator[Fragment]:
    """Of the written fragments those in whose place merging with other deletions has put others."""
    for fragment in written.updated:
        current = made.manifest.fragments.by_id(fragment.id)
        if current is None or current.deletion_file != fragment.deletion_file:
            yield fragment
