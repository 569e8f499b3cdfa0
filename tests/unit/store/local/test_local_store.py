"""Local files beyond the contract of all stores."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lance_core.errors import InvalidInputError, ObjectExistsError, StoreError
from lance_core.store.base import Guarantee, PutMode
from lance_core.store.functions import list_paths
from lance_core.store.local import Disk, Durability, LocalStore, open_local
from lance_core.store.local.walk import meta_of
from lance_core.store.local.writer import FLUSH_BYTES
from lance_core.store.uri import parse_uri
from tests.disks import RecordingDisk


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "root", Durability.fast)


@pytest.fixture
def umask() -> Iterator[int]:
    previous = os.umask(0o027)
    yield 0o027
    os.umask(previous)


def test_files_have_the_permissions_of_ordinary_files(store: LocalStore, umask: int) -> None:
    store.put("a", b"1")
    store.put("b", b"1", PutMode.create)
    with store.open_writer("c") as writer:
        writer.write(b"1")
    store.copy("a", "d")
    modes = {path.name: path.stat().st_mode & 0o777 for path in Path(store.root).iterdir()}
    assert modes == dict.fromkeys("abcd", 0o666 & ~umask)


def test_opening_makes_no_folder(store: LocalStore) -> None:
    assert list_paths(store) == []
    with pytest.raises(FileNotFoundError):
        store.get("x")
    store.delete("x")
    assert not Path(store.root).exists()


def test_a_root_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    store = LocalStore(tmp_path / "file", Durability.fast)
    with pytest.raises(FileNotFoundError):
        store.get("x")
    with pytest.raises(StoreError):
        store.put("x", b"1")
    with pytest.raises(StoreError):
        store.put("a/b", b"1", PutMode.create)
    assert (tmp_path / "file").read_bytes() == b"1"


def test_an_object_is_no_folder_and_a_folder_no_object(store: LocalStore) -> None:
    store.put("a", b"1")
    store.put("f/x", b"1")
    with pytest.raises(StoreError):
        store.put("a/b", b"1")
    with pytest.raises(StoreError):
        store.put("f", b"1")
    with pytest.raises(ObjectExistsError):
        store.put("f", b"1", PutMode.create)
    assert list_paths(store) == ["a", "f/x"]


def test_failed_writes_leave_no_files(store: LocalStore, tmp_path: Path) -> None:
    store.put("a", b"1")
    for attempt in (
        lambda: store.put("a", b"2", PutMode.create),
        lambda: store.put("a/b", b"2"),
        lambda: store.copy("a", "a", PutMode.create),
        lambda: store.open_writer("a/b"),
    ):
        with pytest.raises((ObjectExistsError, StoreError)):
            attempt()
    assert [path.name for path in Path(store.root).iterdir()] == ["a"]


@pytest.mark.parametrize("mode", ["create", None, True])
def test_a_mode_that_is_none_is_refused(store: LocalStore, mode: object) -> None:
    store.put("a", b"1")
    with pytest.raises(InvalidInputError):
        store.put("a", b"2", mode)  # type: ignore[arg-type]  # what is tested
    assert bytes(store.get("a")) == b"1"


def test_listings_are_sorted_though_not_guaranteed_to_be_cheap(store: LocalStore) -> None:
    paths = ["a-b/x", "a.b", "a/x", "a0", "b/c/d", "b/c-d", "é", "\U0001f600"]
    for path in paths:
        store.put(path, b"1")
    assert list_paths(store) == sorted(paths, key=str.encode)
    assert store.capabilities.ordered_list is Guarantee.NO


def test_unfinished_files_are_listed(store: LocalStore) -> None:
    writer = store.open_writer("folder/x")
    (name,) = store.list_names("folder")
    assert name.startswith(".tmp")
    writer.abort()
    assert list_paths(store) == []


def test_names_that_no_path_can_have_are_no_objects(store: LocalStore) -> None:
    store.put("folder/x", b"1")
    folder = os.fsencode(store.root) + b"/folder/"
    for name in (b"a\\b", b"a\nb", b"\xff\xfe", b"a\x1b"):
        Path(os.fsdecode(folder + name)).write_bytes(b"1")
    Path(store.root, "C:x").write_bytes(b"1")
    Path(store.root, "folder", "C:x").write_bytes(b"1")
    assert list_paths(store) == ["folder/C:x", "folder/x"]
    assert sorted(store.list_names("folder")) == ["C:x", "x"]
    assert list(store.list_names("")) == []


def test_a_listing_survives_what_vanishes_meanwhile(store: LocalStore) -> None:
    for number in range(300):
        store.put(f"a/{number:03}", b"1")
        store.put(f"b/{number:03}/x", b"1")
    listing = store.list("")
    assert next(listing).path == "a/000"
    for path in list_paths(store):
        store.delete(path)
    for folder in sorted(Path(store.root).rglob("*"), reverse=True):
        folder.rmdir()
    assert list(listing) == []


@pytest.mark.parametrize("seconds", [2**40, -(2**40)])
def test_a_file_of_an_impossible_date_is_listed(seconds: int) -> None:
    class Status:
        st_mtime_ns = seconds * 10**9
        st_ino = st_size = 1

    assert meta_of("x", Status()).last_modified.tzinfo is not None  # type: ignore[arg-type]


def test_a_very_deep_folder_is_listed(store: LocalStore) -> None:
    deep = "/".join(["d"] * 400)
    store.put(f"{deep}/x", b"1")
    assert list_paths(store) == [f"{deep}/x"]


def test_large_buffers_are_written_from_where_they_are(tmp_path: Path) -> None:
    seen: list[memoryview] = []

    class Watching(RecordingDisk):
        def write(self, descriptor: int, views: Sequence[memoryview], place: int) -> None:
            seen.extend(views)
            super().write(descriptor, views, place)

    store = LocalStore(tmp_path, Durability.fast, Watching())
    data = bytearray(3 * FLUSH_BYTES)
    with store.open_writer("x") as writer:
        for _ in range(100):
            writer.write(b"small")
        assert seen == []
        writer.write(data)
        assert len(seen) == 101
        assert seen[-1].obj is data
    assert store.head("x").size == 500 + len(data)


def test_a_writer_holds_a_bounded_number_of_bytes(store: LocalStore) -> None:
    with store.open_writer("x") as writer:
        for _ in range(5000):
            writer.write(bytes(1000))
        unwritten = 5_000_000 - sum(p.stat().st_size for p in Path(store.root).iterdir())
        assert unwritten <= FLUSH_BYTES


def test_a_forgotten_writer_removes_its_file(store: LocalStore) -> None:
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    store.open_writer("x").write(b"1")
    gc.collect()
    assert list_paths(store) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_forked_child_leaves_its_parents_writer_alone(store: LocalStore) -> None:
    writer = store.open_writer("x")
    writer.write(b"1")
    child = os.fork()
    if child == 0:
        writer.__del__()
        os._exit(0)
    os.waitpid(child, 0)
    writer.close()
    assert bytes(store.get("x")) == b"1"


@pytest.mark.parametrize("pieces", [[b"0123456789"], [b"01234", b"", b"56789"], [b""], []])
def test_a_write_goes_on_where_the_system_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes]
) -> None:
    write = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda file, data, at: write(file, [b"".join(data)[:3]], at))
    disk = Disk()
    descriptor = disk.create(f"{tmp_path}/x")
    disk.write(descriptor, [memoryview(b"ab")], 0)
    disk.write(descriptor, [memoryview(piece) for piece in pieces], 2)
    os.close(descriptor)
    assert (tmp_path / "x").read_bytes() == b"ab" + b"".join(pieces)


def test_one_write_takes_thousands_of_pieces_in_any_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [memoryview(bytes([n % 256]) * (n % 5)) for n in range(5000)]
    write, portions = os.pwritev, itertools.cycle([1, 7, 500, 4000])

    def some(file: int, data: Sequence[memoryview], at: int) -> int:
        return write(file, [b"".join(data)[: next(portions)]], at)

    disk = Disk()
    descriptor = disk.create(f"{tmp_path}/x")
    monkeypatch.setattr(os, "pwritev", some)
    disk.write(descriptor, [*pieces, memoryview(bytes(10_000))], 0)
    os.close(descriptor)
    assert (tmp_path / "x").read_bytes() == b"".join(pieces) + bytes(10_000)


def test_a_store_can_be_sent_to_another_process(store: LocalStore) -> None:
    store.put("x", b"1")
    other = pickle.loads(pickle.dumps(store))
    assert bytes(other.get("x")) == b"1"
    assert (other.root, other.durability) == (store.root, Durability.fast)


def test_a_store_is_opened_by_url(tmp_path: Path) -> None:
    store = open_local(parse_uri(f"file://{tmp_path}/a%20b"), {"durability": "fast", "other": "x"})
    assert (store.root, store.durability) == (f"{tmp_path}/a b", Durability.fast)
    with pytest.raises(InvalidInputError):
        open_local(parse_uri("s3://b/x"), {})
    with pytest.raises(InvalidInputError):
        open_local(parse_uri(tmp_path), {"durability": "often"})


def test_empty_folders_are_removed_and_others_stay(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    store = LocalStore(root, Durability.fast)
    for path in ("a/b/c", "a/d", "e/f/g"):
        store.put(path, b"x")
    (root / "e" / "link").symlink_to(outside)
    for path in ("a/b/c", "a/d", "e/f/g"):
        store.delete(path)
    store.put("e/stays", b"x")
    store.remove_empty_folders("a")
    assert sorted(path.name for path in root.iterdir()) == ["e"]
    store.remove_empty_folders()
    assert sorted(path.name for path in (root / "e").iterdir()) == ["link", "stays"]
    assert outside.is_dir()
    store.delete("e/stays")
    (root / "e" / "link").unlink()
    store.remove_empty_folders()
    assert not root.exists()
    store.put("a/b", b"again")
    assert store.get("a/b").to_pybytes() == b"again"
