"""A change that meets another writer's commit is computed again, within its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.environment import Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.retry_on_conflict import (
    CONFLICT_RETRIES,
    ConflictRetries,
    retry_on_conflict,
)
from lance_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    InvalidInputError,
    RetryableCommitConflictError,
)
from tests.each_case import each_case
from tests.virtual_time import VirtualTime

RETRIES = ConflictRetries(CONFLICT_RETRIES, 30.0)


class World(VirtualTime):
    """Time passes by waiting, and by as many seconds as each attempt takes."""

    def __init__(self, lasts: float = 0.0) -> None:
        super().__init__()
        self.lasts = lasts
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        super().sleep(seconds)

    @property
    def environment(self) -> Environment:
        return replace(super().environment, random=lambda: 1.0)


Attempt = Callable[[Snapshot, CommitOptions], int]


def losing(world: World, times: int, seen: list[tuple[int, float]]) -> Attempt:
    """Loses so many times to a writer that makes a version each time."""

    def attempt(snapshot: Snapshot, options: CommitOptions) -> int:
        seen.append((snapshot.version, options.timeout))
        world.seconds += world.lasts
        if len(seen) <= times:
            lance.write_dataset(pa.table({"i": [1]}), snapshot.root.uri, mode="append")
            raise RetryableCommitConflictError("busy")
        return snapshot.version

    return attempt


@pytest.fixture
def snapshot(uri: str) -> Snapshot:
    return lance.write_dataset(pa.table({"i": [1]}), uri).snapshot


def test_each_attempt_starts_from_the_newest_version_with_the_time_that_is_left(
    snapshot: Snapshot,
) -> None:
    world, seen = World(lasts=2.0), list[tuple[int, float]]()
    made = retry_on_conflict("update", snapshot, losing(world, 2, seen), RETRIES, world.environment)
    assert made == 3
    assert world.waits == [2.0, 4.0]  # in units of the first attempt
    assert seen == [(1, CommitOptions().timeout), (2, 26.0), (3, 20.0)]


def test_the_last_conflict_is_raised_with_the_number_of_attempts(snapshot: Snapshot) -> None:
    world = World()
    with pytest.raises(
        RetryableCommitConflictError, match="the update was given up after 3 attempts: busy"
    ):
        retry_on_conflict(
            "update", snapshot, losing(world, 9, []), ConflictRetries(2, 30.0), world.environment
        )
    assert world.waits == [0.001, 0.002]


def test_no_attempt_begins_after_the_time_is_over(snapshot: Snapshot) -> None:
    world, seen = World(lasts=20.0), list[tuple[int, float]]()
    with pytest.raises(RetryableCommitConflictError, match="2 attempts"):
        retry_on_conflict("update", snapshot, losing(world, 9, seen), RETRIES, world.environment)
    assert len(seen) == 2


@pytest.mark.parametrize(("timeout", "attempts"), [(15.0, 1), (15.5, 2)])
def test_no_attempt_waits_until_the_time_is_over(
    snapshot: Snapshot, timeout: float, attempts: int
) -> None:
    world, seen, retries = World(lasts=10.0), list[tuple[int, float]](), ConflictRetries(9, timeout)
    with pytest.raises(RetryableCommitConflictError, match=f"{attempts} attempts"):
        retry_on_conflict("update", snapshot, losing(world, 9, seen), retries, world.environment)
    assert world.waits == [5.0] * (attempts - 1)


@pytest.mark.parametrize(
    "error", [CommitConflictError("never"), CommitUnknownError("lost", "uuid", 2), ValueError("x")]
)
def test_other_errors_end_the_change(snapshot: Snapshot, error: Exception) -> None:
    calls = []

    def attempt(version: Snapshot, _: CommitOptions) -> None:
        calls.append(version)
        raise error

    with pytest.raises(type(error)) as raised:
        retry_on_conflict("update", snapshot, attempt, RETRIES)
    assert raised.value is error
    assert len(calls) == 1


@each_case(("retries", "timeout"), [(-1, None), (1.5, None), (1, timedelta(seconds=-1)), (1, 30)])
def test_limits_that_make_no_sense_are_refused(retries: int, timeout: timedelta | None) -> None:
    with pytest.raises(InvalidInputError):
        ConflictRetries.of(retries, timeout)


def test_the_default_timeout_is_that_of_none() -> None:
    assert ConflictRetries.of(3, None) == ConflictRetries(3, 30.0)
    assert ConflictRetries.of(0, timedelta(0)) == ConflictRetries(0, 0.0)
