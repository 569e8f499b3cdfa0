"""Attempts of a commit: what they read and write, and when they end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lance_core.commits.base import ManifestLocation
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import read_version
from lance_core.commits.loop import CommitOptions, commit_transaction
from lance_core.errors import (
    CommitError,
    CommitUnknownError,
    RetryableCommitConflictError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.table.transactions.operations import Append, Overwrite
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    SCHEMA,
    append,
    creation,
)
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused, RequestLost
from lance_core_testing.stores.tracing import TracingStore
from tests.unit.commits.loop_steps import Beaten, commit, uuids


@pytest.fixture
def store() -> ObjectStore:
    return MemoryStore()


# --- retries ------------------------------------------------------------------------------------


def test_who_is_overtaken_tries_again_on_the_newest_version(store: ObjectStore) -> None:
    base = commit(store, creation())
    pauses: list[float] = []
    standing = replace(IMPATIENT, monotonic=lambda: 0.0, clock=lambda: 0)
    world = replace(standing, sleep=pauses.append, random=lambda: 1.0)
    transaction = append(1)
    made = commit_transaction(Beaten(store, 5), store, transaction, base, CommitOptions(), world)
    assert made.location.version == 7
    assert uuids(store)[6] == transaction.uuid
    assert len(set(uuids(store))) == 7
    assert pauses == [0.001, 0.002, 0.003, 0.004, 0.005]


def test_who_is_overtaken_too_often_gives_up_and_leaves_nothing(store: ObjectStore) -> None:
    base = commit(store, creation())
    transaction = append(1)
    pauses: list[float] = []
    world = replace(IMPATIENT, sleep=pauses.append)
    with pytest.raises(RetryableCommitConflictError, match="after 4 attempts"):
        commit_transaction(
            Beaten(store, 99), store, transaction, base, CommitOptions(max_retries=3), world
        )
    assert len(pauses) == 3
    assert transaction.uuid not in uuids(store)
    assert f"_transactions/{transaction.file_name}" not in list_paths(store)


def test_no_attempt_begins_after_the_time_is_up(store: ObjectStore) -> None:
    base = commit(store, creation())
    now = [0.0]

    def sleep(_: float) -> None:
        now[0] += 300.0

    world = replace(IMPATIENT, monotonic=lambda: now[0], clock=lambda: 0, sleep=sleep)
    with pytest.raises(RetryableCommitConflictError, match="after 2 attempts"):
        commit_transaction(
            Beaten(store, 99), store, append(1), base, CommitOptions(timeout=450.0), world
        )
    assert len(uuids(store)) == 3


# --- the order and number of calls --------------------------------------------------------------


def test_files_are_written_in_the_order_transaction_manifest(store: ObjectStore) -> None:
    tracing = TracingStore(store)
    commit(tracing, creation())
    written = [r.call.path for r in tracing.trace.records if r.call.method == "put"]
    assert [path.split("/")[0] for path in written] == ["_transactions", "_versions"]


def test_an_append_to_an_unchanged_table_reads_no_manifest(tmp_path) -> None:
    store = TracingStore(LocalStore(tmp_path, Durability.fast))
    commit(store, creation())
    newest = PutIfAbsentCommitHandler(store).latest()
    assert newest is not None
    base = read_version(store, newest)
    store.trace.clear()
    commit(store, append(1), base)
    assert store.trace.counts == {"list_names": 1, "head": 1, "put": 2}


def test_an_ordered_store_needs_three_calls_for_an_append(store: ObjectStore) -> None:
    tracing = TracingStore(store)
    commit(tracing, creation())
    newest = PutIfAbsentCommitHandler(tracing).latest()
    assert newest is not None
    base = read_version(tracing, newest)
    tracing.trace.clear()
    commit(tracing, append(1), base)
    assert tracing.trace.counts == {"list": 1, "put": 2}


def test_the_transaction_file_is_written_once_whatever_happens(store: ObjectStore) -> None:
    base = commit(store, creation())
    tracing = TracingStore(store)
    transaction = append(1)
    commit_transaction(Beaten(store, 3), tracing, transaction, base, environment=IMPATIENT)
    puts = [r.call.path for r in tracing.trace.records if r.call.method == "put"]
    assert puts.count(f"_transactions/{transaction.file_name}") == 1


# --- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Refused(), RequestLost()])
def test_without_a_transaction_file_nothing_is_committed(store: ObjectStore, fault) -> None:
    base = commit(store, creation())
    faulty = FaultyStore(store, [FaultRule(fault, "put", "_transactions/*")])
    with pytest.raises(CommitError) as failed:
        commit(faulty, append(1), base)
    assert not isinstance(failed.value, CommitUnknownError)
    assert len(uuids(store)) == 1


def test_an_unknown_outcome_keeps_the_transaction_file(store: ObjectStore) -> None:
    base = commit(store, creation())
    faulty = FaultyStore(store, [FaultRule(RequestLost(), "put", "_versions/*")])
    transaction = append(1)
    with pytest.raises(CommitUnknownError) as unknown:
        commit(faulty, transaction, base)
    assert unknown.value.transaction_uuid == transaction.uuid
    assert f"_transactions/{transaction.file_name}" in list_paths(store)
    assert commit(store, transaction, base).location.version == 2


def test_what_cannot_be_applied_leaves_nothing(store: ObjectStore) -> None:
    base = commit(store, creation())
    before = list_paths(store)
    fragment = replace(append(1).operation.fragments[0], id=0, files=())
    twice = replace(append(1), operation=Append((replace(fragment, id=5), replace(fragment, id=5))))
    with pytest.raises(ValueError, match="same id"):
        commit(store, twice, base)
    assert list_paths(store) == before


def test_nothing_but_the_surroundings_tells_the_time(store: ObjectStore) -> None:
    world = replace(IMPATIENT, clock=lambda: 1_700_000_000_000_000_123)
    made = commit(store, Transaction(0, "u", Overwrite((), SCHEMA)), world=world)
    assert made.file.manifest.timestamp_ns == 1_700_000_000_000_000_123


class SeesNothing(PutIfAbsentCommitHandler):
    """Finds no version after ``last``."""

    last = 0

    def latest(self) -> ManifestLocation | None:
        newest = super().latest()
        return newest if newest is None or newest.version <= self.last else self._older()

    def _older(self) -> ManifestLocation | None:
        return self.locate(self.last) if self.last else None


class SeesTheFirst(SeesNothing):
    last = 1


@pytest.mark.parametrize(
    ("kind", "transaction", "seen"),
    [
        (SeesNothing, creation(), r"version 1 exists.* None, that there is no table"),
        (SeesTheFirst, append(1), r"version 2 exists.* gives version 1"),
    ],
)
def test_a_handler_whose_latest_misses_versions_is_blamed_at_once(
    store: ObjectStore, kind: type[SeesNothing], transaction: Transaction, seen: str
) -> None:
    commit(store, creation())
    commit(store, append(1))
    pauses: list[float] = []
    world = replace(IMPATIENT, sleep=pauses.append)
    with pytest.raises(CommitError, match=rf"not committed: {seen}") as caught:
        commit_transaction(kind(store), store, transaction, environment=world)
    assert kind.__name__ in str(caught.value)
    assert len(pauses) == 2
    assert len(uuids(store)) == 2
    assert not [path for path in list_paths(store) if transaction.uuid in path]
