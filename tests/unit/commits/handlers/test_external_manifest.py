"""Commits with rows in an external store: what they leave, dropped tables, detached versions."""

from __future__ import annotations

import pytest

from lance_core.commits.drop import drop
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    ObjectNotFoundError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core.table.paths import DETACHED, manifest_path
from lance_core_testing.sample_transactions import (
    append,
    creation,
    first_candidate,
    history,
)
from lance_core_testing.stores.tracing import TracingStore
from tests.unit.commits.handlers.external_rows import BASE, NoCarefulCopy, Rows, check_complete, on


@pytest.fixture(params=[MemoryStore, NoCarefulCopy], ids=["careful", "plain"])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    made: ObjectStore = request.param()
    return made


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def handler(store: ObjectStore, rows: Rows) -> ExternalManifestCommitHandler:
    return ExternalManifestCommitHandler(store, rows, BASE)


# --- what a commit leaves -----------------------------------------------------------------------


def test_a_commit_leaves_a_manifest_in_place_and_a_row_that_names_it(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    candidate = first_candidate()
    handler.commit(candidate)
    check_complete(store, rows, 1, candidate.data)
    assert rows.get(BASE, 1) == ManifestEntry(
        1, f"{BASE}/{candidate.path}", len(candidate.data), None
    )


def test_a_table_at_the_root_of_its_store_has_rows_without_a_leading_slash(
    store: ObjectStore, rows: Rows
) -> None:
    handler = ExternalManifestCommitHandler(store, rows, "")
    handler.commit(first_candidate())
    entry = rows.get("", 1)
    assert entry is not None
    assert entry.path == manifest_path(1)
    assert handler.locate(1).path == manifest_path(1)


def test_a_copy_of_the_folder_opens_without_the_external_store(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    base = commit_transaction(handler, store, creation())
    for _ in range(3):
        base = commit_transaction(handler, store, append(base.location.version), base)
    assert history(PutIfAbsentCommitHandler(store), store) == history(handler, store)
    assert len(history(on(store, Rows()), store)) == 4


def test_a_commit_on_an_ordered_store_takes_few_calls(rows: Rows) -> None:
    store = TracingStore(MemoryStore())
    handler = on(store, rows)
    handler.commit(first_candidate())
    store.trace.clear()
    assert handler.latest() is not None
    assert store.trace.round_trips <= 2


# --- dropped tables, detached versions ----------------------------------------------------------


def test_a_table_dropped_with_its_rows_can_be_made_again(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    for version in (1, 2):
        handler.commit(first_candidate(version=version))
    for path in list_paths(store):
        store.delete(path)
    handler.forget()
    handler.forget()
    assert handler.latest() is None
    transaction = creation()
    commit_transaction(handler, store, transaction)
    assert history(handler, store) == [transaction.uuid]


def test_a_table_dropped_without_its_rows_is_not_silently_begun_anew(
    store: ObjectStore, handler: ExternalManifestCommitHandler
) -> None:
    handler.commit(first_candidate())
    for path in list_paths(store):
        store.delete(path)
    with pytest.raises(CorruptFileError, match="without its rows"):
        commit_transaction(handler, store, creation())


def test_the_rows_of_another_table_are_left_alone(store: ObjectStore, rows: Rows) -> None:
    ExternalManifestCommitHandler(MemoryStore(), rows, f"{BASE}/tree/b").commit(first_candidate())
    handler = on(store, rows)
    handler.commit(first_candidate())
    handler.forget()
    assert rows.get_latest(BASE) is None
    assert rows.get_latest(f"{BASE}/tree/b") is not None


def test_dropping_removes_the_rows_of_branches_too_and_a_second_time_what_was_left(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    handler.commit(first_candidate())
    branch = ExternalManifestCommitHandler(PrefixStore(store, "tree/b/c"), rows, f"{BASE}/tree/b/c")
    branch.commit(first_candidate())
    drop(store, handler)
    assert list_paths(store) == []
    assert rows.get_latest(BASE) is rows.get_latest(f"{BASE}/tree/b/c") is None
    handler.commit(first_candidate())
    for path in list_paths(store):
        store.delete(path)
    with pytest.raises(DatasetNotFoundError):
        drop(store, handler)
    assert handler.latest() is None


def test_a_detached_version_has_no_row(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    handler.commit(first_candidate())
    detached = first_candidate(version=DETACHED + 7)
    handler.commit(detached)
    assert bytes(store.get(handler.locate(DETACHED + 7).path)) == detached.data
    assert rows.get(BASE, DETACHED + 7) is None
    latest = handler.latest()
    assert latest is not None
    assert latest.version == 1


def test_replacing_a_row_that_is_not_there_is_refused(rows: Rows) -> None:
    with pytest.raises(ObjectNotFoundError):
        rows.put_if_present(BASE, ManifestEntry(1, "x"))
