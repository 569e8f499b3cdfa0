"""Part of the contract of commit handlers: finding exactly the committed versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

from lance_core.commits.loop import commit_transaction
from lance_core.errors import CorruptFileError, DatasetNotFoundError, ObjectExistsError
from lance_core.hookspecs.commits import CommitHandler, ManifestLocation
from lance_core.hookspecs.stores import ObjectStore, list_paths
from lance_core.table.paths import DETACHED, NamingScheme, manifest_path
from lance_core_testing.assertions import check_bytes, must_raise
from lance_core_testing.sample_transactions import append, creation, first_candidate, history

MakeOther: TypeAlias = Callable[[], tuple[ObjectStore, CommitHandler]]
"""Creates a store and a handler of another table than that of the test."""

NOT_MANIFESTS = (
    ".tmp_2_0a1b",
    f"d{DETACHED + 5}.manifest",
    "18446744073709551613.manifest-0a1b",
    "18446744073709551613.manifest#1",
    "00000000000000000000.manifest",
    "9.manifest.tmp",
    "latest_version_hint.json",
    "notes.txt",
)

each_naming = pytest.mark.parametrize("naming", list(NamingScheme), ids=lambda n: n.value)


class VersionTests:
    """Finding versions."""

    def test_where_nothing_was_committed_there_is_no_version(self, handler: CommitHandler) -> None:
        latest = handler.latest()
        assert latest is None, "latest of a table without versions must be None"
        _check_versions(handler, [])
        with must_raise(DatasetNotFoundError, "locate of a version that was never committed"):
            handler.locate(1)

    @each_naming
    def test_what_is_committed_is_found(
        self, store: ObjectStore, handler: CommitHandler, naming: NamingScheme
    ) -> None:
        candidate = first_candidate(naming)
        committed = handler.commit(candidate)
        assert isinstance(committed, ManifestLocation), (
            f"commit returned {committed!r}; it must return the ManifestLocation of what it has "
            "committed, such as `candidate.location`"
        )
        latest = handler.latest()
        assert latest is not None, "latest gave None after version 1 was committed"
        for location in (committed, latest, handler.locate(1), *handler.list_versions()):
            told = (location.version, location.naming)
            assert told == (1, naming), f"{location} must be version 1, named by {naming}"
            assert location.size in {None, len(candidate.data)}, (
                f"{location} must have the size of the manifest, {len(candidate.data)}, or None"
            )
            check_bytes(store.get(location.path), candidate.data, "the manifest of version 1")
            assert not location.contradicts(committed), (
                f"{location} must not contradict {committed}"
            )

    @each_naming
    def test_versions_are_listed_oldest_first(
        self, handler: CommitHandler, naming: NamingScheme
    ) -> None:
        for version in range(1, 13):
            handler.commit(first_candidate(naming, version))
        _check_versions(handler, range(1, 13))
        _check_latest(handler, 12)
        with must_raise(DatasetNotFoundError, "locate of the version after the newest"):
            handler.locate(13)

    @each_naming
    def test_a_version_is_never_replaced(
        self, store: ObjectStore, handler: CommitHandler, naming: NamingScheme
    ) -> None:
        first = first_candidate(naming)
        location = handler.commit(first)
        with must_raise(ObjectExistsError, "commit of a version that exists"):
            handler.commit(first_candidate(naming))
        check_bytes(store.get(location.path), first.data, "the manifest of the first commit")
        _check_versions(handler, [1])

    def test_what_loses_leaves_nothing_visible(
        self, store: ObjectStore, handler: CommitHandler
    ) -> None:
        handler.commit(first_candidate())
        before = sorted(file.path for file in store.list(""))
        loser = first_candidate()
        with must_raise(ObjectExistsError, "commit of a version that exists"):
            handler.commit(loser)
        handler.discard(loser)
        after = sorted(file.path for file in store.list(""))
        assert after == before, "a commit that lost and was discarded must leave no object"

    def test_other_files_are_no_versions(self, store: ObjectStore, handler: CommitHandler) -> None:
        for name in NOT_MANIFESTS:
            store.put(f"_versions/{name}", b"garbage")
        latest = handler.latest()
        assert latest is None, "files of other names must not be taken for versions"
        _check_versions(handler, [])
        handler.commit(first_candidate())
        _check_latest(handler, 1)
        _check_versions(handler, [1])

    def test_two_naming_schemes_are_refused(
        self, store: ObjectStore, handler: CommitHandler
    ) -> None:
        handler.commit(first_candidate(NamingScheme.V2))
        store.put(manifest_path(2, NamingScheme.V1), first_candidate().data)
        for name, look in (("latest", handler.latest), ("list_versions", handler.list_versions)):
            doing = f"{name} of a table whose manifests are named by two schemes"
            with must_raise(CorruptFileError, doing) as caught:
                look()
            assert "two schemes" in str(caught.error), f"the error of {doing} must say so"

    def test_another_handler_sees_a_commit_at_once(
        self,
        store: ObjectStore,
        handler: CommitHandler,
        make_handler: Callable[[ObjectStore], CommitHandler],
    ) -> None:
        other = make_handler(store)
        version = commit_transaction(handler, store, creation())
        for number in range(2, 6):
            writer = other if number % 2 else handler
            version = commit_transaction(writer, store, append(version.location.version), version)
            for reader in (handler, other):
                _check_latest(reader, number)
                _check_versions(reader, range(1, number + 1))

    def test_a_detached_version_is_found_by_its_number_only(
        self, store: ObjectStore, handler: CommitHandler
    ) -> None:
        handler.commit(first_candidate())
        path = manifest_path(DETACHED + 7)
        store.put(path, first_candidate().data)
        located = handler.locate(DETACHED + 7).path
        assert located == path, (
            f"locate of a detached version gave {located!r}; it must give {path!r}"
        )
        _check_latest(handler, 1)
        _check_versions(handler, [1])

    def test_a_detached_version_that_is_committed_is_never_the_latest(
        self, store: ObjectStore, handler: CommitHandler
    ) -> None:
        handler.commit(first_candidate())
        detached = first_candidate(version=DETACHED + 9)
        handler.commit(detached)
        location = handler.locate(DETACHED + 9)
        check_bytes(store.get(location.path), detached.data, "the manifest of a detached version")
        _check_latest(handler, 1)
        _check_versions(handler, [1])
        handler.commit(first_candidate(version=2))
        _check_latest(handler, 2)

    def test_tables_do_not_see_each_others_versions(
        self, store: ObjectStore, handler: CommitHandler, make_other: MakeOther
    ) -> None:
        assert make_other is not None, (
            "the fixture `make_other` is None; if tables can share nothing, say why in "
            "`tables_share_nothing`"
        )
        other_store, other = make_other()
        own, theirs = creation(), creation()
        commit_transaction(handler, store, own)
        latest = other.latest()
        assert latest is None, "latest must not give a version of another table"
        commit_transaction(other, other_store, theirs)
        for reader, its_store, transaction in ((handler, store, own), (other, other_store, theirs)):
            uuids = history(reader, its_store)
            assert uuids == [transaction.uuid], "a table must have its own versions and no others"
        commit_transaction(handler, store, append(1))
        _check_latest(other, 1)
        handler.forget()
        _check_latest(other, 1)

    def test_a_dropped_table_is_forgotten(self, store: ObjectStore, handler: CommitHandler) -> None:
        commit_transaction(handler, store, creation())
        for path in list_paths(store):
            store.delete(path)
        handler.forget()
        latest = handler.latest()
        assert latest is None, "forget must remove all records of a table whose files are removed"
        again = creation()
        commit_transaction(handler, store, again)
        uuids = history(handler, store)
        assert uuids == [again.uuid], "a new table must have its own versions and no others"


def _check_latest(handler: CommitHandler, expected: int) -> None:
    latest = handler.latest()
    version = None if latest is None else latest.version
    assert version == expected, f"latest gave version {version}; it must give {expected}"


def _check_versions(handler: CommitHandler, expected: Sequence[int]) -> None:
    locations = handler.list_versions()
    assert isinstance(locations, list | tuple), (
        f"list_versions gave a {type(locations).__name__}; it must give a list or tuple"
    )
    strange = [location for location in locations if not isinstance(location, ManifestLocation)]
    assert not strange, f"list_versions gave {strange}; it must give ManifestLocations"
    versions = [location.version for location in locations]
    assert versions == list(expected), (
        f"list_versions gave {versions}; it must give {list(expected)}, oldest first"
    )
