"""Committing transactions: what a commit makes, and what it is checked against."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lance_core.checksums.seal import unsealed
from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import read_transaction, read_version
from lance_core.commits.loop import CommitOptions, commit_transaction
from lance_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptFileError,
    DatasetExistsError,
    DatasetNotFoundError,
    RetryableCommitConflictError,
    UnsupportedFeatureError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.table.manifest.feature_flags import TRANSACTION_FILE_DISABLED, FeatureFlags
from lance_core.table.manifest.file import parse_manifest_file, serialize_manifest_file
from lance_core.table.paths import DETACHED, NamingScheme, manifest_path
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    append,
    creation,
)
from tests.unit.commits.loop_steps import commit, uuids


@pytest.fixture
def store() -> ObjectStore:
    return MemoryStore()


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
    in_file = bytes(unsealed(store.get(f"_transactions/{transaction.file_name}")))
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


@pytest.mark.parametrize("later", [0, 1, 2])
def test_a_manifest_that_is_written_again_does_not_look_like_another_table(
    store: ObjectStore, later: int
) -> None:
    """Two processes may both complete a commit and copy its manifest to its place."""
    commit(store, creation())
    opened = read_version(store, PutIfAbsentCommitHandler(store).locate(1))
    for version in range(1, later + 1):
        commit(store, append(version))
    path = opened.location.path
    store.put(path, bytes(store.get(path)))
    assert None not in (opened.location.etag, store.head(path).etag)
    assert store.head(path).etag != opened.location.etag
    assert commit(store, append(1), opened).location.version == later + 2


def test_versions_that_were_cleaned_up_do_not_look_like_another_table(store: ObjectStore) -> None:
    first = commit(store, creation())
    opened = read_version(store, PutIfAbsentCommitHandler(store).locate(1))
    commit(store, append(1), first)
    store.delete(first.location.path)
    assert commit(store, append(1), opened).location.version == 3
