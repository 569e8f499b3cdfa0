"""No path leads out of the folder of a store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import InvalidPathError, LanceError, ObjectNotFoundError
from lance_core.store.base import ObjectStore, PutMode
from lance_core.store.functions import list_paths
from lance_core.store.local import Durability, LocalStore

Use = Callable[[ObjectStore, str], object]
READS: dict[str, Use] = {
    "get": lambda store, path: store.get(path),
    "get_ranges": lambda store, path: store.get_ranges(path, [ByteRange(0, 1)]),
    "head": lambda store, path: store.head(path),
    "copy": lambda store, path: store.copy(path, "copied"),
}
WRITES: dict[str, Use] = {
    "put": lambda store, path: store.put(path, b"overwritten"),
    "create": lambda store, path: store.put(path, b"overwritten", PutMode.create),
    "open_writer": lambda store, path: store.open_writer(path).close(),
    "copy": lambda store, path: store.copy("inside", path),
    "rename": lambda store, path: store.rename_if_absent("inside", path),
    "delete": lambda store, path: store.delete(path),
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"private")
    (outside / "big").write_bytes(b"private" * 20_000)
    return outside


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "inside").write_bytes(b"inside")
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "file")
    (root / "big").symlink_to(outside / "big")
    (root / "relative").symlink_to("../outside/file")
    (root / "dangling").symlink_to(outside / "new")
    (root / "sibling").symlink_to(tmp_path / "root-sibling")
    return root


@pytest.fixture
def store(root: Path) -> LocalStore:
    return LocalStore(root, Durability.fast)


@pytest.mark.parametrize("use", READS)
@pytest.mark.parametrize("path", ["folder/file", "file", "big", "relative", "folder/missing"])
def test_reads_do_not_follow_links_out(store: LocalStore, use: str, path: str) -> None:
    with pytest.raises(InvalidPathError, match="link"):
        READS[use](store, path)


@pytest.mark.parametrize("use", WRITES)
@pytest.mark.parametrize("path", ["folder/file", "folder/new", "folder/a/b", "dangling/x"])
def test_writes_do_not_follow_links_out(
    store: LocalStore, outside: Path, use: str, path: str
) -> None:
    with pytest.raises(InvalidPathError, match="link"):
        WRITES[use](store, path)
    assert sorted(path.name for path in outside.iterdir()) == ["big", "file"]
    assert (outside / "file").read_bytes() == b"private"


@pytest.mark.parametrize("use", WRITES)
@pytest.mark.parametrize("path", ["file", "dangling"])
def test_a_write_touches_the_link_and_never_its_target(
    store: LocalStore, outside: Path, use: str, path: str
) -> None:
    try:
        WRITES[use](store, path)
    except LanceError:
        assert use in {"create", "rename"}
    assert sorted(path.name for path in outside.iterdir()) == ["big", "file"]
    assert (outside / "file").read_bytes() == b"private"


def test_listings_do_not_follow_links_out(store: LocalStore) -> None:
    assert list_paths(store) == ["inside"]
    assert list(store.list_names("")) == ["inside"]
    for folder in ("folder", "folder/deeper"):
        with pytest.raises(InvalidPathError):
            list(store.list(folder))
        with pytest.raises(InvalidPathError):
            store.list_names(folder)


def test_links_inside_are_followed(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, Durability.fast)
    store.put("data/x", b"1")
    (tmp_path / "link").symlink_to("data/x")
    (tmp_path / "folder").symlink_to("data")
    assert bytes(store.get("link")) == bytes(store.get("folder/x")) == b"1"
    assert store.head("link").size == 1
    assert list_paths(store) == ["data/x", "link"]
    assert list_paths(store, "folder") == ["folder/x"]


def test_a_link_onto_itself_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    store = LocalStore(tmp_path, Durability.fast)
    for read in READS.values():
        with pytest.raises(LanceError):
            read(store, "loop")
    assert list_paths(store) == []


def test_a_link_that_changes_is_looked_at_again(tmp_path: Path, outside: Path) -> None:
    store = LocalStore(tmp_path / "root", Durability.fast)
    store.put("data/big", b"inside" * 20_000)
    store.put("link", b"x")
    (tmp_path / "root" / "link").unlink()
    (tmp_path / "root" / "link").symlink_to("data/big")
    assert store.get("link").size == 120_000
    (tmp_path / "root" / "link").unlink()
    (tmp_path / "root" / "link").symlink_to(outside / "big")
    with pytest.raises(InvalidPathError):
        store.get("link")


@pytest.mark.parametrize("name", ["file", "big"])
def test_a_link_that_changes_once_it_was_looked_at_leads_nowhere(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = LocalStore(tmp_path / "root", Durability.fast)
    store.put("data/inside", b"inside")
    link = tmp_path / "root" / "link"
    link.symlink_to("data/inside")
    resolve = os.path.realpath

    def and_swapped(path: str) -> str:
        resolved = resolve(path)
        link.unlink()
        link.symlink_to(outside / name)
        return resolved

    with monkeypatch.context() as patched:
        patched.setattr(os.path, "realpath", and_swapped)
        assert bytes(store.get("link")) == b"inside"
    with pytest.raises(InvalidPathError):
        store.get("link")


def test_a_folder_that_becomes_a_link_before_it_is_used_is_refused(
    tmp_path: Path, outside: Path
) -> None:
    store = LocalStore(tmp_path / "root", Durability.fast)
    with pytest.raises(ObjectNotFoundError):
        store.get("folder/file")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "folder").symlink_to(outside)
    with pytest.raises(InvalidPathError):
        store.get("folder/file")


def test_the_root_of_the_system_can_be_a_root() -> None:
    store = LocalStore("/", Durability.fast)
    assert "hostname" in {path.rpartition("/")[2] for path in store.list_names("etc")}
    with pytest.raises(InvalidPathError):
        store.get("/etc/hostname")
