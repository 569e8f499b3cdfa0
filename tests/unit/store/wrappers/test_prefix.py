"""A folder of a store as a store."""

from __future__ import annotations

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import (
    CorruptFileError,
    InvalidPathError,
    ObjectExistsError,
    ObjectNotFoundError,
)
from lance_core.store.base import PutMode
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.prefix import PrefixStore
from tests.each_case import each_case


def test_paths_are_relative_to_the_folder() -> None:
    inner = MemoryStore()
    store = PrefixStore(PrefixStore(inner, "a"), "b/c")
    store.put("x/y", b"1")
    inner.put("a/b/cc", b"1")
    assert list_paths(inner) == ["a/b/c/x/y", "a/b/cc"]
    assert list_paths(store) == ["x/y"]
    assert list_paths(store, "x", "x/a") == ["x/y"]
    assert list_paths(store, "x", "x/y") == []
    assert list(store.list_names("x")) == ["y"]
    assert store.head("x/y").path == "x/y"


def test_errors_name_the_callers_path() -> None:
    store = PrefixStore(MemoryStore(), "a/b")
    store.put("x", b"1")
    with pytest.raises(ObjectNotFoundError) as missing:
        store.get("missing")
    with pytest.raises(ObjectExistsError) as taken:
        store.put("x", b"2", PutMode.create)
    with pytest.raises(CorruptFileError) as short:
        store.get_ranges("x", [ByteRange(0, 2)])
    assert (missing.value.path, taken.value.path, short.value.path) == ("missing", "x", "x")


@each_case("prefix", ["", "/", "../x", "a/", "a/../b", "a//b"])
def test_a_prefix_is_a_folder(prefix: str) -> None:
    with pytest.raises(InvalidPathError):
        PrefixStore(MemoryStore(), prefix)


def test_guarantees_are_those_of_the_store() -> None:
    inner = MemoryStore()
    store = PrefixStore(inner, "a")
    assert store.capabilities is inner.capabilities
    assert store.coalesce_gap == inner.coalesce_gap
