"""Commits of restores and of detached versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import read_version
from lance_core.commits.loop import CommitOptions
from lance_core.errors import (
    CommitUnknownError,
    DatasetNotFoundError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import DETACHED
from lance_core.table.transactions.operations import Restore
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import (
    append,
    creation,
)
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, RequestLost
from tests.unit.commits.loop_steps import commit


@pytest.fixture
def store() -> ObjectStore:
    return MemoryStore()


# --- bringing an old version back ---------------------------------------------------------------


def restore(version: int, read_version: int) -> Transaction:
    return replace(creation(), read_version=read_version, operation=Restore(version))


def test_restoring_brings_the_content_of_a_version_back(store: ObjectStore) -> None:
    first = commit(store, creation())
    commit(store, append(1))
    made = commit(store, restore(1, 2))
    assert made.location.version == 3
    assert made.file.manifest.fragments == first.file.manifest.fragments
    assert made.file.manifest.max_fragment_id == 1
    assert not [path for path in list_paths(store) if path.startswith("_refs")]


def test_a_version_that_is_gone_cannot_be_restored(store: ObjectStore) -> None:
    first = commit(store, creation())
    commit(store, append(1))
    store.delete(first.location.path)
    before = list_paths(store)
    with pytest.raises(DatasetNotFoundError):
        commit(store, restore(1, 2))
    assert list_paths(store) == before


def test_a_restore_is_known_again_after_what_it_restored_is_gone(store: ObjectStore) -> None:
    first = commit(store, creation())
    commit(store, append(1))
    transaction = restore(1, 2)
    commit(store, transaction)  # and the caller did not hear of it
    store.delete(first.location.path)
    assert commit(store, transaction).location.version == 3


def test_a_restore_whose_outcome_is_unknown_keeps_its_source_from_being_cleaned_up(
    store: ObjectStore,
) -> None:
    commit(store, creation())
    commit(store, append(1))
    faulty = FaultyStore(store, [FaultRule(RequestLost(), "put", "_versions/*")])
    with pytest.raises(CommitUnknownError):
        commit(faulty, restore(1, 2))
    assert [path for path in list_paths(store) if path.startswith("_refs/tags/lance-core-pin-")]


# --- beside the history -------------------------------------------------------------------------


def test_a_detached_version_is_read_by_its_number_only(store: ObjectStore) -> None:
    base = commit(store, creation())
    commit(store, append(1), base)
    made = commit(store, append(1), base, CommitOptions(detached=True))
    assert made.location.version & DETACHED
    handler = PutIfAbsentCommitHandler(store)
    assert [found.version for found in handler.list_versions()] == [1, 2]
    assert handler.latest().version == 2
    found = read_version(store, handler.locate(made.location.version))
    assert found.file.manifest.version == made.location.version
    assert len(found.file.manifest.fragments) == 2
