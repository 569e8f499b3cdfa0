"""A writer that was stopped for longer than an attempt may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import DEADLINE, DEADLINE_KEY, CommitOptions, deadline_of
from lance_core.commits.resolve import resolve
from lance_core.errors import CommitUnknownError, RetryableCommitConflictError
from lance_core.store.base import ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import manifest_path
from lance_core.table.transactions.operations import Overwrite
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import IMPATIENT, SCHEMA, append, creation, history
from tests.each_case import each_case


class Clock:
    """A clock that stands still until it is moved; ``skew``: the wall clock alone notices."""

    def __init__(self, wall_only: bool = False) -> None:
        self.now = 1000.0
        self.wall_only = wall_only

    @property
    def world(self):
        return replace(
            IMPATIENT,
            monotonic=lambda: 0.0 if self.wall_only else self.now,
            clock=lambda: int(self.now * 1e9),
        )


class Stopped(PutIfAbsentCommitHandler):
    """The process is stopped just before its first conditional write; ``meanwhile`` happens."""

    def __init__(self, store: ObjectStore, clock: Clock, meanwhile: Callable[[], None]) -> None:
        super().__init__(store)
        self.clock = clock
        self.meanwhile: Callable[[], None] | None = meanwhile

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            self.clock.now += DEADLINE + 1
            meanwhile()
        return super().commit(candidate)


def commit(store: ObjectStore, transaction: Transaction) -> None:
    commit_transaction(PutIfAbsentCommitHandler(store), store, transaction, environment=IMPATIENT)


@pytest.fixture
def store() -> ObjectStore:
    store = MemoryStore()
    commit(store, creation())
    return store


def others_go_on_and_clean_up(store: ObjectStore) -> None:
    for version in (1, 2, 3):
        commit(store, append(version))
    for version in (1, 2, 3):
        store.delete(manifest_path(version))


@pytest.mark.parametrize("wall_only", [False, True])
def test_a_version_in_a_gap_of_the_history_is_not_acknowledged(
    store: ObjectStore, wall_only: bool
) -> None:
    clock = Clock(wall_only)
    handler = Stopped(store, clock, lambda: others_go_on_and_clean_up(store))
    transaction = append(1)
    with pytest.raises(CommitUnknownError) as unknown:
        commit_transaction(handler, store, transaction, environment=clock.world)
    assert unknown.value.stalled
    assert (unknown.value.transaction_uuid, unknown.value.version) == (transaction.uuid, 2)
    with pytest.raises(CommitUnknownError):
        resolve(handler, store, unknown.value)


def test_a_stopped_writer_that_nobody_overtook_has_committed(store: ObjectStore) -> None:
    clock = Clock()
    handler = Stopped(store, clock, lambda: None)
    made = commit_transaction(handler, store, append(1), environment=clock.world)
    assert made.location.version == 2


def test_a_late_version_that_others_have_built_upon_is_acknowledged(store: ObjectStore) -> None:
    clock = Clock()

    class Followed(Stopped):
        def commit(self, candidate: Candidate) -> ManifestLocation:
            location = super().commit(candidate)
            commit(self.store, append(2))
            return location

    handler = Followed(store, clock, lambda: None)
    made = commit_transaction(handler, store, append(1), environment=clock.world)
    assert made.location.version == 2


def test_a_late_version_that_was_overwritten_since_is_unknown(store: ObjectStore) -> None:
    """None of its files is in the newest version, so nothing shows that it was ever built upon."""
    clock = Clock()

    class Overwritten(Stopped):
        def commit(self, candidate: Candidate) -> ManifestLocation:
            location = super().commit(candidate)
            overwrite = Overwrite((), SCHEMA)
            commit(self.store, replace(creation(), read_version=2, operation=overwrite))
            return location

    transaction = append(1)
    handler = Overwritten(store, clock, lambda: None)
    with pytest.raises(CommitUnknownError):
        commit_transaction(handler, store, transaction, environment=clock.world)
    assert f"_transactions/{transaction.file_name}" in list_paths(store)


def test_what_was_seen_too_long_ago_is_not_built_upon(store: ObjectStore) -> None:
    """Stopped before anything was sent: the writer looks again, and nothing is lost."""
    clock = Clock()

    class Slow(MemoryStore):
        stopped = False

    class SlowPuts(PutIfAbsentCommitHandler):
        def latest(self) -> ManifestLocation | None:
            found = super().latest()
            if not Slow.stopped:
                Slow.stopped = True
                clock.now += DEADLINE + 1
                others_go_on_and_clean_up(store)
            return found

    transaction = append(1)
    with pytest.raises(Exception, match=r"for version 2: .* whose transaction is not known"):
        commit_transaction(SlowPuts(store), store, transaction, environment=clock.world)
    assert transaction.uuid not in history(PutIfAbsentCommitHandler(store), store)


@each_case(
    ("said", "seconds"),
    [("30", 30.0), ("0.5", 1.0), ("0", DEADLINE), ("-1", DEADLINE), ("nan", DEADLINE), ("x", 600)],
)
def test_the_table_says_how_long_an_attempt_may_take(said: str, seconds: float) -> None:
    assert deadline_of({DEADLINE_KEY: said}) == seconds
    assert deadline_of({DEADLINE_KEY: said}, CommitOptions(deadline=7.0)) == 7.0
    assert deadline_of({}) == DEADLINE


def test_a_deadline_that_no_attempt_keeps_is_named(store: ObjectStore) -> None:
    handler = PutIfAbsentCommitHandler(store)
    options = CommitOptions(deadline=1e-9, max_retries=1)
    with pytest.raises(RetryableCommitConflictError, match=DEADLINE_KEY):
        commit_transaction(handler, store, append(1), None, options, IMPATIENT)
    assert len(history(handler, store)) == 1
