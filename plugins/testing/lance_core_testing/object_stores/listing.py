"""Part of the contract of object stores: listing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from lance_core.errors import ObjectNotFoundError
from lance_core.hookspecs.stores import ByteRange, Guarantee, ObjectStore, list_paths
from lance_core_testing.assertions import check_bytes, must_raise

TREE = [
    "_versions/18446744073709551613.manifest",
    "_versions/18446744073709551614.manifest",
    "a",
    "data-old/x",
    "data.lance",
    "Zebra",
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
    "a#1",
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
ESCAPES_AND_LONG_NAMES = [
    *(
        "#1",
        "object#1",
        "%20",
        "a%20b",
        "a b",
        "a%2520b",
        "a%2Fb",
        "object",
        "\u00e9t\u00e9 \u65e5",
    ),
    "n" * 255,
    "\u00e9" * 127 + "n",  # 255 bytes of UTF-8 in 128 characters
    "\u65e5" * 85,
    "\U0001f600" * 63 + "%20",
]
"""Names that a store confuses which decodes names, appends to them or counts characters."""
STARTS = [
    *("", "data", "data.lance", "data/", "data/1.lance", "data/deep", "data/deep/"),
    *("data/deep/er/1", "data/deep/er/2.lance", "data/zzz", "data/1.lance/below"),
    *("\u00e9", "\uffff", "\U0010ffff"),
]
"""Where listings of `TREE` start."""
ALIKE = [
    *("Case/Object", "case/object", "case/Object", "CASE/OBJECT"),
    *("stra\u00dfe", "strasse", "\u00e9", "e\u0301", "\u212b", "\u00c5"),
    *("a", "a ", "a.", "1", "01"),
]
"""Paths that differ only in case, in Unicode normalisation or in one character."""


def fill(store: ObjectStore, paths: list[str]) -> None:
    """Create objects whose content is their path."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda path: store.put(path, path.encode()), paths))


def in_order(paths: list[str]) -> list[str]:
    """``paths`` sorted by UTF-8 bytes."""
    return sorted(paths, key=str.encode)


class ListingTests:
    """Whole stores and folders, order, and where a listing starts."""

    def test_an_empty_store_lists_nothing(self, store: ObjectStore) -> None:
        for folder in ("", "folder", "folder/below"):
            listed = [*store.list(folder), *store.list_names(folder)]
            assert listed == [], f"a listing of {folder!r} in an empty store must be empty"

    def test_a_listing_holds_every_object_at_any_depth(self, store: ObjectStore) -> None:
        fill(store, TREE)
        listed = list(store.list(""))
        _check_same([meta.path for meta in listed], TREE, "list")
        for meta in listed:
            size = len(meta.path.encode())
            assert meta.size == size, f"list gave {meta} for an object of {size} bytes"
            assert meta.last_modified.tzinfo is not None, f"list gave {meta}: no time zone"

    def test_a_folder_holds_what_is_below_it_only(self, store: ObjectStore) -> None:
        fill(store, TREE)
        for folder in ("data", "data/deep", "_versions", "a", "dat", "missing"):
            below = [path for path in TREE if path.startswith(f"{folder}/")]
            _check_same(list_paths(store, folder), below, f"list of {folder!r}")

    def test_names_are_those_directly_in_a_folder(self, store: ObjectStore) -> None:
        fill(store, TREE)
        for folder in ("", "data", "data/deep", "_versions", "a", "missing"):
            prefix = f"{folder}/" if folder else ""
            below = [path[len(prefix) :] for path in TREE if path.startswith(prefix)]
            direct = [name for name in below if "/" not in name]
            _check_same(list(store.list_names(folder)), direct, f"list_names of {folder!r}")

    def test_an_ordered_store_lists_by_the_bytes_of_paths(self, store: ObjectStore) -> None:
        fill(store, TREE)
        paths, names = list_paths(store), list(store.list_names(""))
        if store.capabilities.ordered_list is Guarantee.YES:
            sentence = "ordered_list is YES: a listing must ascend by the UTF-8 bytes of paths"
            assert paths == in_order(paths), sentence
            assert names == in_order(names), sentence
        _check_same(paths, TREE, "list")

    def test_a_listing_starts_after_any_text(self, store: ObjectStore) -> None:
        fill(store, TREE)
        for start, folder in itertools.product(STARTS, ("", "data")):
            prefix = f"{folder}/" if folder else ""
            later = [path for path in TREE if path.encode() > start.encode()]
            below = [path for path in later if path.startswith(prefix)]
            direct = [path[len(prefix) :] for path in below if "/" not in path[len(prefix) :]]
            doing = f"of {folder!r} after {start!r}"
            _check_same(list_paths(store, folder, start), below, f"list {doing}")
            _check_same(list(store.list_names(folder, start)), direct, f"list_names {doing}")

    def test_a_listing_of_many_objects_is_complete(self, store: ObjectStore) -> None:
        paths = [f"many/{number:05}" for number in range(1100)]
        fill(store, paths)
        _check_same(list_paths(store, "many"), paths, "list of 1100 objects")
        _check_same(list_paths(store, "", "many/01049"), paths[1050:], "list after 1050 objects")
        names = [f"{number:05}" for number in range(1100)]
        _check_same(list(store.list_names("many")), names, "list_names of 1100 objects")

    def test_unusual_names_are_kept_as_they_are(self, store: ObjectStore) -> None:
        for name in NAMES:
            path = f"folder {name}/{name}"
            store.put(path, b"content")
            _check_same(list_paths(store), [path], f"list after put of {path!r}")
            _check_same(list(store.list_names(f"folder {name}")), [name], f"list_names {name!r}")
            check_bytes(store.get(path), b"content", f"get of {path!r}")
            told = store.head(path).path
            assert told == path, f"head of {path!r} names {told!r}; it must name what was asked for"
            copy = f"copy {name}"
            store.copy(path, copy)
            store.delete(path)
            _check_same(list_paths(store), [copy], f"list after copy to {copy!r} and delete")
            store.delete(copy)

    def test_escapes_and_names_of_255_bytes_are_kept_by_every_method(
        self, store: ObjectStore
    ) -> None:
        has_rename = store.capabilities.rename_if_absent is Guarantee.YES
        for name in ESCAPES_AND_LONG_NAMES:
            content = f"content of {name}".encode()
            store.put(f"put/{name}", content)
            with store.open_writer(f"{name}/written") as writer:
                writer.write(content)
            store.copy(f"put/{name}", f"copied/{name}")
            if has_rename:
                store.rename_if_absent(f"copied/{name}", f"renamed/{name}")
            _check_same(list_paths(store, name), [f"{name}/written"], f"list of {name!r}")
            after = list_paths(store, "put", f"put/{name}")
            assert f"put/{name}" not in after, f"list gives {name!r}, after which it must start"
        folders = ["put", "renamed" if has_rename else "copied"]
        for folder in folders:
            _check_same(list(store.list_names(folder)), ESCAPES_AND_LONG_NAMES, f"list of {folder}")
        for name in ESCAPES_AND_LONG_NAMES:
            content = f"content of {name}".encode()
            for path in (f"{name}/written", *(f"{folder}/{name}" for folder in folders)):
                check_bytes(store.get(path), content, f"get of {path!r} beside names like it")
                (part,) = store.get_ranges(path, [ByteRange(8, len(content))])
                check_bytes(part, content[8:], f"get_ranges of {path!r}")
                told = store.head(path).path
                assert told == path, f"head of {path!r} names {told!r}"
                store.delete(path)
        _check_same(list_paths(store), [], "list after every object was deleted")

    def test_paths_that_look_alike_are_told_apart(self, store: ObjectStore) -> None:
        for number, path in enumerate(ALIKE):
            with must_raise(ObjectNotFoundError, f"get of {path!r}, where others are,"):
                store.get(path)
            store.put(path, b"%d" % number)
        for number, path in enumerate(ALIKE):
            check_bytes(store.get(path), b"%d" % number, f"get of {path!r} beside others like it")
        store.delete(ALIKE[0])
        _check_same(list_paths(store), ALIKE[1:], f"list after delete of {ALIKE[0]!r}")

    def test_a_strong_store_lists_what_was_written(self, store: ObjectStore) -> None:
        is_strong = store.capabilities.strong_reads is Guarantee.YES
        for number in range(20):
            path = f"folder/{number}"
            store.put(path, b"1")
            there = path in list_paths(store, "folder")
            store.delete(path)
            gone = path not in list_paths(store, "folder")
            if is_strong:
                sentence = "strong_reads is YES: a listing must show every write before it"
                assert there, f"{path!r} was put and is not listed; {sentence}"
                assert gone, f"{path!r} was deleted and is listed; {sentence}"


def _check_same(listed: Sequence[str], expected: Sequence[str], doing: str) -> None:
    """Raise `AssertionError` unless both contain the same paths once, in any order."""
    missing, extra = sorted(set(expected) - set(listed)), sorted(set(listed) - set(expected))
    assert not missing, f"{doing} does not give {missing}, which must be there"
    assert not extra, f"{doing} gives {extra}, which must not be there"
    assert len(listed) == len(expected), f"{doing} gives something twice: {sorted(listed)}"
