"""What is particular to each built-in commit handler."""

from __future__ import annotations

import warnings

import pytest

from lance_core.commits.base import ManifestLocation
from lance_core.commits.handlers.directory import ReadOnlyCommitHandler
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.handlers.rename import RenameCommitHandler, staging_path
from lance_core.commits.handlers.unsafe import UnsafeCommitHandler
from lance_core.errors import (
    NoSafeCommitHandlerError,
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import NamingScheme
from lance_core_testing.sample_transactions import first_candidate
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused, RequestLost, SentTwice
from lance_core_testing.stores.tracing import TracingStore
from tests.each_case import each_case

V2 = NamingScheme.V2


def test_put_if_absent_is_one_call() -> None:
    store = TracingStore(MemoryStore())
    PutIfAbsentCommitHandler(store).commit(first_candidate())
    assert store.trace.counts == {"put": 1}


def test_a_read_only_handler_refuses_before_and_at_the_commit() -> None:
    store = MemoryStore()
    handler = ReadOnlyCommitHandler(store)
    with pytest.raises(NoSafeCommitHandlerError, match="read-only"):
        handler.check_can_commit()
    with pytest.raises(NoSafeCommitHandlerError, match="version 1: this handler is read-only"):
        handler.commit(first_candidate())
    assert list_paths(store) == []


def test_a_rename_leaves_only_the_manifest() -> None:
    store, candidate = MemoryStore(), first_candidate()
    RenameCommitHandler(store).commit(candidate)
    assert list_paths(store) == [candidate.path]


def test_the_loser_of_a_rename_discards_its_staging_file() -> None:
    store, loser = MemoryStore(), first_candidate()
    handler = RenameCommitHandler(store)
    handler.commit(first_candidate())
    with pytest.raises(ObjectExistsError):
        handler.commit(loser)
    assert staging_path(loser) in list_paths(store)
    handler.discard(loser)
    assert list_paths(store) == [loser.path]


@pytest.mark.parametrize("fault", [RequestLost(), Refused()])
def test_a_staging_file_that_fails_is_a_definite_failure(fault: Refused | RequestLost) -> None:
    store = FaultyStore(MemoryStore(), [FaultRule(fault, "put")])
    with pytest.raises(StoreError, match="could not be staged") as failed:
        RenameCommitHandler(store).commit(first_candidate())
    assert not isinstance(failed.value, OutcomeUnknownError)


def test_a_staging_file_that_vanished_may_have_been_renamed() -> None:
    """The client sends a rename twice; the second time, its source is gone."""
    store, candidate = MemoryStore(), first_candidate()

    class ResendsRename(FaultyStore):
        def rename_if_absent(self, source: str, target: str) -> None:
            super().rename_if_absent(source, target)
            super().rename_if_absent(source, target)

    with pytest.raises(OutcomeUnknownError):
        RenameCommitHandler(ResendsRename(store)).commit(candidate)
    assert list_paths(store) == [candidate.path]


def test_unsafe_says_so() -> None:
    store = MemoryStore()
    with pytest.warns(UserWarning, match="loses commits"):
        UnsafeCommitHandler(store).commit(first_candidate())
    with pytest.warns(UserWarning, match="loses"), pytest.raises(ObjectExistsError):
        UnsafeCommitHandler(store).commit(first_candidate())


def test_unsafe_says_so_once() -> None:
    store = MemoryStore()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for version in range(1, 5):
            UnsafeCommitHandler(store).commit(first_candidate(version=version))
    assert [warning.filename for warning in seen] == [__file__]


def test_unsafe_loses_commits() -> None:
    """Of two writers that look before either writes, both succeed: this is why it is unsafe."""
    inner, first, second = MemoryStore(), first_candidate(), first_candidate()

    class Interrupted(FaultyStore):
        def put(self, path: str, data: object, mode: object = None) -> None:
            if not list_paths(inner):
                inner.put(path, second.data)  # the other writer looked before, too
            inner.put(path, data)

    with pytest.warns(UserWarning, match="loses"):
        UnsafeCommitHandler(Interrupted(inner)).commit(first)
    assert bytes(inner.get(first.path)) == first.data


def test_a_handler_that_only_reads_refuses_to_commit() -> None:
    store = MemoryStore()
    PutIfAbsentCommitHandler(store).commit(first_candidate())
    handler = ReadOnlyCommitHandler(store)
    assert handler.latest() is not None
    with pytest.raises(NoSafeCommitHandlerError):
        handler.commit(first_candidate(version=2))


def test_an_answer_sent_twice_looks_like_a_conflict_to_the_handler() -> None:
    """Which is why the caller looks at the manifest."""
    store = FaultyStore(MemoryStore(), [FaultRule(SentTwice(), "put")])
    with pytest.raises(ObjectExistsError):
        PutIfAbsentCommitHandler(store).commit(first_candidate())
    assert list_paths(store.inner) == [first_candidate().path]


@each_case(
    ("one", "other", "contradicts"),
    [
        (ManifestLocation(1, "a", V2), ManifestLocation(1, "a", V2), False),
        (ManifestLocation(1, "a", V2, 5, "x"), ManifestLocation(1, "a", V2), False),
        (ManifestLocation(1, "a", V2, 5), ManifestLocation(1, "a", V2, 5, "x"), False),
        (ManifestLocation(1, "a", V2, 5), ManifestLocation(1, "a", V2, 6), True),
        (ManifestLocation(1, "a", V2, 5, "x"), ManifestLocation(1, "a", V2, 5, "y"), True),
        (ManifestLocation(1, "a", V2), ManifestLocation(2, "a", V2), True),
        (ManifestLocation(1, "a", V2), ManifestLocation(1, "b", V2), True),
    ],
)
def test_locations_contradict_by_what_both_know(
    one: ManifestLocation, other: ManifestLocation, contradicts: bool
) -> None:
    assert one.contradicts(other) is contradicts
    assert other.contradicts(one) is contradicts
