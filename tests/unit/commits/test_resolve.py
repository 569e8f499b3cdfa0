"""Finding out what became of a commit whose outcome was unknown."""

from __future__ import annotations

import pickle

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.loop import commit_transaction
from lance_core.commits.resolve import resolve
from lance_core.errors import CommitUnknownError
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import manifest_path
from lance_core_testing.sample_transactions import IMPATIENT, append, creation
from lance_core_testing.stores.faulty import (
    FaultRule,
    FaultyStore,
    LandsLate,
    Refused,
    ResponseLost,
)
from lance_core_testing.stores.tracing import TracingStore


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    commit(store, creation())
    return store


def commit(store, transaction):
    return commit_transaction(
        PutIfAbsentCommitHandler(store), store, transaction, environment=IMPATIENT
    )


def unknown_commit(
    store: MemoryStore, transaction, fault
) -> tuple[CommitUnknownError, FaultyStore]:
    faulty = FaultyStore(store)
    handler = PutIfAbsentCommitHandler(faulty)
    rules = [
        FaultRule(fault, "put", "_versions/*"),
        FaultRule(Refused(), "head", "_versions/*"),
        FaultRule(Refused(), "get", manifest_path(transaction.read_version + 1)),
    ]
    latest = handler.latest
    handler.latest = lambda: (latest(), faulty.set_rules(rules))[0]  # type: ignore[method-assign]
    with pytest.raises(CommitUnknownError) as caught:
        commit_transaction(handler, faulty, transaction, environment=IMPATIENT)
    return pickle.loads(pickle.dumps(caught.value)), faulty


def test_a_commit_that_was_applied_is_found(store: MemoryStore) -> None:
    transaction = append(1)
    unknown, _ = unknown_commit(store, transaction, ResponseLost())
    for version in (2, 3):
        commit(store, append(version))
    found = resolve(PutIfAbsentCommitHandler(store), store, unknown)
    assert found is not None
    assert found.location.version == 2


def test_a_commit_that_may_still_land_stays_unknown_until_it_has(store: MemoryStore) -> None:
    unknown, faulty = unknown_commit(store, append(1), LandsLate())
    handler = PutIfAbsentCommitHandler(store)
    with pytest.raises(CommitUnknownError):
        resolve(handler, store, unknown)
    faulty.land()
    found = resolve(handler, store, unknown)
    assert found is not None
    assert found.location.version == 2


def test_a_commit_whose_version_another_took_was_not_applied(store: MemoryStore) -> None:
    unknown, faulty = unknown_commit(store, append(1), LandsLate())
    commit(store, append(1))
    handler = PutIfAbsentCommitHandler(store)
    assert resolve(handler, store, unknown) is None
    faulty.land()
    assert resolve(handler, store, unknown) is None


def test_a_commit_that_was_sent_again_is_found_where_it_landed(store: MemoryStore) -> None:
    transaction = append(1)
    unknown, _ = unknown_commit(store, transaction, LandsLate())
    commit(store, append(1))
    commit(store, transaction)
    found = resolve(PutIfAbsentCommitHandler(store), store, unknown)
    assert found is not None
    assert found.location.version == 3


@pytest.mark.parametrize("damage", ["removed", "unreadable"])
def test_a_version_that_cannot_be_read_any_more_stays_unknown(store, damage: str) -> None:
    unknown, _ = unknown_commit(store, append(1), ResponseLost())
    commit(store, append(2))
    if damage == "removed":
        store.delete(manifest_path(2))
    else:
        store.put(manifest_path(2), b"garbage")
    with pytest.raises(CommitUnknownError):
        resolve(PutIfAbsentCommitHandler(store), store, unknown)


def test_versions_that_are_not_there_are_not_looked_for_one_by_one(store: MemoryStore) -> None:
    """The newest version of a hostile table can have any number."""
    unknown, _ = unknown_commit(store, append(1), LandsLate())
    store.put(manifest_path(1 << 62), bytes(store.get(manifest_path(1))))
    tracing = TracingStore(store)
    with pytest.raises(CommitUnknownError):
        resolve(PutIfAbsentCommitHandler(tracing), tracing, unknown)
    assert tracing.trace.round_trips < 20


@pytest.mark.parametrize("method", ["list*", "get", "head"])
def test_while_the_store_refuses_every_look_the_outcome_stays_unknown(
    store: MemoryStore, method: str
) -> None:
    unknown, faulty = unknown_commit(store, append(1), ResponseLost())
    commit(store, append(2))
    faulty.set_rules([FaultRule(Refused(), method, "_versions*")])
    with pytest.raises(CommitUnknownError) as again:
        resolve(PutIfAbsentCommitHandler(faulty), faulty, unknown)
    assert again.value is unknown
    faulty.set_rules([])
    found = resolve(PutIfAbsentCommitHandler(faulty), faulty, unknown)
    assert found is not None
    assert found.location.version == 2
