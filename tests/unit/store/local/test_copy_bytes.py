"""Appending ranges of files: by the kernel, or by reading and writing where it refuses."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest import mock

import pytest

from lance_core.errors import InvalidInputError, StoreError
from lance_core.store.base import ByteRange
from lance_core.store.functions import list_paths
from lance_core.store.local import Disk, LocalStore
from lance_core.store.memory import MemoryStore
from tests.disks import cannot
from tests.each_case import each_case

CONTENT = os.urandom(3_000_000)


def refuse(*names: str) -> mock._patch_dict:
    """The functions of the operating system with these ``names`` fail with EXDEV."""
    return mock.patch.dict(
        os.__dict__, {name: mock.Mock(side_effect=cannot(errno.EXDEV, "x")) for name in names}
    )


@each_case(["refused"], [((),), (("copy_file_range",),), (("copy_file_range", "sendfile"),)])
def test_ranges_are_copied_in_each_way_that_the_system_offers(
    tmp_path: Path, refused: tuple[str, ...]
) -> None:
    store = LocalStore(tmp_path)
    store.put("source", CONTENT)
    with refuse(*refused), store.open_writer("new") as writer:
        writer.write(b"before")
        store.append_from(writer, "source", [ByteRange(5, 2_500_000), ByteRange(1, 4)])
        writer.write(b"after")
    wanted = b"before" + CONTENT[5:2_500_000] + CONTENT[1:4] + b"after"
    assert store.get("new").to_pybytes() == wanted


@each_case("error", [OSError(errno.ENODEV, "x"), ValueError("shorter")])
def test_ranges_that_move_within_a_block_are_copied_even_if_they_cannot_be_mapped(
    tmp_path: Path, error: Exception
) -> None:
    store = LocalStore(tmp_path)
    store.put("source", CONTENT)
    with (
        mock.patch("lance_core.store.local.disk.mmap.mmap", side_effect=error) as mapping,
        store.open_writer("new") as writer,
    ):
        store.append_from(writer, "source", [ByteRange(5, 2_500_000)])
    assert mapping.called
    assert store.get("new").to_pybytes() == CONTENT[5:2_500_000]


def test_few_bytes_are_mapped_at_once(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("source", CONTENT)
    with (
        mock.patch("lance_core.store.local.disk._MAX_MAPPED", 1_000_000),
        store.open_writer("new") as writer,
    ):
        store.append_from(writer, "source", [ByteRange(4097, len(CONTENT))])
    assert store.get("new").to_pybytes() == CONTENT[4097:]


def test_a_copy_that_stops_in_the_middle_continues_in_the_next_way(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("source", CONTENT)
    real, calls = os.copy_file_range, []

    def some(source: int, target: int, count: int, start: int) -> int:
        calls.append(start)
        if len(calls) > 1:
            raise cannot(errno.EOPNOTSUPP, "x")
        return real(source, target, min(count, 1_000_000), start)

    with mock.patch("os.copy_file_range", some), store.open_writer("new") as writer:
        store.append_from(writer, "source", [ByteRange(0, len(CONTENT))])
    assert store.get("new").to_pybytes() == CONTENT
    assert calls == [0, 1_000_000]


def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    class Full(Disk):
        def copy_bytes(self, source: int, target: int, start: int, length: int) -> None:
            raise cannot(errno.ENOSPC, "target")

    store = LocalStore(tmp_path, disk=Full())
    store.put("source", b"0123456789")
    writer = store.open_writer("target")
    with pytest.raises(StoreError, match="No space left"):
        store.append_from(writer, "source", [ByteRange(0, 10)])
    with pytest.raises(InvalidInputError, match="closed"):
        writer.write(b"more")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


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
