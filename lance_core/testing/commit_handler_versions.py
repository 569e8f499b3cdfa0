"""Part of the contract of commit handlers: what is committed is found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_core.commits.attempt import commit_transaction
from lance_core.commits.base import CommitHandler, ManifestLocation
from lance_core.errors import CorruptFileError, DatasetNotFoundError, ObjectExistsError
from lance_core.store.base import ObjectStore
from lance_core.table.paths import DETACHED, NamingScheme, manifest_path
from lance_core.testing.sample_transactions import append, creation, first_candidate

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
        assert handler.latest() is None
        assert list(handler.list_versions()) == []
        with pytest.raises(DatasetNotFoundError):
            handler.locate(1)

    @each_naming
    def test_what_is_committed_is_found(
        self, store: ObjectStore, handler: CommitHandler, naming: NamingScheme
    ) -> None:
        candidate = first_candidate(naming)
        committed = handler.commit(candidate)
        latest = handler.latest()
        assert latest is not None
        for found in (committed, latest, handler.locate(1), *handler.list_versions()):
            assert (found.version, found.naming) == (1, naming)
            assert found.size in {None, len(candidate.data)}
            assert bytes(store.get(found.path)) == candidate.data
            assert not found.contradicts(committed)

    @each_naming
    def test_versions_are_listed_oldest_first(
        self, handler: CommitHandler, naming: NamingScheme
    ) -> None:
        for version in range(1, 13):
            handler.commit(first_candidate(naming, version))
        assert _versions(handler.list_versions()) == list(range(1, 13))
        latest = handler.latest()
        assert latest is not None
        assert latest.version == 12
        with pytest.raises(DatasetNotFoundError):
            handler.locate(13)

    @each_naming
    def test_a_version_is_never_replaced(
        self, store: ObjectStore, handler: CommitHandler, naming: NamingScheme
    ) -> None:
        first = first_candidate(naming)
        location = handler.commit(first)
        with pytest.raises(ObjectExistsError):
            handler.commit(first_candidate(naming))
        assert bytes(store.get(location.path)) == first.data
        assert _versions(handler.list_versions()) == [1]

    def test_what_loses_leaves_nothing_visible(
        self, store: ObjectStore, handler: CommitHandler
    ) -> None:
        handler.commit(first_candidate())
        before = sorted(found.path for found in store.list(""))
        loser = first_candidate()
        with pytest.raises(ObjectExistsError):
            handler.commit(loser)
        handler.discard(loser)
        assert sorted(found.path for found in store.list("")) == before

    def test_other_files_are_no_versions(self, store: ObjectStore, handler: CommitHandler) -> None:
        for name in NOT_MANIFESTS:
            store.put(f"_versions/{name}", b"garbage")
        assert handler.latest() is None
        assert list(handler.list_versions()) == []
        handler.commit(first_candidate())
        latest = handler.latest()
        assert latest is not None
        assert latest.version == 1
        assert _versions(handler.list_versions()) == [1]

    def test_two_naming_schemes_are_refused(
        self, store: ObjectStore, handler: CommitHandler
    ) -> None:
        handler.commit(first_candidate(NamingScheme.V2))
        store.put(manifest_path(2, NamingScheme.V1), first_candidate().data)
        with pytest.raises(CorruptFileError, match="two schemes"):
            handler.latest()
        with pytest.raises(CorruptFileError, match="two schemes"):
            handler.list_versions()

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
                latest = reader.latest()
                assert latest is not None
                assert latest.version == number

    def test_a_detached_version_is_found_by_its_number_only(
        self, store: ObjectStore, handler: CommitHandler
    ) -> None:
        handler.commit(first_candidate())
        store.put(manifest_path(DETACHED + 7), first_candidate().data)
        assert handler.locate(DETACHED + 7).path == manifest_path(DETACHED + 7)
        assert _versions(handler.list_versions()) == [1]


def _versions(locations: object) -> list[int]:
    assert isinstance(locations, list | tuple)
    assert all(isinstance(location, ManifestLocation) for location in locations)
    return [location.version for location in locations]
