"""Settling what became of a candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.outcome import SENDINGS, CommittedBy, Publication, find_committer, publish
from lance_core.errors import (
    CommitError,
    CommitUnknownError,
    InvalidPathError,
    NoSafeCommitHandlerError,
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.memory import MemoryStore
from lance_core.table.manifest.feature_flags import FeatureFlags
from lance_core.table.manifest.file import parse_manifest_file, serialize_manifest_file
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    candidate_of,
    creation,
    first_candidate,
)

Step = Exception | Callable[[Candidate], None] | None


class Scripted(PutIfAbsentCommitHandler):
    """Does one step of a script for each sending, then what a real handler does."""

    def __init__(self, store: MemoryStore, steps: Iterable[Step]) -> None:
        super().__init__(store)
        self.steps = list(steps)
        self.sent = 0
        self.discarded: list[Candidate] = []

    def commit(self, candidate: Candidate) -> ManifestLocation:
        self.sent += 1
        step = self.steps.pop(0) if self.steps else None
        if isinstance(step, Exception):
            raise step
        if step is not None:
            step(candidate)
        return super().commit(candidate)

    def discard(self, candidate: Candidate) -> None:
        self.discarded.append(candidate)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def send(
    handler: CommitHandler, store: MemoryStore, candidate: Candidate
) -> ManifestLocation | None:
    publication = publish(handler, store, candidate, IMPATIENT)
    return publication.location if isinstance(publication, Publication) else None


def test_what_returns_is_committed(store: MemoryStore) -> None:
    handler, candidate = Scripted(store, []), first_candidate()
    assert send(handler, store, candidate) == candidate.location
    assert handler.sent == 1
    assert handler.discarded == []


def test_who_finds_another_manifest_has_lost(store: MemoryStore) -> None:
    store.put(first_candidate().path, first_candidate().data)
    handler, candidate = Scripted(store, []), first_candidate()
    assert send(handler, store, candidate) is None
    assert handler.discarded == [candidate]


def applied_then(error: Exception) -> Callable[[MemoryStore], Step]:
    def make(store: MemoryStore) -> Step:
        def step(candidate: Candidate) -> None:
            store.put(candidate.path, candidate.data)
            raise error

        return step

    return make


@pytest.mark.parametrize(
    "error",
    [
        ObjectExistsError("sent twice"),
        OutcomeUnknownError("lost"),
        TimeoutError("no LanceError at all"),
        ValueError("a defect of the handler"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_who_finds_the_own_manifest_has_committed(store: MemoryStore, error: Exception) -> None:
    handler, candidate = Scripted(store, [applied_then(error)(store)]), first_candidate()
    found = send(handler, store, candidate)
    assert found is not None
    assert (found.version, found.path) == (1, candidate.path)
    assert handler.sent == 1
    assert handler.discarded == [candidate]


def test_the_own_transaction_in_other_bytes_is_the_own_commit(store: MemoryStore) -> None:
    """Two processes that commit one transaction make manifests with different times."""
    transaction = creation()
    ours, theirs = candidate_of(transaction), candidate_of(transaction, timestamp_ns=2)
    assert ours.data != theirs.data
    store.put(theirs.path, theirs.data)
    assert send(Scripted(store, []), store, ours) is not None


def test_a_manifest_of_the_future_is_another_commit(store: MemoryStore) -> None:
    file = parse_manifest_file(first_candidate().data)
    future = replace(file, manifest=replace(file.manifest, flags=FeatureFlags(1 << 40, 1 << 40)))
    store.put(first_candidate().path, serialize_manifest_file(future))
    assert send(Scripted(store, []), store, first_candidate()) is None


def test_the_same_uuid_with_another_intent_is_another_commit(store: MemoryStore) -> None:
    theirs = first_candidate()
    store.put(theirs.path, theirs.data)
    ours = replace(first_candidate(), transaction_uuid=theirs.transaction_uuid)
    assert send(Scripted(store, []), store, ours) is None


def test_a_lost_request_is_sent_again(store: MemoryStore) -> None:
    handler, candidate = Scripted(store, [OutcomeUnknownError("lost")]), first_candidate()
    assert send(handler, store, candidate) is not None
    assert handler.sent == 2


def test_a_refused_request_is_sent_again(store: MemoryStore) -> None:
    handler, candidate = Scripted(store, [StoreError("busy")] * 2), first_candidate()
    assert send(handler, store, candidate) is not None
    assert handler.sent == 3


def test_what_is_refused_for_good_is_not_committed(store: MemoryStore) -> None:
    handler, candidate = Scripted(store, [StoreError("full")] * SENDINGS), first_candidate()
    with pytest.raises(CommitError, match=r"not committed.*full") as refused:
        send(handler, store, candidate)
    assert not isinstance(refused.value, CommitUnknownError)
    assert isinstance(refused.value.__cause__, StoreError)
    assert handler.discarded == [candidate]


def test_what_is_never_answered_is_unknown_and_keeps_its_files(store: MemoryStore) -> None:
    handler = Scripted(store, [OutcomeUnknownError("lost")] * SENDINGS)
    candidate = first_candidate()
    with pytest.raises(CommitUnknownError, match="keep all files") as unknown:
        send(handler, store, candidate)
    assert unknown.value.transaction_uuid == candidate.transaction_uuid
    assert unknown.value.version == 1
    assert isinstance(unknown.value.__cause__, OutcomeUnknownError)
    assert handler.discarded == []


@pytest.mark.parametrize(
    "later", [StoreError("refused"), NoSafeCommitHandlerError("gone"), InvalidPathError("odd")]
)
def test_a_later_refusal_does_not_make_an_unknown_outcome_known(
    store: MemoryStore, later: Exception
) -> None:
    steps = [OutcomeUnknownError("lost"), *[later] * SENDINGS]
    with pytest.raises(CommitUnknownError):
        send(Scripted(store, steps), store, first_candidate())


def test_a_late_landing_is_seen_before_giving_up(store: MemoryStore) -> None:
    candidate = first_candidate()

    def land(_: Candidate) -> None:
        store.put(candidate.path, candidate.data)
        raise StoreError("refused")

    handler = Scripted(store, [OutcomeUnknownError("late"), land])
    assert send(handler, store, candidate) is not None
    assert handler.sent == 2


@pytest.mark.parametrize(
    "error",
    [NoSafeCommitHandlerError("none"), InvalidPathError("odd"), UnsupportedFeatureError("later")],
)
def test_what_was_never_sent_is_raised_as_it_is(store: MemoryStore, error: Exception) -> None:
    handler = Scripted(store, [error])
    with pytest.raises(type(error)) as raised:
        send(handler, store, first_candidate())
    assert raised.value is error
    assert handler.sent == 1


@pytest.mark.parametrize("garbage", [b"", b"LANC", bytes(100)])
def test_an_unreadable_manifest_leaves_the_outcome_unknown(
    store: MemoryStore, garbage: bytes
) -> None:
    store.put(first_candidate().path, garbage)
    with pytest.raises(CommitUnknownError):
        send(Scripted(store, []), store, first_candidate())


def test_an_interrupt_leaves_everything_as_it_is(store: MemoryStore) -> None:
    def interrupt(_: Candidate) -> None:
        raise KeyboardInterrupt

    handler = Scripted(store, [interrupt])
    with pytest.raises(KeyboardInterrupt):
        send(handler, store, first_candidate())
    assert handler.discarded == []


def test_leftovers_that_cannot_be_removed_do_not_matter(store: MemoryStore) -> None:
    class Stubborn(Scripted):
        def discard(self, candidate: Candidate) -> None:
            raise StoreError("busy")

    store.put(first_candidate().path, first_candidate().data)
    assert send(Stubborn(store, []), store, first_candidate()) is None


def test_pauses_between_sendings_are_random_and_grow(store: MemoryStore) -> None:
    pauses: list[float] = []
    world = replace(IMPATIENT, sleep=pauses.append, random=lambda: 0.5)
    with pytest.raises(CommitError):
        publish(Scripted(store, [StoreError("busy")] * 9), store, first_candidate(), world)
    assert pauses == [0.05, 0.1, 0.2]


def test_nobody_holds_a_version_that_is_not_there(store: MemoryStore) -> None:
    handler = PutIfAbsentCommitHandler(store)
    assert find_committer(handler, store, first_candidate()) == (CommittedBy.NOBODY, None)
