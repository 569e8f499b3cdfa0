from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lance_core.commits.drop import drop
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_row import staging_path
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CommitUnknownError,
    CorruptFileError,
    DatasetNotFoundError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import Guarantee, ObjectStore, StoreCapabilities
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core.table.paths import DETACHED, NamingScheme, manifest_path
from lance_core.testing.memory_manifest_store import MemoryManifestStore
from lance_core.testing.sample_transactions import (
    IMPATIENT,
    append,
    creation,
    first_candidate,
    history,
)
from lance_core.testing.stores.faulty import (
    FaultRule,
    FaultyStore,
    Refused,
    RequestLost,
    ResponseLost,
)
from lance_core.testing.stores.tracing import TracingStore

BASE = "data/table.lance"


class Rows(MemoryManifestStore):
    """Fails where it is told to: before or after the call is applied."""

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[str, list[Exception]] = {}
        self.after: dict[str, list[Exception]] = {}

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        with self._fails("put_if_absent"):
            super().put_if_absent(base_uri, entry)

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        with self._fails("put_if_present"):
            super().put_if_present(base_uri, entry)

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        with self._fails("get"):
            return super().get(base_uri, version)

    def _fails(self, method: str) -> _Fails:
        return _Fails(self.before.get(method, []), self.after.get(method, []))


class _Fails:
    def __init__(self, before: list[Exception], after: list[Exception]) -> None:
        self._before, self._after = before, after

    def __enter__(self) -> None:
        if self._before:
            raise self._before.pop(0)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._after:
            raise self._after.pop(0)


class NoCarefulCopy(MemoryStore):
    """Copies replace what is there, as on many object stores."""

    @property
    def capabilities(self) -> StoreCapabilities:
        return replace(super().capabilities, copy_if_absent=Guarantee.NO)


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


def on(store: ObjectStore, rows: Rows) -> ExternalManifestCommitHandler:
    return ExternalManifestCommitHandler(store, rows, BASE)


def row_path(rows: Rows, version: int) -> str:
    entry = MemoryManifestStore.get(rows, BASE, version)
    assert entry is not None
    return entry.path


def crash_after_row(store: ObjectStore, rows: Rows, version: int) -> bytes:
    """Leaves version ``version`` half-finished; returns its manifest."""
    candidate = first_candidate(version=version)
    faulty = FaultyStore(store, [FaultRule(Refused(), "copy")])
    with pytest.raises(OutcomeUnknownError, match="half-finished"):
        on(faulty, rows).commit(candidate)
    assert row_path(rows, version) == f"{BASE}/{staging_path(candidate)}"
    return candidate.data


def check_complete(store: ObjectStore, rows: Rows, version: int, data: bytes) -> None:
    final = manifest_path(version)
    assert bytes(store.get(final)) == data
    assert row_path(rows, version) == f"{BASE}/{final}"
    assert not [path for path in list_paths(store, "_versions") if "-" in path]


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


# --- half-finished commits ----------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("how", ["latest", "locate", "list_versions"])
def test_a_half_finished_commit_is_completed_by_the_next_reader(
    store: ObjectStore, rows: Rows, version: int, how: str
) -> None:
    if version == 2:
        on(store, rows).commit(first_candidate())
    data = crash_after_row(store, rows, version)
    reader = on(store, rows)
    found = {
        "latest": reader.latest,
        "locate": lambda: reader.locate(version),
        "list_versions": lambda: reader.list_versions()[-1],
    }[how]()
    assert found is not None
    assert (found.version, found.path, found.size) == (version, manifest_path(version), len(data))
    check_complete(store, rows, version, data)


def test_a_half_finished_commit_is_completed_by_the_next_writer(
    store: ObjectStore, rows: Rows
) -> None:
    base = commit_transaction(on(store, rows), store, creation())
    lost = append(1)
    faulty = FaultyStore(store, [FaultRule(Refused(), "copy")])
    with pytest.raises(CommitUnknownError):
        commit_transaction(on(faulty, rows), faulty, lost, base, environment=IMPATIENT)
    made = commit_transaction(on(store, rows), store, append(1), base)
    assert made.location.version == 3
    assert history(on(store, rows), store)[1] == lost.uuid


def test_what_cannot_be_completed_is_not_loaded(store: ObjectStore, rows: Rows) -> None:
    on(store, rows).commit(first_candidate())
    crash_after_row(store, rows, 2)
    faulty = FaultyStore(store, [FaultRule(Refused(), "copy")])
    reader = on(faulty, rows)
    for look in (reader.latest, lambda: reader.locate(2), reader.list_versions):
        with pytest.raises(StoreError, match="half-finished"):
            look()
    assert reader.locate(1).version == 1


@pytest.mark.parametrize("fault", [RequestLost(), ResponseLost()])
def test_a_copy_of_unknown_outcome_counts_if_the_manifest_is_there(
    store: ObjectStore, rows: Rows, fault: RequestLost | ResponseLost
) -> None:
    data = crash_after_row(store, rows, 1)
    faulty = FaultyStore(store, [FaultRule(fault, "copy", times=1)])
    reader = on(faulty, rows)
    if isinstance(fault, RequestLost):
        with pytest.raises(StoreError, match="half-finished"):
            reader.latest()
    else:
        assert reader.latest() is not None
    assert reader.latest() is not None
    check_complete(store, rows, 1, data)


def test_where_somebody_else_completed_it_the_staged_file_is_not_missed(
    store: ObjectStore, rows: Rows
) -> None:
    data = crash_after_row(store, rows, 1)
    staged = row_path(rows, 1).removeprefix(f"{BASE}/")
    store.copy(staged, manifest_path(1))
    store.delete(staged)
    assert on(store, rows).latest() is not None
    check_complete(store, rows, 1, data)


def during(store: ObjectStore, method: str, act: Callable[[], object]) -> FaultyStore:
    """``store``, where ``act`` happens just before the first call of ``method``."""
    pending = [act]

    class Interrupted(FaultyStore):
        def around(self, call, run):  # type: ignore[no-untyped-def]
            if call.method == method and pending:
                pending.pop()()
            return super().around(call, run)

    return Interrupted(store)


@pytest.mark.parametrize("method", ["head", "copy", "delete"])
def test_two_readers_that_complete_the_same_commit_agree(
    store: ObjectStore, rows: Rows, method: str
) -> None:
    data = crash_after_row(store, rows, 1)
    interrupted = during(store, method, on(store, rows).latest)
    found = on(interrupted, rows).latest()
    assert found is not None
    assert found.size == len(data)
    check_complete(store, rows, 1, data)


@pytest.mark.parametrize("method", ["copy", "delete"])
def test_a_reader_that_completes_a_commit_does_not_disturb_its_writer(
    store: ObjectStore, rows: Rows, method: str
) -> None:
    transaction = creation()
    interrupted = during(store, method, on(store, rows).latest)
    made = commit_transaction(
        on(interrupted, rows), interrupted, transaction, environment=IMPATIENT
    )
    assert made.location.version == 1
    assert history(on(store, rows), store) == [transaction.uuid]
    check_complete(store, rows, 1, bytes(store.get(manifest_path(1))))


def test_a_row_that_cannot_be_replaced_does_not_fail_the_commit(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    candidate = first_candidate()
    rows.before["put_if_present"] = [StoreError("throttled")]
    handler.commit(candidate)
    assert store.head(staging_path(candidate)).size == len(candidate.data)
    assert handler.latest() is not None
    check_complete(store, rows, 1, candidate.data)


# --- lost answers -------------------------------------------------------------------------------


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_answer_of_the_row_is_looked_up(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler, applied: bool
) -> None:
    base = commit_transaction(handler, store, creation())
    failures = rows.after if applied else rows.before
    failures["put_if_absent"] = [OutcomeUnknownError("no answer")]
    transaction = append(1)
    made = commit_transaction(handler, store, transaction, base, environment=IMPATIENT)
    assert made.location.version == 2
    assert history(handler, store)[1:] == [transaction.uuid]
    check_complete(store, rows, 2, bytes(store.get(manifest_path(2))))


def test_the_staged_file_is_kept_while_the_fate_of_its_row_is_unknown(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    base = commit_transaction(handler, store, creation())
    rows.before["put_if_absent"] = [OutcomeUnknownError("no answer") for _ in range(9)]
    transaction = append(1)
    with pytest.raises(CommitUnknownError):
        commit_transaction(handler, store, transaction, base, environment=IMPATIENT)
    (staged,) = [path for path in list_paths(store, "_versions") if "-" in path]
    # The last sending lands after all.
    rows.before.clear()
    rows.put_if_absent(BASE, ManifestEntry(2, f"{BASE}/{staged}"))
    assert history(handler, store)[1:] == [transaction.uuid]


def test_an_error_of_an_unexpected_kind_is_an_unknown_outcome(
    store: ObjectStore, rows: Rows, handler: ExternalManifestCommitHandler
) -> None:
    base = commit_transaction(handler, store, creation())
    rows.after["put_if_absent"] = [RuntimeError("a bug of the driver")]
    transaction = append(1)
    made = commit_transaction(handler, store, transaction, base, environment=IMPATIENT)
    assert made.location.version == 2
    assert history(handler, store)[1:] == [transaction.uuid]


def test_sending_a_candidate_again_stages_the_same_bytes_at_the_same_place() -> None:
    candidate = first_candidate()
    assert staging_path(candidate) == staging_path(replace(candidate))
    assert staging_path(candidate) != staging_path(replace(candidate, data=candidate.data + b" "))


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
