"""Committing transactions: checks, rebasing, retries, and what is read and written for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits import loop
from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import Version, read_transaction, read_version
from lance_core.commits.loop import CommitOptions, commit_transaction
from lance_core.errors import (
    CommitConflictError,
    CommitError,
    CommitUnknownError,
    CorruptFileError,
    DatasetExistsError,
    DatasetNotFoundError,
    InvalidInputError,
    RetryableCommitConflictError,
    UnsupportedFeatureError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.table.manifest.feature_flags import TRANSACTION_FILE_DISABLED, FeatureFlags
from lance_core.table.manifest.file import parse_manifest_file, serialize_manifest_file
from lance_core.table.paths import DETACHED, NamingScheme, manifest_path
from lance_core.table.transactions.operations import Append, Overwrite, Restore
from lance_core.table.transactions.transaction import Transaction
from lance_core.testing.sample_transactions import (
    IMPATIENT,
    SCHEMA,
    append,
    creation,
    history,
)
from lance_core.testing.stores.faulty import FaultRule, FaultyStore, Refused, RequestLost
from lance_core.testing.stores.tracing import TracingStore


@pytest.fixture
def store() -> ObjectStore:
    return MemoryStore()


def commit(
    store: ObjectStore,
    transaction: Transaction,
    base: Version | None = None,
    options: CommitOptions = CommitOptions(),  # noqa: B008  # immutable
    world: Environment = IMPATIENT,
) -> Version:
    handler = PutIfAbsentCommitHandler(store)
    return commit_transaction(handler, store, transaction, base, options, world)


def uuids(store: ObjectStore) -> list[str]:
    return history(PutIfAbsentCommitHandler(store), store)


def overwrite(read_version: int) -> Transaction:
    return replace(creation(), read_version=read_version)


# --- what a commit makes ------------------------------------------------------------------------


def test_the_first_commit_makes_version_1(store: ObjectStore) -> None:
    transaction = creation()
    made = commit(store, transaction)
    assert made.location.version == made.file.manifest.version == 1
    assert made.location.naming is NamingScheme.V2
    assert made.file.manifest.timestamp_ns is not None
    assert sorted(list_paths(store)) == sorted(
        [made.location.path, f"_transactions/{transaction.file_name}"]
    )


def test_what_is_returned_is_what_is_stored(store: ObjectStore) -> None:
    made = commit(store, append(1), commit(store, creation()))
    stored = parse_manifest_file(store.get(made.location.path))
    assert stored.manifest == made.file.manifest
    assert stored.transaction == made.file.transaction
    assert made.location.size == store.head(made.location.path).size


def test_manifest_and_file_hold_the_same_transaction(store: ObjectStore) -> None:
    transaction = creation()
    made = commit(store, transaction)
    in_file = bytes(store.get(f"_transactions/{transaction.file_name}"))
    assert in_file == made.file.transaction == transaction.to_bytes()
    assert made.file.manifest.transaction_file == transaction.file_name
    assert read_transaction(store, made.location) == Transaction.from_bytes(in_file)


@pytest.mark.parametrize("naming", list(NamingScheme))
def test_a_table_keeps_its_naming_scheme(store: ObjectStore, naming: NamingScheme) -> None:
    options = CommitOptions(naming=naming)
    other = next(scheme for scheme in NamingScheme if scheme is not naming)
    base = commit(store, creation(), options=options)
    for version in (2, 3):
        made = commit(store, append(version - 1), base, CommitOptions(naming=other))
        assert made.location.path == manifest_path(version, naming)


def test_a_table_that_wants_no_transaction_files_gets_none(store: ObjectStore) -> None:
    made = commit(store, creation())
    flags = FeatureFlags(0, TRANSACTION_FILE_DISABLED)
    file = replace(made.file, manifest=replace(made.file.manifest, flags=flags))
    store.put(made.location.path, serialize_manifest_file(file))
    transaction = append(1)
    second = commit(store, transaction)
    assert second.file.manifest.transaction_file == ""
    assert f"_transactions/{transaction.file_name}" not in list_paths(store)
    assert uuids(store)[1] == transaction.uuid


# --- following others ---------------------------------------------------------------------------


def test_appends_from_one_version_follow_each_other(store: ObjectStore) -> None:
    base = commit(store, creation())
    made = [commit(store, append(1), base) for _ in range(4)]
    assert [version.location.version for version in made] == [2, 3, 4, 5]
    ids = [fragment.id for fragment in made[-1].file.manifest.fragments]
    assert ids == [0, 1, 2, 3, 4]


def test_an_append_conflicts_with_an_overwrite_that_came_before_it(store: ObjectStore) -> None:
    base = commit(store, creation())
    commit(store, overwrite(1), base)
    commit(store, append(2))
    before = list_paths(store)
    with pytest.raises(CommitConflictError, match="version 2"):
        commit(store, append(1), base)
    assert list_paths(store) == before


def test_an_overwrite_that_came_in_between_can_be_retried(store: ObjectStore) -> None:
    base = commit(store, creation())
    commit(store, overwrite(1), base)
    with pytest.raises(RetryableCommitConflictError):
        commit(store, overwrite(1), base)


def test_every_version_in_between_is_checked(store: ObjectStore) -> None:
    base = commit(store, creation())
    commit(store, append(1), base)
    commit(store, overwrite(2))
    commit(store, append(3))
    commit(store, append(4))
    with pytest.raises(CommitConflictError, match="version 3"):
        commit(store, append(2))


def test_what_was_read_at_an_older_version_is_checked_from_there(store: ObjectStore) -> None:
    """Fragments were written for version 1; the handle that commits them has moved on."""
    commit(store, creation())
    newest = commit(store, overwrite(1))
    with pytest.raises(CommitConflictError, match="version 2"):
        commit(store, append(1), newest)


@pytest.mark.parametrize("lost", ["manifest", "transaction"])
def test_a_version_that_cannot_be_checked_is_a_conflict(store: ObjectStore, lost: str) -> None:
    base = commit(store, creation())
    middle = commit(store, append(1), base)
    commit(store, append(2), middle)
    if lost == "manifest":
        store.delete(middle.location.path)
    else:
        silent = replace(middle.file, transaction=None)
        store.put(middle.location.path, serialize_manifest_file(silent))
        store.delete(f"_transactions/{middle.file.manifest.transaction_file}")
    with pytest.raises(CommitConflictError, match=r"version 2.*not known"):
        commit(store, append(1), base)


def test_a_transaction_that_is_in_its_file_only_is_found_there(store: ObjectStore) -> None:
    base = commit(store, creation())
    middle = commit(store, append(1), base)
    store.put(middle.location.path, serialize_manifest_file(replace(middle.file, transaction=None)))
    assert commit(store, append(1), base).location.version == 3


@pytest.mark.parametrize("garbage", [b"", b"garbage"])
def test_a_damaged_newest_manifest_is_reported_and_kept(store: ObjectStore, garbage: bytes) -> None:
    base = commit(store, creation())
    store.put(manifest_path(2), garbage)
    before = list_paths(store)
    with pytest.raises(CorruptFileError, match="18446744073709551613"):
        commit(store, append(1), base)
    assert list_paths(store) == before


def test_a_manifest_in_the_place_of_another_version_is_not_built_upon(store: ObjectStore) -> None:
    made = commit(store, creation())
    store.copy(made.location.path, manifest_path(7))
    with pytest.raises(CorruptFileError, match="says that it is version 1"):
        commit(store, replace(append(1), read_version=7))


# --- making a table -----------------------------------------------------------------------------


def test_a_table_is_made_once(store: ObjectStore) -> None:
    commit(store, creation())
    before = list_paths(store)
    with pytest.raises(DatasetExistsError):
        commit(store, creation())
    assert list_paths(store) == before


def test_who_loses_the_race_to_make_a_table_leaves_nothing(store: ObjectStore) -> None:
    winner = creation()

    class TooLate(PutIfAbsentCommitHandler):
        def commit(self, candidate: Candidate) -> ManifestLocation:
            commit(self.store, winner)
            return super().commit(candidate)

    with pytest.raises(DatasetExistsError):
        commit_transaction(TooLate(store), store, creation(), environment=IMPATIENT)
    assert uuids(store) == [winner.uuid]
    assert len(list_paths(store)) == 2


def test_a_change_of_no_table_is_refused(store: ObjectStore) -> None:
    with pytest.raises(DatasetNotFoundError):
        commit(store, append(1))
    assert list_paths(store) == []


def test_a_detached_version_is_not_built_upon(store: ObjectStore) -> None:
    with pytest.raises(UnsupportedFeatureError):
        commit(store, append(DETACHED + 1))


# --- the same transaction again -----------------------------------------------------------------


def test_the_same_transaction_is_committed_once(store: ObjectStore) -> None:
    first, second = creation(), append(1)
    commit(store, first)
    made = commit(store, second)
    commit(store, append(1))
    for transaction, version in ((first, 1), (second, 2)):
        again = commit(store, transaction)
        assert again.location.version == version
        assert again.file.manifest == (made.file.manifest if version == 2 else again.file.manifest)
    assert uuids(store)[:2] == [first.uuid, second.uuid]
    assert len(uuids(store)) == 3


def test_one_id_for_two_changes_is_refused(store: ObjectStore) -> None:
    base = commit(store, creation())
    first = append(1)
    commit(store, first, base)
    with pytest.raises(CommitConflictError, match="same transaction id"):
        commit(store, replace(append(1), uuid=first.uuid), base)
    assert len(uuids(store)) == 2


def test_a_transaction_that_may_be_a_version_that_is_gone_is_not_called_a_conflict(
    store: ObjectStore,
) -> None:
    base = commit(store, creation())
    transaction = append(1)
    landed = commit(store, transaction, base)  # and the caller did not hear of it
    commit(store, append(2), landed)
    store.delete(landed.location.path)
    store.delete(f"_transactions/{transaction.file_name}")
    with pytest.raises(CommitUnknownError) as unknown:
        commit(store, transaction, base, CommitOptions(may_be_repeated=True))
    assert (unknown.value.transaction_uuid, unknown.value.version) == (transaction.uuid, 2)
    with pytest.raises(CommitConflictError, match="not known"):
        commit(store, append(1), base)  # of a new one it is known that it is no version


# --- a table that is not the same any more ------------------------------------------------------


def remade(store: ObjectStore, versions: int) -> None:
    for path in list_paths(store):
        store.delete(path)
    commit(store, creation())
    for version in range(1, versions):
        commit(store, append(version))


@pytest.mark.parametrize("versions", [1, 2, 3, 4])
def test_a_table_that_was_made_anew_is_not_written_to(store: ObjectStore, versions: int) -> None:
    commit(store, creation())
    handler = PutIfAbsentCommitHandler(store)
    location = commit(store, append(1)).location
    opened = [read_version(store, location), read_version(store, handler.locate(2))]
    remade(store, versions)
    before = list_paths(store)
    for base in opened:  # with and without an etag
        with pytest.raises(CommitConflictError):
            commit(store, append(2), base)
    assert list_paths(store) == before


def test_versions_that_were_cleaned_up_do_not_look_like_another_table(store: ObjectStore) -> None:
    first = commit(store, creation())
    opened = read_version(store, PutIfAbsentCommitHandler(store).locate(1))
    commit(store, append(1), first)
    store.delete(first.location.path)
    assert commit(store, append(1), opened).location.version == 3


# --- retries ------------------------------------------------------------------------------------


class Beaten(PutIfAbsentCommitHandler):
    """Another writer is faster ``times`` times."""

    def __init__(self, store: ObjectStore, times: int) -> None:
        super().__init__(store)
        self.times = times

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if self.times:
            self.times -= 1
            commit(self.store, append(candidate.version - 1))
        return super().commit(candidate)


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
    assert pauses == [0.001, 0.002, 0.004, 0.008, 0.016]


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


# --- exceptions of others -----------------------------------------------------------------------


def test_whatever_a_handler_raises_later_a_loser_has_certainly_not_committed(
    store: ObjectStore,
) -> None:
    base = commit(store, creation())

    class Breaks(Beaten):
        def latest(self) -> ManifestLocation | None:
            if not self.times:
                raise RuntimeError("a defect of the plugin")
            return super().latest()

    transaction = append(1)
    with pytest.raises(CommitError, match="not committed: a defect") as failed:
        commit_transaction(Breaks(store, 1), store, transaction, base, environment=IMPATIENT)
    assert not isinstance(failed.value, CommitUnknownError)
    assert transaction.uuid not in uuids(store)


def rows_from(first: int) -> pa.Table:
    return pa.table({"i": range(first, first + 10)})


def deletion_files(uri: str) -> tuple[set[str], set[str]]:
    """The files of deletions in the table's folder, and those that a version names."""
    dataset = lance.dataset(uri)
    named = {
        f"{uri}/{fragment.deletion_file.store_path(fragment.id)}"
        for version in dataset.versions()
        for fragment in lance.dataset(uri, version["version"]).snapshot.manifest.fragments
        if fragment.deletion_file is not None
    }
    return {str(path) for path in Path(uri, "_deletions").iterdir()}, named


def test_deletions_merged_for_a_version_that_was_not_made_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, is_still_right = loop.publish, loop._Attempts._is_still_right
    for way in ("publish", "is_still_right"):
        uri = str(tmp_path / way)
        lance.write_dataset(rows_from(0), uri)
        late = lance.dataset(uri)
        lance.dataset(uri).delete("i = 1")
        calls: list[str] = []

        def overtaken(*args: Any, uri: str = uri, calls: list[str] = calls) -> Any:
            calls.append("publish")
            if len(calls) == 1:  # its deletions are merged with the other's by now
                lance.dataset(uri).delete("i = 3")
            return publish(*args)

        def wrong_once(*args: Any, calls: list[str] = calls) -> bool:
            calls.append("is_still_right")
            return len(calls) > 1 and is_still_right(*args)

        with monkeypatch.context() as patched:
            if way == "publish":
                patched.setattr(loop, "publish", overtaken)
            else:
                patched.setattr(loop._Attempts, "_is_still_right", wrong_once)
            late.delete("i = 2")
        assert len(calls) >= 2
        there, named = deletion_files(uri)
        assert there == named
        deleted = {1, 2, 3} if way == "publish" else {1, 2}
        assert set(lance.dataset(uri).to_table()["i"].to_pylist()) == set(range(10)) - deleted


def test_what_does_not_fit_a_later_version_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InvalidInputError("this does not go together")

    uri = str(tmp_path / "table")
    lance.write_dataset(rows_from(0), uri)
    files = lance.fragment.write_fragments(rows_from(10), uri)
    assert isinstance(files, list)
    append = lance.LanceOperation.Append(files)
    for error, text in (
        (InvalidInputError, r"^this does not go together"),
        (
            RetryableCommitConflictError,
            r"for version 2: .* 1 does not fit it: this does not go",
        ),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(loop, "apply", refuse)
            with pytest.raises(error, match=text):
                lance.LanceDataset.commit(uri, append, read_version=1)
        lance.dataset(uri).insert(rows_from(20))
