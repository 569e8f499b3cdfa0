"""Part of the contract of object stores: listing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from lance_core.store.base import Guarantee, ObjectStore
from lance_core.store.shortcuts import list_paths

TREE = [
    "_versions/18446744073709551613.manifest",
    "_versions/18446744073709551614.manifest",
    "a",
    "data-old/x",
    "data.lance",
    "data/1.lance",
    "data/deep/er/2.lance",
    "data/deep.lance",
    "data0",
    "é",
    "z",
    "\uffee",
    "\U0001f600",
]
NAMES = [
    "with space",
    "100%",
    "%2e%2e",
    "%2F",
    "a+b",
    "a&b=c",
    "a#b",
    "a?b",
    "a;b",
    "a:b",
    "a'b\"c",
    "a*b[c]{d}",
    "~",
    "~user",
    "$HOME",
    "-rf",
    ".hidden",
    "...",
    "x.",
    "ünïcödé",
    "日本語",
    "\U0001f600",
    "e\u0301",
    "n" * 200,
]


def fill(store: ObjectStore, paths: list[str]) -> None:
    """Make objects whose content is their path."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda path: store.put(path, path.encode()), paths))


def in_order(paths: list[str]) -> list[str]:
    """Sorted by UTF-8 bytes."""
    return sorted(paths, key=str.encode)


class ListingTests:
    """Whole stores and folders, order, and where a listing starts."""

    def test_an_empty_store_lists_nothing(self, store: ObjectStore) -> None:
        for folder in ("", "folder", "folder/below"):
            assert list(store.list(folder)) == []
            assert list(store.list_names(folder)) == []

    def test_a_listing_holds_every_object_at_any_depth(self, store: ObjectStore) -> None:
        fill(store, TREE)
        found = list(store.list(""))
        assert in_order([meta.path for meta in found]) == in_order(TREE)
        assert all(meta.size == len(meta.path.encode()) for meta in found)
        assert all(meta.last_modified.tzinfo is not None for meta in found)

    def test_a_folder_holds_what_is_below_it_only(self, store: ObjectStore) -> None:
        fill(store, TREE)
        for folder in ("data", "data/deep", "_versions", "a", "dat", "missing"):
            below = [path for path in TREE if path.startswith(f"{folder}/")]
            assert in_order(list_paths(store, folder)) == in_order(below)

    def test_names_are_those_directly_in_a_folder(self, store: ObjectStore) -> None:
        fill(store, TREE)
        for folder in ("", "data", "data/deep", "_versions", "a", "missing"):
            prefix = f"{folder}/" if folder else ""
            below = [path[len(prefix) :] for path in TREE if path.startswith(prefix)]
            direct = [name for name in below if "/" not in name]
            assert in_order(list(store.list_names(folder))) == in_order(direct)

    def test_an_ordered_store_lists_by_the_bytes_of_paths(self, store: ObjectStore) -> None:
        fill(store, TREE)
        paths, names = list_paths(store), list(store.list_names(""))
        if store.capabilities.ordered_list is Guarantee.YES:
            assert paths == in_order(paths)
            assert names == in_order(names)
        assert len(paths) == len(TREE)

    @pytest.mark.parametrize(
        "start",
        [
            "",
            "data",
            "data.lance",
            "data/",
            "data/1.lance",
            "data/deep",
            "data/deep/",
            "data/deep/er/1",
            "data/deep/er/2.lance",
            "data/zzz",
            "data/1.lance/below",
            "é",
            "\uffff",
            "\U0010ffff",
        ],
    )
    def test_a_listing_starts_after_any_text(self, store: ObjectStore, start: str) -> None:
        fill(store, TREE)
        for folder in ("", "data"):
            prefix = f"{folder}/" if folder else ""
            later = [path for path in TREE if path.encode() > start.encode()]
            below = [path for path in later if path.startswith(prefix)]
            direct = [path[len(prefix) :] for path in below if "/" not in path[len(prefix) :]]
            assert in_order(list_paths(store, folder, start)) == in_order(below)
            assert in_order(list(store.list_names(folder, start))) == in_order(direct)

    def test_a_listing_of_many_objects_is_complete(self, store: ObjectStore) -> None:
        paths = [f"many/{number:05}" for number in range(1100)]
        fill(store, paths)
        assert in_order(list_paths(store, "many")) == paths
        assert in_order(list_paths(store, "", "many/01049")) == paths[1050:]
        assert in_order(list(store.list_names("many"))) == [f"{n:05}" for n in range(1100)]

    @pytest.mark.parametrize("name", NAMES, ids=ascii)
    def test_unusual_names_are_kept_as_they_are(self, store: ObjectStore, name: str) -> None:
        path = f"folder {name}/{name}"
        store.put(path, b"content")
        assert list_paths(store) == [path]
        assert list(store.list_names(f"folder {name}")) == [name]
        assert bytes(store.get(path)) == b"content"
        assert store.head(path).path == path
        store.copy(path, f"copy {name}")
        store.delete(path)
        assert list_paths(store) == [f"copy {name}"]

    def test_a_strong_store_lists_what_was_written(self, store: ObjectStore) -> None:
        seen = []
        for number in range(20):
            store.put(f"folder/{number}", b"1")
            seen.append(f"folder/{number}" in list_paths(store, "folder"))
            store.delete(f"folder/{number}")
            seen.append(f"folder/{number}" not in list_paths(store, "folder"))
        assert all(seen) or store.capabilities.strong_reads is not Guarantee.YES
