"""Names are given once, whatever the file system can do."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

import pytest

from lance_core.errors import (
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import PutMode
from lance_core.store.local import Disk, Durability, LocalStore, lock_file
from lance_core.store.local.exclusive import move_by_link, move_by_rename
from lance_core_testing.processes import Wait, race_processes
from tests.disks import (
    LinksThatReplace,
    NoLinks,
    OnlyLinks,
    OnlyPlainRenames,
    RecordingDisk,
    cannot,
)

KINDS: dict[type[Disk], object] = {
    Disk: move_by_link,
    OnlyLinks: move_by_link,
    NoLinks: move_by_rename,
    LinksThatReplace: move_by_rename,
    OnlyPlainRenames: lock_file.move_under_lock,
}
KEYS = 50


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_first_means_that_works_is_chosen(kind: type[Disk], tmp_path: Path) -> None:
    disk = kind()
    store = LocalStore(tmp_path, Durability.fast, disk)
    store.put("x", b"1", PutMode.create)
    with pytest.raises(ObjectExistsError):
        store.put("x", b"2", PutMode.create)
    assert bytes(store.get("x")) == b"1"
    assert set(disk.exclusive_moves.values()) == {KINDS[kind]}
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@dataclass(frozen=True)
class Racer:
    """Creates every file; returns the keys of those that this process was told it created."""

    kind: type[Disk]
    root: Path

    def __call__(self, number: int, wait: Wait) -> list[int]:
        store = LocalStore(self.root, Durability.fast, self.kind())
        won = []
        for key in range(KEYS):
            wait()
            try:
                store.put(f"f/{key}", b"%d" % number, PutMode.create)
            except ObjectExistsError:
                continue
            won.append(key)
        return won


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_of_racing_processes_one_gets_each_name(kind: type[Disk], tmp_path: Path) -> None:
    won = race_processes(Racer(kind, tmp_path))
    assert sorted(key for keys in won for key in keys) == list(range(KEYS))
    for number, keys in enumerate(won):
        for key in keys:
            assert (tmp_path / "f" / str(key)).read_bytes() == b"%d" % number
    assert len(list((tmp_path / "f").iterdir())) == KEYS


def test_the_means_are_tried_once_per_device(tmp_path: Path) -> None:
    disk = NoLinks()
    store = LocalStore(tmp_path, Durability.fast, disk)
    store.put("a/x", b"1", PutMode.create)
    disk.calls.clear()
    store.put("b/x", b"1", PutMode.create)
    assert disk.names.count("rename_exclusive") == 1


def test_a_means_that_stops_working_is_looked_for_again(tmp_path: Path) -> None:
    disk = RecordingDisk()
    disk.exclusive_moves[tmp_path.stat().st_dev] = lambda disk, source, target: NoLinks().link(
        source, target
    )
    store = LocalStore(tmp_path, Durability.fast, disk)
    with pytest.raises(StoreError):
        store.put("x", b"1", PutMode.create)
    store.put("x", b"1", PutMode.create)
    assert bytes(store.get("x")) == b"1"


def test_without_any_means_creating_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_file, "fcntl", None)
    store = LocalStore(tmp_path, Durability.fast, OnlyPlainRenames())
    with pytest.raises(UnsupportedFeatureError, match="hard links"):
        store.put("x", b"1", PutMode.create)
    store.put("x", b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_link_that_was_made_by_a_lost_request_counts(tmp_path: Path) -> None:
    class SendsTwice(RecordingDisk):
        def link(self, source: str, target: str) -> None:
            super().link(source, target)
            raise cannot(errno.EEXIST, target)

    disk = SendsTwice()
    disk.exclusive_moves[tmp_path.stat().st_dev] = move_by_link
    store = LocalStore(tmp_path, Durability.fast, disk)
    store.put("x", b"1", PutMode.create)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_rename_that_was_done_by_a_lost_request_is_unknown(tmp_path: Path) -> None:
    class SendsTwice(NoLinks):
        def rename_exclusive(self, source: str, target: str) -> None:
            super().rename_exclusive(source, target)
            raise cannot(errno.EEXIST, target)

    disk = SendsTwice()
    disk.exclusive_moves[tmp_path.stat().st_dev] = move_by_rename
    with pytest.raises(OutcomeUnknownError):
        LocalStore(tmp_path, Durability.fast, disk).put("x", b"1", PutMode.create)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_file_that_vanished_before_it_got_its_name_is_unknown(tmp_path: Path) -> None:
    class Cleaned(RecordingDisk):
        def link(self, source: str, target: str) -> None:
            Path(source).unlink()
            super().link(source, target)

    (tmp_path / "x").write_bytes(b"foreign")
    disk = Cleaned()
    disk.exclusive_moves[tmp_path.stat().st_dev] = move_by_link
    with pytest.raises(OutcomeUnknownError):
        LocalStore(tmp_path, Durability.fast, disk).put("x", b"1", PutMode.create)
    assert (tmp_path / "x").read_bytes() == b"foreign"


@pytest.mark.parametrize(
    ("code", "error"), [(errno.ENOSPC, StoreError), (errno.EIO, OutcomeUnknownError)]
)
def test_a_failure_is_told_from_a_refusal(
    tmp_path: Path, code: int, error: type[StoreError]
) -> None:
    class Failing(RecordingDisk):
        def link(self, source: str, target: str) -> None:
            raise cannot(code, target)

        def rename(self, source: str, target: str) -> None:
            raise cannot(code, target)

    disk = Failing()
    disk.exclusive_moves[tmp_path.stat().st_dev] = move_by_link
    store = LocalStore(tmp_path, Durability.fast, disk)
    for mode in PutMode:
        with pytest.raises(StoreError) as caught:
            store.put("x", b"1", mode)
        assert type(caught.value) is error
        assert list(tmp_path.iterdir()) == []
