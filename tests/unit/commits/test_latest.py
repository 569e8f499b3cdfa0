"""Finding manifests by listing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from lance_core.commits.latest import list_manifests, locate_manifest, newest_manifest
from lance_core.errors import CorruptFileError, DatasetNotFoundError
from lance_core.store.base import ObjectStore
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import DETACHED, VERSION_HINT, NamingScheme, manifest_path
from lance_core_testing.stores.tracing import TracingStore

V1, V2 = NamingScheme


@pytest.fixture(params=["ordered", "unordered"])
def store(request: pytest.FixtureRequest, tmp_path) -> ObjectStore:
    if request.param == "ordered":
        return MemoryStore()
    return LocalStore(tmp_path, Durability.fast)


def fill(store: ObjectStore, versions: Sequence[int], naming: NamingScheme = V2) -> None:
    for version in versions:
        store.put(manifest_path(version, naming), b"%d" % version)


def newest_version(store: ObjectStore) -> int | None:
    newest = newest_manifest(store)
    return None if newest is None else newest.version


def test_without_manifests_there_is_none(store: ObjectStore) -> None:
    assert newest_manifest(store) is None
    store.put(VERSION_HINT, b'{"version":3}')
    assert newest_manifest(store) is None
    assert list_manifests(store) == []


@pytest.mark.parametrize("naming", [V1, V2])
@pytest.mark.parametrize("versions", [[1], [1, 2, 3], [9, 10, 11], [7, 3, 100, 20, 2]])
def test_the_newest_is_found_whatever_the_names(
    store: ObjectStore, naming: NamingScheme, versions: list[int]
) -> None:
    fill(store, versions, naming)
    newest = newest_manifest(store)
    assert newest is not None
    assert (newest.version, newest.naming) == (max(versions), naming)
    assert newest.path == manifest_path(max(versions), naming)
    assert newest.size == len(str(max(versions)))
    assert newest.etag is not None
    assert [found.version for found in list_manifests(store)] == sorted(versions)


@pytest.mark.parametrize("hint", [b'{"version":1}', b'{"version":9}', b"garbage", b""])
def test_a_hint_that_lies_changes_nothing(store: ObjectStore, hint: bytes) -> None:
    fill(store, [1, 2, 3])
    store.put(VERSION_HINT, hint)
    assert newest_version(store) == 3


def test_a_gap_hides_nothing(store: ObjectStore) -> None:
    fill(store, [2, 6])
    assert newest_version(store) == 6
    assert [found.version for found in list_manifests(store)] == [2, 6]


@pytest.mark.parametrize(
    "name",
    [
        ".tmp_4_0a1b",
        "!",
        "18446744073709551611.manifest-0a1b",
        "18446744073709551611.manifest#1",
        "00000000000000000000.manifest",
        "0000000000000000abcd.manifest",
        "09.manifest",
        "+9.manifest",
        "\uff19.manifest",
        ".manifest",
        "x" * 29,
        f"d{DETACHED}.manifest",
        "sub/9.manifest",
    ],
)
@pytest.mark.parametrize("naming", [V1, V2])
def test_what_is_no_manifest_is_passed_over(
    store: ObjectStore, naming: NamingScheme, name: str
) -> None:
    store.put(f"_versions/{name}", b"?")
    assert newest_version(store) is None
    fill(store, [2, 3], naming)
    assert newest_version(store) == 3
    assert [found.version for found in list_manifests(store)] == [2, 3]


@pytest.mark.parametrize(("first", "second"), [(V1, V2), (V2, V1)])
@pytest.mark.parametrize("versions", [(1, 2), (2, 1), (3, 40), (19, 3)])
def test_two_schemes_are_refused(
    store: ObjectStore, first: NamingScheme, second: NamingScheme, versions: tuple[int, int]
) -> None:
    fill(store, [versions[0]], first)
    fill(store, [versions[1]], second)
    for find in (newest_manifest, list_manifests):
        with pytest.raises(CorruptFileError, match="two schemes") as refused:
            find(store)
        assert refused.value.path == "_versions"


def test_an_ordered_store_is_asked_once_however_many_versions(tmp_path) -> None:
    store = TracingStore(MemoryStore())
    fill(store, range(1, 2001))
    store.trace.clear()
    assert newest_version(store) == 2000
    assert store.trace.counts == {"list": 1}


def test_an_unordered_store_is_asked_for_names_and_one_object(tmp_path) -> None:
    store = TracingStore(LocalStore(tmp_path, Durability.fast))
    fill(store, range(1, 50))
    store.trace.clear()
    assert newest_version(store) == 49
    assert store.trace.counts == {"list_names": 1, "head": 1}


class Vanishing(LocalStore):
    """Its newest manifest is cleaned up right after it was listed, once."""

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        names = list(super().list_names(folder, start_after))
        if len(names) == 2:
            self.put(manifest_path(9), b"9")
            self.delete(manifest_path(3))
        return iter(names)


def test_a_manifest_that_vanishes_is_not_the_newest(tmp_path) -> None:
    store = Vanishing(tmp_path, Durability.fast)
    fill(store, [2, 3])
    assert newest_version(store) == 9


@pytest.mark.parametrize("naming", [V1, V2])
def test_a_version_is_located_by_either_name(store: ObjectStore, naming: NamingScheme) -> None:
    fill(store, [5], naming)
    found = locate_manifest(store, 5)
    assert (found.version, found.naming, found.size) == (5, naming, 1)
    with pytest.raises(DatasetNotFoundError, match="no version 6"):
        locate_manifest(store, 6)


def test_a_detached_version_is_located_by_its_number(store: ObjectStore) -> None:
    store.put(manifest_path(DETACHED + 1), b"")
    assert locate_manifest(store, DETACHED + 1).path.startswith("_versions/d")
    with pytest.raises(DatasetNotFoundError):
        locate_manifest(store, DETACHED + 2)


HINTS = [
    b'{"version":0}',
    b'{"version":18446744073709551615}',
    b'{"version":-1}',
    b'{"version":"3"}',
    b'{"version":' + b"9" * 400 + b"}",
    b"\x00" * 100,
    b"[" * 10_000,
]


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("naming", [V1, V2])
def test_no_hint_whatever_is_read(store: ObjectStore, hint: bytes, naming: NamingScheme) -> None:
    fill(store, [1, 2, 3], naming)
    store.put(VERSION_HINT, hint)
    traced = TracingStore(store)
    newest = newest_manifest(traced)
    assert newest is not None
    assert newest.version == 3
    assert not [call for call in traced.trace.records if call.call.path == VERSION_HINT]
    assert [found.version for found in list_manifests(store)] == [1, 2, 3]


@pytest.mark.parametrize("naming", [V1, V2])
def test_a_hint_that_is_a_folder_changes_nothing(store: ObjectStore, naming: NamingScheme) -> None:
    store.put(f"{VERSION_HINT}/9.manifest", b"?")
    assert newest_version(store) is None
    fill(store, [1, 2], naming)
    assert newest_version(store) == 2
    assert [found.version for found in list_manifests(store)] == [1, 2]


def test_two_schemes_are_refused_on_an_ordered_store_within_the_first_page() -> None:
    store = MemoryStore()
    fill(store, range(1, 999))
    fill(store, [2000], V1)
    with pytest.raises(CorruptFileError, match="two schemes"):
        newest_manifest(store)


def test_two_schemes_beyond_the_first_page_are_refused_by_whoever_lists_all() -> None:
    """To find the newest version of a V2 table, one page is looked at; the docs say so."""
    store = MemoryStore()
    fill(store, range(1, 1101))
    fill(store, [2000], V1)
    assert newest_version(store) == 1100
    with pytest.raises(CorruptFileError, match="two schemes"):
        list_manifests(store)


def test_old_names_are_found_on_an_ordered_store_however_many() -> None:
    store = TracingStore(MemoryStore())
    fill(store, range(1, 1201), V1)
    store.trace.clear()
    assert newest_version(store) == 1200
    assert store.trace.counts == {"list": 1}


@pytest.mark.parametrize("naming", [V1, V2])
def test_detached_versions_are_not_the_newest(store: ObjectStore, naming: NamingScheme) -> None:
    fill(store, [1, 2], naming)
    for version in (DETACHED, DETACHED + 3, 2 * DETACHED - 1):
        store.put(manifest_path(version, naming), b"detached")
    assert newest_version(store) == 2
    assert [found.version for found in list_manifests(store)] == [1, 2]
    assert (
        locate_manifest(store, 2 * DETACHED - 1).path == f"_versions/d{2 * DETACHED - 1}.manifest"
    )
