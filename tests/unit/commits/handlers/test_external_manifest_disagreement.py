"""Rows and the folder of a table disagree."""

from __future__ import annotations

import pytest

from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    ObjectExistsError,
    StoreError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import DETACHED, NamingScheme, manifest_path
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    append,
    creation,
    first_candidate,
    history,
)
from lance_core_testing.stores.tracing import TracingStore
from tests.unit.commits.handlers.external_rows import (
    BASE,
    NoCarefulCopy,
    Rows,
    crash_after_row,
    during,
    on,
    row_path,
)


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


# --- rows and folder disagree -------------------------------------------------------------------


@pytest.fixture
def foreign(store: ObjectStore) -> PutIfAbsentCommitHandler:
    """A writer that knows nothing of the rows."""
    return PutIfAbsentCommitHandler(store)


def test_a_table_from_before_the_external_store_is_found_and_goes_on(
    store: ObjectStore,
    rows: Rows,
    handler: ExternalManifestCommitHandler,
    foreign: PutIfAbsentCommitHandler,
) -> None:
    base = commit_transaction(foreign, store, creation())
    found = handler.latest()
    assert found is not None
    assert found.version == 1
    commit_transaction(handler, store, append(1), base)
    assert [entry is None for entry in (rows.get(BASE, 1), rows.get(BASE, 2))] == [True, False]


def test_a_version_without_a_row_is_given_one(
    rows: Rows, handler: ExternalManifestCommitHandler, foreign: PutIfAbsentCommitHandler
) -> None:
    candidate = first_candidate()
    foreign.commit(candidate)
    assert handler.locate(1).path == candidate.path
    assert row_path(rows, 1) == f"{BASE}/{candidate.path}"


def test_a_version_is_found_even_if_no_row_can_be_added(
    rows: Rows, handler: ExternalManifestCommitHandler, foreign: PutIfAbsentCommitHandler
) -> None:
    foreign.commit(first_candidate())
    rows.before["put_if_absent"] = [StoreError("read only")]
    assert handler.locate(1).version == 1


def test_the_newest_version_may_have_been_made_without_the_rows(
    store: ObjectStore,
    rows: Rows,
    handler: ExternalManifestCommitHandler,
    foreign: PutIfAbsentCommitHandler,
) -> None:
    base = commit_transaction(handler, store, creation())
    commit_transaction(foreign, store, append(1), base)
    found = handler.latest()
    assert found is not None
    assert found.version == 2
    assert row_path(rows, 2) == f"{BASE}/{manifest_path(2)}"


def test_a_writer_without_the_rows_is_not_overwritten(
    store: ObjectStore,
    rows: Rows,
    handler: ExternalManifestCommitHandler,
    foreign: PutIfAbsentCommitHandler,
) -> None:
    handler.commit(first_candidate())
    theirs = first_candidate(version=2)
    foreign.commit(theirs)
    with pytest.raises(ObjectExistsError):
        handler.commit(first_candidate(version=2))
    assert bytes(store.get(manifest_path(2))) == theirs.data


def test_where_copies_can_be_careful_not_even_a_race_without_the_rows_is_lost(rows: Rows) -> None:
    store = MemoryStore()
    base = commit_transaction(on(store, rows), store, creation())
    ours, theirs = append(1), append(1)

    def intrude() -> None:
        commit_transaction(PutIfAbsentCommitHandler(store), store, theirs, base)

    interrupted = during(store, "copy", intrude)
    made = commit_transaction(on(interrupted, rows), interrupted, ours, base, environment=IMPATIENT)
    assert made.location.version == 3
    assert history(on(store, rows), store)[1:] == [theirs.uuid, ours.uuid]


def test_lost_rows_do_not_lose_versions(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    for version in (1, 2, 3):
        handler.commit(first_candidate(version=version))
    handler.forget()
    found = handler.latest()
    assert found is not None
    assert found.version == 3
    with pytest.raises(ObjectExistsError):
        handler.commit(first_candidate(version=3))


def test_latest_never_goes_back_behind_the_rows(
    store: ObjectStore, handler: ExternalManifestCommitHandler
) -> None:
    for version in (1, 2):
        handler.commit(first_candidate(version=version))
    store.delete(manifest_path(2))
    with pytest.raises(CorruptFileError, match="version 2"):
        handler.latest()
    store.delete(manifest_path(1))
    with pytest.raises(CorruptFileError, match="version 2"):
        handler.latest()


def test_a_half_finished_commit_without_any_file_is_no_version(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    crash_after_row(store, rows, 1)
    store.delete(row_path(rows, 1).removeprefix(f"{BASE}/"))
    with pytest.raises(CorruptFileError):
        handler.latest()
    with pytest.raises(DatasetNotFoundError):
        handler.locate(1)


def test_a_version_that_was_cleaned_up_is_not_found_and_cannot_be_made_again(
    store: ObjectStore, handler: ExternalManifestCommitHandler
) -> None:
    for version in (1, 2):
        handler.commit(first_candidate(version=version))
    store.delete(manifest_path(1))
    with pytest.raises(DatasetNotFoundError):
        handler.locate(1)
    with pytest.raises(ObjectExistsError):
        handler.commit(first_candidate(version=1))
    assert [found.version for found in handler.list_versions()] == [2]


def test_a_version_cleaned_up_while_it_is_completed_gives_way_to_a_newer_one(
    store: ObjectStore, rows: Rows
) -> None:
    crash_after_row(store, rows, 1)

    def go_on_and_clean_up() -> None:
        other = on(store, rows)
        assert other.latest() is not None
        other.commit(first_candidate(version=2))
        store.delete(manifest_path(1))

    found = on(during(store, "copy", go_on_and_clean_up), rows).latest()
    assert found is not None
    assert found.version == 2


def test_manifests_renamed_to_the_other_scheme_are_found(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    candidate = first_candidate(NamingScheme.V1)
    handler.commit(candidate)
    store.copy(candidate.path, manifest_path(1))
    store.delete(candidate.path)
    latest = handler.latest()
    assert latest is not None
    assert latest.path == handler.locate(1).path == manifest_path(1)


def test_a_staged_manifest_of_the_other_scheme_is_refused(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    handler.commit(first_candidate())
    store.put("_versions/2.manifest-aa", b"staged")
    rows.put_if_absent(BASE, ManifestEntry(2, f"{BASE}/_versions/2.manifest-aa"))
    with pytest.raises(CorruptFileError, match="two schemes"):
        handler.latest()


HOSTILE = [
    "",
    "_versions/18446744073709551614.manifest",
    f"{BASE}",
    f"/{BASE}/_versions/18446744073709551614.manifest",
    f"{BASE}/../other.lance/_versions/18446744073709551614.manifest",
    f"{BASE}/_versions/../_versions/18446744073709551614.manifest",
    f"{BASE}/_versions/%2e%2e/18446744073709551614.manifest",
    f"{BASE}/_versions/18446744073709551614.manifest/../x",
    f"{BASE}/_versions/18446744073709551614.manifest-a/../../x",
    f"{BASE}/_versions/18446744073709551614.manifest-",
    f"{BASE}/_versions/18446744073709551614.manifest-{'a' * 300}",
    f"{BASE}/_versions/18446744073709551613.manifest",
    f"{BASE}/_versions/18446744073709551613.manifest-aa",
    f"{BASE}/_versions/2.manifest",
    f"{BASE}/_versions/01.manifest",
    f"{BASE}/_versions/d{DETACHED + 1}.manifest",
    f"{BASE}/_versions/latest_version_hint.json",
    f"{BASE}/_versions/18446744073709551614.manifest\n",
    f"{BASE}/_transactions/18446744073709551614.manifest",
    f"{BASE}/data/x.lance",
    f"{BASE}x/_versions/18446744073709551614.manifest",
    "s3://bucket/_versions/18446744073709551614.manifest",
]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_row_that_leaves_its_table_or_version_is_refused_before_anything_is_touched(
    rows: Rows, path: str
) -> None:
    store = TracingStore(MemoryStore())
    rows.put_if_absent(BASE, ManifestEntry(1, path))
    handler = on(store, rows)
    for look in (handler.latest, lambda: handler.locate(1), handler.list_versions):
        with pytest.raises(CorruptFileError, match="version 1"):
            look()
    assert {traced.call.method for traced in store.trace.records} <= {"list", "list_names"}
