"""What a write waits for, and in which order."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest import mock

import pytest

from lance_core.errors import InvalidInputError, OutcomeUnknownError, StoreError
from lance_core.store.base import PutMode
from lance_core.store.local import Disk, Durability, LocalStore
from lance_core.store.local.disk import chosen_durability
from lance_core.store.secret import Secret
from tests.disks import RecordingDisk, cannot


@pytest.fixture
def disk(tmp_path: Path) -> RecordingDisk:
    disk = RecordingDisk()
    LocalStore(tmp_path / "root", Durability.fast, disk).put("f/seen", b"1", PutMode.create)
    disk.calls.clear()
    return disk


def test_a_durable_put_syncs_the_file_then_names_it_then_syncs_the_folder(
    tmp_path: Path, disk: RecordingDisk
) -> None:
    LocalStore(tmp_path / "root", Durability.durable, disk).put("f/new", b"1")
    assert disk.names == ["create", "write", "sync_file", "rename", "sync_folder"]
    temporary = disk.calls[0][1]
    assert temporary.startswith("f/.tmp")
    assert disk.calls[2:] == [
        ("sync_file", temporary),
        ("rename", temporary, "f/new"),
        ("sync_folder", "root/f"),
    ]


def test_a_durable_create_syncs_before_and_after_taking_the_name(
    tmp_path: Path, disk: RecordingDisk
) -> None:
    LocalStore(tmp_path / "root", Durability.durable, disk).put("f/new", b"1", PutMode.create)
    assert disk.names == ["create", "write", "sync_file", "link", "remove", "sync_folder"]
    assert disk.calls[3][2] == "f/new"


def test_a_durable_writer_syncs_when_closed(tmp_path: Path, disk: RecordingDisk) -> None:
    with LocalStore(tmp_path / "root", Durability.durable, disk).open_writer("f/new") as writer:
        writer.write(b"1")
        assert disk.names == ["create"]
    assert disk.names == ["create", "write", "sync_file", "rename", "sync_folder"]


def test_the_names_of_new_folders_are_synced_too(tmp_path: Path, disk: RecordingDisk) -> None:
    LocalStore(tmp_path / "root", Durability.durable, disk).put("a/b/new", b"1")
    assert disk.calls[:4] == [
        ("make_folder", "root/a"),
        ("sync_folder", f"{tmp_path.name}/root"),
        ("make_folder", "a/b"),
        ("sync_folder", "root/a"),
    ]
    assert disk.calls[-1] == ("sync_folder", "a/b")


def test_the_root_itself_is_made_durably(tmp_path: Path, disk: RecordingDisk) -> None:
    LocalStore(tmp_path / "x" / "y", Durability.durable, disk).put("new", b"1")
    assert disk.calls[:4] == [
        ("make_folder", f"{tmp_path.name}/x"),
        ("sync_folder", "/".join(tmp_path.parts[-2:])),
        ("make_folder", "x/y"),
        ("sync_folder", f"{tmp_path.name}/x"),
    ]


def test_moves_copies_and_deletions_are_durable(tmp_path: Path, disk: RecordingDisk) -> None:
    store = LocalStore(tmp_path / "root", Durability.durable, disk)
    store.rename_if_absent("f/seen", "moved")
    assert disk.names == ["link", "remove", "sync_folder", "sync_folder"]
    assert disk.calls[2:] == [("sync_folder", f"{tmp_path.name}/root"), ("sync_folder", "root/f")]
    disk.calls.clear()
    store.copy("moved", "copied")
    assert disk.names == ["create", "copy_bytes", "sync_file", "rename", "sync_folder"]
    disk.calls.clear()
    store.delete("copied")
    assert disk.names == ["remove", "sync_folder"]


def test_fast_never_syncs(tmp_path: Path, disk: RecordingDisk) -> None:
    store = LocalStore(tmp_path / "root", Durability.fast, disk)
    store.put("a/put", b"1")
    store.put("a/created", b"1", PutMode.create)
    with store.open_writer("b/written") as writer:
        writer.write(b"1")
    store.copy("a/put", "c/copied")
    store.rename_if_absent("a/put", "d/moved")
    store.delete("d/moved")
    used = {"create", "write", "copy_bytes", "rename", "link", "remove", "make_folder"}
    assert used == set(disk.names)


def test_a_file_that_cannot_be_synced_is_not_written(tmp_path: Path) -> None:
    class Failing(RecordingDisk):
        def sync_file(self, descriptor: int) -> None:
            raise cannot(errno.EIO, "")

    store = LocalStore(tmp_path, Durability.durable, Failing())
    with pytest.raises(StoreError) as caught:
        store.put("new", b"1", PutMode.create)
    assert not isinstance(caught.value, OutcomeUnknownError)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_synced_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    class Failing(RecordingDisk):
        def sync_folder(self, path: str) -> None:
            raise cannot(errno.EIO, path)

    store = LocalStore(tmp_path, Durability.durable, Failing())
    with pytest.raises(OutcomeUnknownError, match=r"^'new' in .+ was written, but may not survive"):
        store.put("new", b"1", PutMode.create)
    assert bytes(store.get("new")) == b"1"


def test_syncing_a_folder_keeps_no_file_open(tmp_path: Path) -> None:
    def next_descriptor() -> int:
        descriptor = os.open(os.devnull, os.O_RDONLY)
        os.close(descriptor)
        return descriptor

    before = next_descriptor()
    for _ in range(3):
        Disk().sync_folder(str(tmp_path))
    assert next_descriptor() == before


def test_durable_is_the_default() -> None:
    assert chosen_durability({}, {}) is Durability.durable


@pytest.mark.parametrize("text", ["fast", "FAST", " fast "])
def test_the_option_comes_before_the_environment(text: str) -> None:
    durable = {"LANCE_CORE_DURABILITY": "durable"}
    assert chosen_durability({"durability": text}, durable) is Durability.fast
    assert chosen_durability({"durability": Secret(text)}, {}) is Durability.fast
    assert chosen_durability({}, {"LANCE_CORE_DURABILITY": text}) is Durability.fast


@pytest.mark.parametrize("text", ["", "none", "true"])
def test_an_unknown_durability_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="durab"):
        chosen_durability({"durability": text}, {})
    with pytest.raises(InvalidInputError, match="LANCE_CORE_DURABILITY"):
        chosen_durability({}, {"LANCE_CORE_DURABILITY": text})


def test_the_environment_is_asked_when_a_store_is_opened(tmp_path: Path) -> None:
    with mock.patch.dict("os.environ", {"LANCE_CORE_DURABILITY": "fast"}):
        assert LocalStore(tmp_path).durability is Durability.fast
        assert LocalStore(tmp_path, "durable").durability is Durability.durable
