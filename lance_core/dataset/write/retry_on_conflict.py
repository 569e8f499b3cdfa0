"""Compute a change again on the newest version after a conflict with another writer's commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.loop import MAX_PAUSE, MIN_PAUSE
from lance_core.commits.options import CommitOptions
from lance_core.concurrency.backoff import backoff
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import InvalidInputError, RetryableCommitConflictError
from lance_core.lazy_dataclass import dataclass

T = TypeVar("T")

CONFLICT_RETRIES = 10
RETRY_TIMEOUT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class ConflictRetries:
    """Limits for computing a change again on a newer version.

    ``timeout``: seconds after which no further attempt starts; the first attempt may take longer.
    """

    max_retries: int
    timeout: float

    @classmethod
    def of(cls, conflict_retries: int, retry_timeout: timedelta | None) -> ConflictRetries:
        """The limits from pylance's arguments; a timeout of None is the default.

        Raises `InvalidInputError` for negative or other values.
        """
        if not isinstance(conflict_retries, int) or conflict_retries < 0:
            raise InvalidInputError(
                f"conflict_retries must be a whole number from 0 on, got {conflict_retries!r}"
            )
        timeout = RETRY_TIMEOUT if retry_timeout is None else retry_timeout
        if not isinstance(timeout, timedelta) or timeout < timedelta(0):
            raise InvalidInputError(f"retry_timeout must be a timedelta from 0 on, got {timeout!r}")
        return cls(conflict_retries, timeout.total_seconds())


def retry_on_conflict(
    verb: str,
    snapshot: Snapshot,
    attempt: Callable[[Snapshot, CommitOptions], T],
    retries: ConflictRetries,
    environment: Environment = SYSTEM,
    may_follow: Callable[[Snapshot], bool] = lambda _: True,
) -> T:
    """Call ``attempt``, which computes and commits a change of a version; return its result.

    The first call gets ``snapshot``. After a `RetryableCommitConflictError` the next call gets the
    newest version; a failed ``attempt`` must have removed its files (see `discard_on_failure`). The
    pauses between calls are multiples of the first attempt's duration. Other errors propagate, and
    so does the conflict if ``may_follow`` returns False for the newest version. ``verb`` names the
    change in the error after the last retry.
    """
    started = environment.monotonic()
    options = CommitOptions()
    unit = MIN_PAUSE
    attempts = 0
    while True:
        try:
            return attempt(snapshot, options)
        except RetryableCommitConflictError as error:
            attempts += 1
            passed = environment.monotonic() - started
            if attempts == 1:
                unit = max(passed, unit)
            pause = backoff(attempts, unit, MAX_PAUSE, environment.random)
            if attempts > retries.max_retries or passed + pause >= retries.timeout:
                raise RetryableCommitConflictError(
                    f"the {verb} was given up after {attempts} attempts: {error}"
                ) from error
            environment.sleep(pause)
            snapshot = open_table.open_version(snapshot.root)
            if not may_follow(snapshot):
                raise
        passed = environment.monotonic() - started
        options = CommitOptions(timeout=max(0.0, retries.timeout - passed))
