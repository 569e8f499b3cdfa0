"""Half-finished commits are completed, and lost answers of rows looked up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_row import staging_path
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CommitUnknownError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import manifest_path
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    append,
    creation,
    first_candidate,
    history,
)
from lance_core_testing.stores.faulty import (
    FaultRule,
    FaultyStore,
    Refused,
    RequestLost,
    ResponseLost,
)
from tests.unit.commits.handlers.external_rows import (
    BASE,
    NoCarefulCopy,
    Rows,
    check_complete,
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
