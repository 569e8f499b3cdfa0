"""Part of the contract of object stores: writes that must be the only ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from lance_core.errors import ObjectExistsError, ObjectNotFoundError, UnsupportedFeatureError
from lance_core.store.base import Guarantee, ObjectStore, PutMode
from lance_core.store.shortcuts import exists, list_paths

THREADS = 8
KEYS = 20


class ExclusiveWriteTests:
    """Creating, renaming and copying to where nothing is: guaranteed, or refused."""

    def test_put_if_absent_never_replaces(self, store: ObjectStore) -> None:
        guarantee = store.capabilities.put_if_absent

        def create(path: str, content: bytes) -> None:
            store.put(path, content, PutMode.create)

        _check_never_replaces(store, guarantee, create)

    def test_rename_if_absent_never_replaces(self, store: ObjectStore) -> None:
        guarantee = store.capabilities.rename_if_absent

        def create(path: str, content: bytes) -> None:
            store.put("source", content)
            try:
                store.rename_if_absent("source", path)
            except ObjectExistsError:
                assert bytes(store.get("source")) == content
                raise
            finally:
                store.delete("source")

        _check_never_replaces(store, guarantee, create)

    def test_copy_if_absent_never_replaces(self, store: ObjectStore) -> None:
        guarantee = store.capabilities.copy_if_absent

        def create(path: str, content: bytes) -> None:
            store.put("source", content)
            try:
                store.copy("source", path, PutMode.create)
            finally:
                store.delete("source")

        _check_never_replaces(store, guarantee, create)

    def test_of_racing_puts_exactly_one_wins(
        self, store: ObjectStore, reopened: ObjectStore
    ) -> None:
        def create(path: str, writer: int) -> None:
            chosen = reopened if writer % 2 else store
            chosen.put(path, b"%d" % writer, PutMode.create)

        _check_race(store, store.capabilities.put_if_absent, create)

    def test_of_racing_renames_exactly_one_wins(self, store: ObjectStore) -> None:
        def create(path: str, writer: int) -> None:
            store.put(f"sources/{path}-{writer}", b"%d" % writer)
            store.rename_if_absent(f"sources/{path}-{writer}", path)

        _check_race(store, store.capabilities.rename_if_absent, create)

    def test_of_racing_copies_exactly_one_wins(self, store: ObjectStore) -> None:
        def create(path: str, writer: int) -> None:
            store.put(f"sources/{path}-{writer}", b"%d" % writer)
            store.copy(f"sources/{path}-{writer}", path, PutMode.create)

        _check_race(store, store.capabilities.copy_if_absent, create)

    def test_a_rename_moves(self, store: ObjectStore) -> None:
        store.put("a/source", b"content")
        if store.capabilities.rename_if_absent is Guarantee.YES:
            store.rename_if_absent("a/source", "new/folder/target")
            assert list_paths(store) == ["new/folder/target"]
            assert bytes(store.get("new/folder/target")) == b"content"
            with pytest.raises(ObjectNotFoundError) as caught:
                store.rename_if_absent("a/source", "b")
            assert caught.value.path == "a/source"
        elif store.capabilities.rename_if_absent is Guarantee.NO:
            with pytest.raises(UnsupportedFeatureError):
                store.rename_if_absent("a/source", "new/folder/target")
            assert list_paths(store) == ["a/source"]
        assert not exists(store, "b")


def _check_never_replaces(
    store: ObjectStore, guarantee: Guarantee, create: Callable[[str, bytes], None]
) -> None:
    """Both attempts end as ``guarantee`` says, and no object is replaced in any case."""
    store.put("folder/old", b"old")
    refusal = UnsupportedFeatureError if guarantee is Guarantee.NO else ObjectExistsError
    with pytest.raises((refusal, UnsupportedFeatureError)) as caught:
        create("folder/old", b"new")
    if guarantee is Guarantee.YES:
        assert isinstance(caught.value, ObjectExistsError)
        assert caught.value.path == "folder/old"
        create("folder/new", b"new")
        assert bytes(store.get("folder/new")) == b"new"
        store.delete("folder/new")
        create("folder/new", b"anew")
        assert bytes(store.get("folder/new")) == b"anew"
    elif guarantee is Guarantee.NO:
        with pytest.raises(UnsupportedFeatureError):
            create("folder/new", b"new")
        assert not exists(store, "folder/new")
    assert bytes(store.get("folder/old")) == b"old"


def _check_race(
    store: ObjectStore, guarantee: Guarantee, create: Callable[[str, int], None]
) -> None:
    """Of `THREADS` that create each of `KEYS` paths at once, one wins, and its bytes are there."""
    if guarantee is not Guarantee.YES:
        refused = (UnsupportedFeatureError, ObjectExistsError)
        assert _raised(create, 1) in (None, *refused)
        assert _raised(create, 2) in refused
        return
    start = Barrier(THREADS)

    def race(writer: int) -> list[str]:
        won = []
        start.wait()
        for key in range(KEYS):
            try:
                create(f"folder/{key}", writer)
            except ObjectExistsError:
                continue
            won.append(f"folder/{key}")
        return won

    with ThreadPoolExecutor(THREADS) as threads:
        won = list(threads.map(race, range(THREADS)))
    winners = {path: writer for writer, paths in enumerate(won) for path in paths}
    assert sum(len(paths) for paths in won) == KEYS
    assert {path: b"%d" % writer for path, writer in winners.items()} == {
        path: bytes(store.get(path)) for path in list_paths(store, "folder")
    }


def _raised(create: Callable[[str, int], None], writer: int) -> type[Exception] | None:
    try:
        create("folder/tried", writer)
    except (UnsupportedFeatureError, ObjectExistsError) as error:
        return type(error)
    return None
