"""Appending ranges of files: by the kernel, or by reading and writing where it refuses."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import threading
import time
from pathlib import Path
from typing import TypeVar
from unittest import mock

import numpy as np
import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.pools import COMPUTE
from lance_core.errors import CorruptFileError, InvalidInputError, StoreError
from lance_core.store.functions import list_paths
from lance_core.store.local import Disk, LocalStore, range_copies
from lance_core.store.local import disk as disk_module
from lance_core.store.local.opened_file import OpenedFile
from lance_core.store.local.range_copies import COPIES, TASK_BYTES, RangeCopies
from lance_core.store.local.store import MAX_VIEW_BYTES
from lance_core.store.memory import MemoryStore
from tests.disks import cannot
from tests.each_case import each_case

T = TypeVar("T")
CONTENT = os.urandom(3_000_000)


def refuse(*names: str) -> mock._patch_dict:
    """The functions of the operating system with these ``names`` fail with EXDEV."""
    return mock.patch.dict(
        os.__dict__, {name: mock.Mock(side_effect=cannot(errno.EXDEV, "x")) for name in names}
    )


def open_files(folder: Path) -> int:
    """The number of open files in ``folder``, whether they still have a name there or not."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # of listing the folder itself
            found += str(link.readlink()).startswith(str(folder))
    return found


@each_case("is_refused", [False, True])
def test_ranges_are_copied_by_the_kernel_or_read_and_written(
    tmp_path: Path, is_refused: bool
) -> None:
    store = LocalStore(tmp_path)
    store.put("source", CONTENT)
    with refuse(*["copy_file_range"] * is_refused), store.open_writer("new") as writer:
        writer.write(b"before")
        store.append_from(writer, "source", [ByteRange(5, 2_500_000), ByteRange(1, 4)])
        writer.write(b"after")
    wanted = b"before" + CONTENT[5:2_500_000] + CONTENT[1:4] + b"after"
    assert store.get("new").to_pybytes() == wanted


class Device(Disk):
    """Notes how bytes are copied; ``error`` is that of sharing a block."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: int | None) -> None:
        super().__init__()
        self.copied, self.asked = 0, 0
        real = os.copy_file_range

        def share(file: int, request: int, block: bytes) -> int:
            self.asked += 1
            if error is not None:
                raise cannot(error, "x")
            source, start, size, place = struct.unpack("qQQQ", block)
            assert (start % 4096, size, place % 4096) == (0, 4096, 0)
            return os.pwrite(file, os.pread(source, size, start), place)

        def copy(source: int, target: int, count: int, start: int, place: int) -> int:
            done = real(source, target, count, start, place)
            self.copied += done
            return done

        monkeypatch.setattr("lance_core.store.local.libc.ioctl", share)
        monkeypatch.setattr(os, "copy_file_range", copy)


@each_case("error", [None, errno.EOPNOTSUPP, errno.EINVAL])
def test_the_kernel_copies_what_a_file_system_may_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int | None
) -> None:
    if tmp_path.stat().st_blksize > 4096:
        pytest.fail("this test needs a file system with blocks of 4 KiB")
    disk = Device(monkeypatch, error)
    store = LocalStore(tmp_path, disk=disk)
    store.put("source", CONTENT)
    for name in ("new", "other"):
        with store.open_writer(name) as writer:
            writer.write(b"1" * 100)
            store.append_from(writer, "source", [ByteRange(100, len(CONTENT)), ByteRange(0, 9)])
        assert store.get(name).to_pybytes() == b"1" * 100 + CONTENT[100:] + CONTENT[:9]
    large = 0 if error == errno.EOPNOTSUPP else len(CONTENT) - 100
    assert disk.copied == 2 * (large + 9)
    assert disk.asked == 1


def test_a_small_range_finds_out_nothing_about_shared_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, ranges = Device(monkeypatch, None), list[tuple[int, int, int, int]]()
    (tmp_path / "source").write_bytes(CONTENT)
    with (tmp_path / "source").open("rb") as source, (tmp_path / "new").open("w+b") as target:
        small, large = ((source.fileno(), 0, size, 0) for size in (8192, len(CONTENT)))
        for one in (small, large, small):
            disk.copy_ranges([one], target.fileno(), lambda some, *_: ranges.extend(some))
            assert disk.asked == (0 if one is small and disk.copied == 0 else 1)
    assert ranges == [small]
    assert (tmp_path / "new").read_bytes() == CONTENT


def test_nothing_is_shared_if_bytes_move_within_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Device(monkeypatch, None)
    store = LocalStore(tmp_path, disk=disk)
    store.put("source", CONTENT)
    with store.open_writer("new") as writer:
        store.append_from(writer, "source", [ByteRange(7, len(CONTENT))])
    assert store.get("new").to_pybytes() == CONTENT[7:]
    assert (disk.copied, disk.asked) == (0, 0)


@each_case("is_on_disk", [True, False])
def test_small_ranges_are_written_from_mapped_memory_but_left_to_servers_of_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_on_disk: bool
) -> None:
    disk = Device(monkeypatch, errno.EOPNOTSUPP)
    monkeypatch.setattr(disk_module, "_is_on_disk", lambda _: is_on_disk)
    store = LocalStore(tmp_path, disk=disk)
    store.put("source", CONTENT)
    small = [ByteRange(7, MAX_VIEW_BYTES), ByteRange(3, 3), ByteRange(1, 3)]
    with store.open_writer("new") as writer:
        writer.write(b"before")
        store.append_from(writer, "source", small)
        assert open_files(tmp_path) == (1 if is_on_disk else 2)
        with pytest.raises(CorruptFileError, match=r"source.* were requested"):
            store.append_from(writer, "source", [ByteRange(len(CONTENT) - 5, len(CONTENT) + 1)])
        writer.write(b"after")
    wanted = b"before" + CONTENT[7:MAX_VIEW_BYTES] + CONTENT[1:3] + b"after"
    assert store.get("new").to_pybytes() == wanted
    assert disk.copied == (0 if is_on_disk else MAX_VIEW_BYTES - 5)


def test_a_copy_that_stops_in_the_middle_continues_in_the_next_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_module, "_is_on_disk", lambda _: False)
    store = LocalStore(tmp_path)
    store.put("source", CONTENT)
    real, calls = os.copy_file_range, []

    def some(source: int, target: int, count: int, start: int, place: int) -> int:
        calls.append(start)
        if len(calls) > 1:
            raise cannot(errno.EOPNOTSUPP, "x")
        return real(source, target, min(count, 100_000), start, place)

    with mock.patch("os.copy_file_range", some), store.open_writer("new") as writer:
        store.append_from(writer, "source", [ByteRange(0, 300_000)])
    assert store.get("new").to_pybytes() == CONTENT[:300_000]
    assert calls == [0, 100_000]


LARGE = os.urandom(1 << 20) * 24


@each_case("num_free", [0, 1])
def test_ranges_are_copied_by_free_processors_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_free: int
) -> None:
    monkeypatch.setattr(range_copies, "cpu_count", lambda: 2 + num_free)
    wait = threading.Event()
    busy = COMPUTE.submit(wait.wait, 60)
    names: set[str] = set()

    class Watched(Disk):
        def copy_bytes(self, source: int, target: int, start: int, length: int, place: int) -> None:
            names.add(threading.current_thread().name)
            super().copy_bytes(source, target, start, length, place)

    store = LocalStore(tmp_path, disk=Watched())
    store.put("source", LARGE)
    rng = np.random.default_rng(1)
    ends = [sorted(rng.integers(0, len(LARGE), 2).tolist()) for _ in range(6)]
    ends += [(start, start + 100) for start in range(0, 400_000, 1000)]
    with store.open_writer("new") as writer:
        for number, (start, stop) in enumerate(ends):
            writer.write(f"part {number}".encode())
            store.append_from(writer, "source", [ByteRange(start, stop)])
        size = writer.tell()
    found = store.get("new").to_pybytes()
    wanted = [f"part {number}".encode() + LARGE[a:b] for number, (a, b) in enumerate(ends)]
    assert found == b"".join(wanted)
    assert size == len(found)
    copying = {name for name in names if name.startswith("lance-core-copies")}
    assert bool(copying) == bool(num_free)
    assert names <= copying | {threading.current_thread().name}
    wait.set()
    assert busy.result()
    assert COMPUTE.num_unfinished == 0


def test_few_files_are_open_while_ranges_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_copies, "cpu_count", lambda: 8)
    monkeypatch.setattr(range_copies, "TASK_BYTES", 1 << 20)
    monkeypatch.setattr(range_copies, "MAX_WAITING", 8)
    store = LocalStore(tmp_path)
    for number in range(8):
        store.put(f"source {number}", CONTENT)
    with store.open_writer("new") as writer:
        for round_ in range(80):
            store.append_from(writer, f"source {round_ % 8}", [ByteRange(0, 1_000_000)])
            # The new file; what waits in tasks; and the ranges of the next task.
            assert open_files(tmp_path) <= 1 + 8 + 2
    deadline = time.monotonic() + 30  # a thread gives up its last ranges after its last task
    while open_files(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert store.head("new").size == 80_000_000


def test_a_task_has_closed_its_files_when_it_is_done(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(CONTENT)
    source = OpenedFile(os.open(tmp_path / "source", os.O_RDONLY))
    copies = RangeCopies(lambda parts: None, needs_lock=False)
    copies.add(source, ByteRange(0, len(CONTENT)), TASK_BYTES - len(CONTENT))
    del source
    # As a thread that keeps the task: what it would drop later is still held by `task`.
    ((task, count),) = copies._running
    task.result()
    assert count == 1
    assert open_files(tmp_path) == 0


class Full(Disk):
    """Has space for nothing that is copied, and says so when it is asked to, or at once."""

    def __init__(self, *, waits: bool = False) -> None:
        super().__init__()
        self.may_fail, self.begun = threading.Event(), threading.Event()
        if not waits:
            self.may_fail.set()

    def copy_bytes(self, source: int, target: int, start: int, length: int, place: int) -> None:
        self.begun.set()
        assert self.may_fail.wait(60)
        raise cannot(errno.ENOSPC, "target")


def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, disk=Full())
    store.put("source", LARGE)
    for size in (MAX_VIEW_BYTES, len(LARGE)):
        writer = store.open_writer("target")
        store.append_from(writer, "source", [ByteRange(0, size)])
        with pytest.raises(StoreError, match=r"writing 'target' .* No space left"):
            writer.close()
        with pytest.raises(InvalidInputError, match="closed"):
            writer.write(b"more")
        assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_an_aborted_writer_does_not_wait_for_its_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_copies, "cpu_count", lambda: 8)
    disk = Full(waits=True)
    store = LocalStore(tmp_path, disk=disk)
    store.put("source", LARGE)
    writer = store.open_writer("target")
    store.append_from(writer, "source", [ByteRange(0, len(LARGE))])
    assert disk.begun.wait(60)
    writer.abort()
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
    # The threads still use the files, so that their numbers cannot become those of others.
    assert open_files(tmp_path) == 2
    disk.may_fail.set()
    for future in [COPIES.submit(int), COPIES.submit(int)]:
        future.result()
    deadline = time.monotonic() + 60
    while open_files(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert open_files(tmp_path) == 0


def test_ranges_of_another_store_are_read_and_written(tmp_path: Path) -> None:
    source, target = MemoryStore(), LocalStore(tmp_path)
    source.put("object", b"0123456789")
    target.put("object", b"abcdefghij")
    with target.open_writer("new") as writer:
        source.append_from(writer, "object", [ByteRange(2, 5)])
        target.append_from(writer, "object", [ByteRange(0, 2)])
    assert target.get("new").to_pybytes() == b"234ab"
    with source.open_writer("new") as writer:
        target.append_from(writer, "object", [ByteRange(0, 2)])
    assert source.get("new").to_pybytes() == b"ab"
    assert "new" in list_paths(source)
