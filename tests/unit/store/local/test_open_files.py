"""Local reads: no copies, no open descriptors, never stale."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import CorruptFileError, ObjectNotFoundError, StoreError
from lance_core.store.local import Durability, LocalStore, open_files
from lance_core.store.local.open_files import MAP_FROM, MAX_OPEN_FILES, SETTLED_NS

BIG = 4 * MAP_FROM


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path, Durability.fast)


def maps_of(path: Path) -> int:
    return Path("/proc/self/maps").read_text().count(str(path))


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_ranges_of_large_files_are_views_of_one_mapping(store: LocalStore, tmp_path: Path) -> None:
    store.put("x", os.urandom(BIG))
    whole = store.get("x")
    first, second = store.get_ranges("x", [ByteRange(10, 20), ByteRange(BIG - 8, BIG)])
    assert first.address == whole.address + 10
    assert second.address == whole.address + BIG - 8
    assert not whole.is_mutable
    assert maps_of(tmp_path / "x") == 1


def test_a_mapping_ends_with_the_last_buffer_over_it(store: LocalStore, tmp_path: Path) -> None:
    store.put("x", os.urandom(BIG))
    array = pa.Array.from_buffers(pa.int64(), 4, [None, store.get("x")])
    view = np.frombuffer(store.get_ranges("x", [ByteRange(0, 80)])[0], np.int64)
    store.delete("x")
    gc.collect()
    assert maps_of(tmp_path / "x") == 1
    assert array.to_pylist() == view[:4].tolist()
    del array
    assert maps_of(tmp_path / "x") == 1
    del view
    if maps_of(tmp_path / "x"):
        gc.collect()
    assert maps_of(tmp_path / "x") == 0


def test_open_files_hold_no_descriptors(store: LocalStore) -> None:
    before = open_descriptors()
    for number in range(50):
        store.put(f"big/{number}", bytes(BIG))
        store.put(f"small/{number}", b"x")
    held = [store.get(f"big/{n}") for n in range(50)] + [store.get(f"small/{n}") for n in range(50)]
    assert len(held) == 100
    assert open_descriptors() == before


def test_how_many_files_are_kept_is_bounded(store: LocalStore, tmp_path: Path) -> None:
    for number in range(MAX_OPEN_FILES + 20):
        (tmp_path / str(number)).touch()
        os.truncate(tmp_path / str(number), MAP_FROM)
        store.get(str(number))
    assert maps_of(tmp_path) == MAX_OPEN_FILES


@pytest.mark.parametrize("size", [5, BIG])
def test_a_file_that_others_replace_is_read_anew(
    store: LocalStore, tmp_path: Path, size: int
) -> None:
    path = tmp_path / "x"
    old = time.time() - 100
    for number in range(20):
        path.write_bytes(bytes([number]) * size)
        os.utime(path, (old, old))
        assert bytes(store.get("x")) == bytes(store.get("x")) == bytes([number]) * size
        path.unlink()
        if number % 2:
            with pytest.raises(ObjectNotFoundError):
                store.get("x")


def test_a_small_file_changed_within_one_tick_is_read_anew(
    store: LocalStore, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"first")
    stamp = path.stat().st_mtime_ns
    assert bytes(store.get("x")) == b"first"
    with path.open("r+b") as file:
        file.write(b"other")
    os.utime(path, ns=(stamp, stamp))
    assert bytes(store.get("x")) == b"other"


def test_a_mapping_is_kept_while_its_file_is_the_same(store: LocalStore, tmp_path: Path) -> None:
    path = tmp_path / "x"
    store.put("x", bytes(BIG))
    stamp = path.stat().st_mtime_ns
    first = store.get("x")
    os.link(path, tmp_path / "link")
    assert store.get("x").address == first.address
    with path.open("r+b") as file:
        file.write(b"other")
    os.utime(path, ns=(stamp, stamp))
    assert bytes(store.get("x")) == b"other" + bytes(BIG - 5)


def test_a_settled_small_file_is_read_once(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_bytes(b"content")
    store.get("x")
    assert store._files._contents == {}
    later = time.time_ns() + 2 * SETTLED_NS
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert store.get("x").address == store.get("x").address


def test_a_file_that_got_shorter_is_a_typed_error(store: LocalStore, tmp_path: Path) -> None:
    store.put("x", bytes(BIG))
    store.get("x")
    os.truncate(tmp_path / "x", 100)
    with pytest.raises(CorruptFileError) as caught:
        store.get_ranges("x", [ByteRange(0, BIG)])
    assert (caught.value.path, caught.value.offset) == ("x", 0)


def test_what_cannot_be_mapped_is_read_range_by_range(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(BIG)
    store.put("x", content)
    monkeypatch.setattr(open_files, "map_file", lambda descriptor, size: None)
    before = open_descriptors()
    assert bytes(store.get("x")) == content
    parts = store.get_ranges("x", [ByteRange(5, 9), ByteRange(0, 0), ByteRange(BIG - 3, BIG)])
    assert [bytes(part) for part in parts] == [content[5:9], b"", content[-3:]]
    with pytest.raises(CorruptFileError):
        store.get_ranges("x", [ByteRange(0, BIG + 1)])
    with pytest.raises(ObjectNotFoundError):
        store.get("missing")
    assert open_descriptors() == before


def test_a_huge_sparse_file_costs_what_is_read_of_it(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 1 << 40
    (tmp_path / "x").touch()
    os.truncate(tmp_path / "x", size)
    tail = ByteRange(size - 16, size)
    assert bytes(store.get_ranges("x", [tail])[0]) == bytes(16)
    assert store.get("x").size == size
    store.delete("x")
    (tmp_path / "x").touch()
    os.truncate(tmp_path / "x", size)
    monkeypatch.setattr(open_files, "map_file", lambda descriptor, size: None)
    assert bytes(store.get_ranges("x", [tail])[0]) == bytes(16)


def test_what_is_no_regular_file_is_an_error(store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = open_descriptors()
    for path, kind in (("folder", ObjectNotFoundError), ("pipe", StoreError)):
        with pytest.raises(kind):
            store.get(path)
        with pytest.raises(kind):
            store.head(path)
        with pytest.raises(kind):
            store.copy(path, "target")
    with pytest.raises(StoreError):
        store.delete("folder")
    assert open_descriptors() == before
    assert [found.path for found in store.list("")] == []


def test_a_forked_child_reads_while_a_thread_holds_the_lock(
    store: LocalStore, tmp_path: Path
) -> None:
    store.put("big", bytes(BIG))
    store.get("big")
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            store.get("big")

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert fork_and_read(store) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def fork_and_read(store: LocalStore) -> int:
    child = os.fork()
    if child == 0:
        try:
            store.put("child", b"1")
            os._exit(0 if store.get("big").size == BIG and store.get("child").size == 1 else 1)
        finally:
            os._exit(2)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return 3
