"""Space that a writer allocates before the bytes come."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.store.local import Disk, LocalStore
from lance_core.store.wrappers.counting import CountingStore, ReadCounters

MB = 1 << 20


class Blocks(Disk):
    """Records the sizes and blocks of the file at each reservation, in bytes."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, int]] = []

    def reserve(self, descriptor: int, start: int, size: int) -> None:
        super().reserve(descriptor, start, size)
        status = os.fstat(descriptor)
        self.seen.append((status.st_size, status.st_blocks * 512))


def test_space_is_reserved_once_and_the_file_stays_as_long_as_what_is_written(
    tmp_path: Path,
) -> None:
    disk = Blocks()
    store = LocalStore(tmp_path, disk=disk)
    content = os.urandom(8 * MB)
    store.put("source", content)
    with store.open_writer("new") as writer:
        writer.write(b"before")
        writer.reserve(8 * MB)
        store.append_from(writer, "source", [ByteRange(0, 8 * MB)])
        writer.reserve(1 * MB)
        writer.write(b"after")
    assert len(disk.seen) == 1
    size, blocks = disk.seen[0]
    assert size == 0
    assert blocks == 0 or blocks >= 8 * MB  # not every file system can
    assert store.get("new").to_pybytes() == b"before" + content + b"after"


def test_writers_of_wrapped_stores_reserve_too(tmp_path: Path) -> None:
    disk = Blocks()
    with CountingStore(LocalStore(tmp_path, disk=disk), ReadCounters()).open_writer(
        "new"
    ) as writer:
        writer.reserve(8 * MB)
    assert len(disk.seen) == 1
    assert (tmp_path / "new").stat().st_size == 0


def test_a_file_system_that_reserves_nothing_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lance_core.store.local.libc._fallocate", lambda *_: -1)
    store = LocalStore(tmp_path)
    with store.open_writer("new") as writer:
        writer.reserve(8 * MB)
        writer.write(b"x")
    assert store.get("new").to_pybytes() == b"x"
