"""Committing under a lock that the caller brings along."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import pytest

from lance_core.commits.environment import Environment
from lance_core.commits.handlers.exclusive import SENDINGS, ExclusiveWriter
from lance_core.commits.handlers.lock import LockCommitHandler, locked
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CommitConflictError,
    CommitLockError,
    CommitUnknownError,
    NoSafeCommitHandlerError,
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import Guarantee, ObjectStore, StoreCapabilities
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.capability_override import DeclaredStore
from lance_core_testing.sample_transactions import IMPATIENT, creation, first_candidate, history
from lance_core_testing.stores.faulty import (
    Fault,
    FaultRule,
    FaultyStore,
    LandsLate,
    Refused,
    RequestLost,
    ResponseLost,
)
from lance_core_testing.stores.tracing import TracingStore
from tests.each_case import each_case
from tests.virtual_time import VirtualTime

PLAIN = StoreCapabilities(strong_reads=Guarantee.YES, put_if_absent=Guarantee.NO)


class Lock:
    """Remembers what is done to it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.is_held = False

    def __call__(self, version: int) -> Lock:
        self.calls.append(("called", version))
        return self

    def __enter__(self) -> None:
        assert not self.is_held
        self.is_held = True
        self.calls.append(("entered",))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.is_held = False
        self.calls.append(("left", kind))
        return True  # must not hide an error


@contextlib.contextmanager
def held_by_another(version: int) -> Iterator[None]:
    raise CommitConflictError(f"version {version} is being written")
    yield


def plain_store(inner: ObjectStore | None = None) -> DeclaredStore:
    """A store that knows no conditions."""
    return DeclaredStore(inner or MemoryStore(), PLAIN)


def test_the_lock_is_entered_before_the_look_and_left_after_the_write() -> None:
    lock = Lock()

    class Watched(TracingStore):
        def around(self, call: Any, run: Any) -> Any:
            assert lock.is_held
            return super().around(call, run)

    store = Watched(MemoryStore())
    candidate = first_candidate()
    LockCommitHandler(store, lock).commit(candidate)
    assert store.trace.counts == {"head": 1, "put": 1}
    assert lock.calls == [("called", 1), ("entered",), ("left", None)]
    assert bytes(store.inner.get(candidate.path)) == candidate.data


@pytest.mark.parametrize("make", [MemoryStore, plain_store])
def test_a_version_is_not_replaced_and_the_lock_is_told(make: Any) -> None:
    store, lock, first = make(), Lock(), first_candidate()
    handler = LockCommitHandler(store, lock)
    handler.commit(first)
    with pytest.raises(ObjectExistsError):
        handler.commit(first_candidate())
    assert lock.calls[-1] == ("left", ObjectExistsError)
    assert bytes(store.get(first.path)) == first.data


def test_a_lock_that_is_held_by_another_is_a_conflict() -> None:
    store = MemoryStore()
    with pytest.raises(CommitConflictError, match="version 1 is being written") as conflict:
        commit_transaction(LockCommitHandler(store, held_by_another), store, creation())
    assert not conflict.value.retryable
    assert list_paths(store) == []


@pytest.mark.parametrize("lock", [lambda version: 7, lambda version: 1 // 0])
def test_a_lock_that_fails_is_named_and_nothing_is_written(lock: Any) -> None:
    store = MemoryStore()
    with pytest.raises(CommitLockError, match="nothing was committed"):
        commit_transaction(LockCommitHandler(store, lock), store, creation())
    assert [path for path in list_paths(store) if "_versions" in path] == []


def test_a_lock_that_cannot_be_left_does_not_undo_the_commit() -> None:
    class Stuck(Lock):
        def __exit__(self, *error: object) -> bool:
            raise CommitConflictError("lost it on the way")

    store = MemoryStore()
    handler = LockCommitHandler(store, Stuck())
    with pytest.warns(UserWarning, match="leaving"), pytest.raises(OutcomeUnknownError):
        handler.commit(first_candidate())
    other = MemoryStore()
    with pytest.warns(UserWarning, match="leaving"):
        made = commit_transaction(
            LockCommitHandler(other, Stuck()), other, creation(), environment=IMPATIENT
        )
    assert made.location.version == 1


def test_an_interrupted_commit_leaves_the_lock() -> None:
    class Interrupted(MemoryStore):
        def put(self, *arguments: object) -> None:
            raise KeyboardInterrupt

    lock = Lock()
    with pytest.raises(KeyboardInterrupt):
        LockCommitHandler(Interrupted(), lock).commit(first_candidate())
    assert not lock.is_held


def test_reads_that_are_not_strong_are_refused() -> None:
    weak = DeclaredStore(MemoryStore(), StoreCapabilities(strong_reads=Guarantee.NO))
    lock = Lock()
    with pytest.raises(NoSafeCommitHandlerError, match="lock"):
        LockCommitHandler(weak, lock).commit(first_candidate())
    assert lock.calls == []


def test_the_argument_is_none_or_a_function() -> None:
    store = MemoryStore()
    own = PutIfAbsentCommitHandler(store)
    assert locked(None, store, own) is own
    assert isinstance(locked(held_by_another, store, own), LockCommitHandler)
    lock = Lock()
    locked(lock, store, own).commit(first_candidate())
    assert lock.calls[0] == ("called", 1)
    with pytest.raises(TypeError, match="commit_lock must be a function, got <class 'int'>"):
        locked(5, store, own)


# --- lost answers where nothing but the lock keeps others away ----------------------------------


def writer(store: ObjectStore, time: VirtualTime) -> ExclusiveWriter:
    return ExclusiveWriter(store, time.environment, request_lifetime=60.0)


@each_case("fault", [RequestLost(), ResponseLost(), LandsLate()])
def test_one_lost_answer_is_settled_before_the_lock_is_left(fault: Fault) -> None:
    faulty = FaultyStore(plain_store(), [FaultRule(fault, "put", nth=1)])
    time, candidate = VirtualTime(), first_candidate()
    assert writer(faulty, time).write(candidate, lambda: None) == candidate.location
    faulty.land()
    assert bytes(faulty.get(candidate.path)) == candidate.data
    assert time.seconds < 1002


@pytest.mark.parametrize("fault", [RequestLost(), LandsLate()])
def test_a_write_that_is_never_answered_is_waited_for(fault: Fault) -> None:
    """When the lock is left, what was sent has had its time: nothing lands on what comes next."""
    faulty = FaultyStore(plain_store(), [FaultRule(fault, "put")])
    time = VirtualTime()
    sent: list[float] = []
    with pytest.raises(OutcomeUnknownError, match="without an answer"):
        writer(faulty, time).write(first_candidate(), lambda: sent.append(time.seconds))
    assert len(sent) == len(faulty.injected) == SENDINGS
    assert time.seconds - sent[-1] >= 60.0


def test_what_cannot_be_seen_is_waited_for() -> None:
    rules = [FaultRule(ResponseLost(), "put"), FaultRule(Refused(), "get")]
    faulty = FaultyStore(plain_store(), rules)
    time = VirtualTime()
    with pytest.raises(OutcomeUnknownError):
        writer(faulty, time).write(first_candidate(), lambda: None)
    assert time.seconds >= 1060.0


def test_a_refused_write_is_not_waited_for() -> None:
    faulty = FaultyStore(plain_store(), [FaultRule(Refused(), "put")])
    time = VirtualTime()
    with pytest.raises(StoreError) as refused:
        writer(faulty, time).write(first_candidate(), lambda: None)
    assert not isinstance(refused.value, OutcomeUnknownError)
    assert time.seconds == 1000.0


def test_a_look_that_fails_is_a_definite_failure() -> None:
    faulty = FaultyStore(plain_store(), [FaultRule(Refused(lambda _: OSError("?")), "head")])
    with pytest.raises(StoreError, match="nothing was sent"):
        writer(faulty, VirtualTime()).write(first_candidate(), lambda: None)


def test_a_store_with_conditions_is_not_waited_for() -> None:
    """A late write cannot replace anything there; the caller looks and sends again."""
    faulty = FaultyStore(MemoryStore(), [FaultRule(LandsLate(), "put", nth=1)])
    time = VirtualTime()
    with pytest.raises(OutcomeUnknownError):
        writer(faulty, time).write(first_candidate(), lambda: None)
    assert time.seconds == 1000.0


def test_whoever_writes_without_the_lock_is_noticed() -> None:
    inner, candidate = MemoryStore(), first_candidate()
    faulty = FaultyStore(plain_store(inner), [FaultRule(RequestLost(), "put", nth=1)])
    time = VirtualTime()

    def intrude(seconds: float) -> None:
        inner.put(candidate.path, b"theirs")

    world = ExclusiveWriter(faulty, Environment(sleep=intrude), 60.0)
    with pytest.raises(ObjectExistsError):
        world.write(candidate, lambda: None)
    assert bytes(inner.get(candidate.path)) == b"theirs"
    assert time.seconds == 1000.0


def test_an_unknown_outcome_is_reported_and_committing_again_settles_it() -> None:
    faulty = FaultyStore(plain_store(), [FaultRule(RequestLost(), "put", "_versions/*")])
    time = VirtualTime()
    handler = LockCommitHandler(faulty, Lock(), time.environment)
    transaction = creation()
    with pytest.raises(CommitUnknownError):
        commit_transaction(handler, faulty, transaction, environment=time.environment)
    faulty.set_rules([])
    commit_transaction(handler, faulty, transaction, environment=time.environment)
    assert history(handler, faulty) == [transaction.uuid]
