"""Part of the contract of object stores: paths that every method refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_core.errors import InvalidPathError, UnsupportedFeatureError
from lance_core.hookspecs.stores import ByteRange, ObjectStore, PutMode, list_paths

_LEAVING = [
    *("..", "../", "../x", "../../etc/passwd", "a/..", "a/../", "a/../b", "a/../../b"),
    *("a/b/../../../c", "./..", "./../x", "_versions/../../x", "data/../../other/data/x"),
    *("..//x", "a/..//b", "x/../x", "../.", ".../../..", "..\\..\\x", "a\\..\\b", "%2e%2e/.."),
]
_ABSOLUTE = [
    *("/", "//", "/x", "/etc/passwd", "//host/share", "///x", "/..", "/./x", "/a/b/"),
    *("C:", "C:/", "C:x", "c:/windows/x", "C:\\x", "z:\\..\\x"),
    *("\\", "\\x", "\\\\host\\share", "\\\\?\\C:\\x", "a\\b", "a\\", "\\..\\x"),
]
_HOLLOW = [
    *(".", "./", "./x", "a/.", "a/./b", "a/b/.", "a/", "a/b/", "a//b", "a///b", "a//", "a/b//"),
]
_UNPRINTABLE = [
    *("\0", "a\0", "\0a", "a\0b", "a/\0/b", "a\nb", "a\rb", "a\tb", "\x1b[2J", "a\x7f", "a\x85b"),
    *("\x01", "a/b\n", "\ud800", "a\udcffb", "\udfff/x"),
]
_LONG = ["a" * 256, "a/" + "b" * 300, "é" * 130, "/".join(["abcdefghi"] * 103), "x/" * 600 + "x"]

HOSTILE = [*_LEAVING, *_ABSOLUTE, *_HOLLOW, *_UNPRINTABLE, *_LONG]
"""Paths that are invalid, or that name another object on some system."""

Use = Callable[[ObjectStore, str], object]

USES: dict[str, Use] = {
    "get": lambda store, path: store.get(path),
    "get_ranges": lambda store, path: store.get_ranges(path, [ByteRange(0, 1)]),
    "head": lambda store, path: store.head(path),
    "put": lambda store, path: store.put(path, b"x"),
    "put_if_absent": lambda store, path: store.put(path, b"x", PutMode.create),
    "open_writer": lambda store, path: store.open_writer(path),
    "list": lambda store, path: list(store.list(path)),
    "list_names": lambda store, path: list(store.list_names(path)),
    "delete": lambda store, path: store.delete(path),
    "copy_from": lambda store, path: store.copy(path, "target"),
    "copy_to": lambda store, path: store.copy("object", path),
}


class PathTests:
    """Paths that leave the root or are ambiguous are refused."""

    def test_hostile_paths_are_refused(self, store: ObjectStore) -> None:
        store.put("object", b"content")
        for name, use in USES.items():
            accepted = [path for path in HOSTILE if not _is_refused(store, use, path)]
            assert accepted == [], f"{name} must refuse these paths with InvalidPathError"
            _check_unchanged(store)

    def test_an_object_needs_a_path(self, store: ObjectStore) -> None:
        store.put("object", b"content")
        for name, use in USES.items():
            if not name.startswith("list"):
                assert _is_refused(store, use, ""), f"{name} must refuse an empty path"
        _check_unchanged(store)

    @pytest.mark.parametrize("is_source", [True, False])
    def test_renames_refuse_hostile_paths(self, store: ObjectStore, is_source: bool) -> None:
        store.put("object", b"content")

        def rename(store: ObjectStore, path: str) -> None:
            store.rename_if_absent(*((path, "target") if is_source else ("object", path)))

        accepted = [path for path in (*HOSTILE, "") if not _is_refused(store, rename, path)]
        assert accepted == [], "rename_if_absent must refuse these paths with InvalidPathError"
        _check_unchanged(store)


def _is_refused(store: ObjectStore, use: Use, path: str) -> bool:
    """True if the store refuses ``path``, or does not support the operation."""
    try:
        use(store, path)
    except (InvalidPathError, UnsupportedFeatureError):
        return True
    return False


def _check_unchanged(store: ObjectStore) -> None:
    paths = list_paths(store)
    assert paths == ["object"], "a path that is refused must change nothing"
