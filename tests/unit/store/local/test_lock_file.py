"""Lock files: held while their maker lives, taken over when it died here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lance_core.errors import StoreError
from lance_core.store.local import Disk, lock_file
from lance_core.store.local.lock_file import lock_path, move_under_lock
from tests.patience import SLACK, ends_within

HOLDER = """
import sys, time
from lance_core.store.local import Disk
from lance_core.store.local.lock_file import move_under_lock

class Stuck(Disk):
    def rename(self, source, target):
        print("holding", flush=True)
        time.sleep(60)

move_under_lock(Stuck(), sys.argv[1], sys.argv[2])
"""


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "source").write_bytes(b"mine")
    return str(tmp_path / "source"), str(tmp_path / "target")


def test_a_free_name_is_taken_and_the_lock_removed(paths: tuple[str, str], tmp_path: Path) -> None:
    move_under_lock(Disk(), *paths)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("target", b"mine")]


def test_a_taken_name_is_left_alone(paths: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        move_under_lock(Disk(), *paths)
    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


def test_the_lock_of_a_killed_process_is_taken_over(paths: tuple[str, str], tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *paths], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        holder.send_signal(signal.SIGKILL)
    assert Path(lock_path(paths[1])).exists()
    move_under_lock(Disk(), *paths)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_held_lock_is_waited_for(paths: tuple[str, str], tmp_path: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow(Disk):
        def rename(self, source: str, target: str) -> None:
            entered.set()
            leave.wait(SLACK)
            super().rename(source, target)

    (tmp_path / "first").write_bytes(b"first")
    first = threading.Thread(
        target=move_under_lock, args=(Slow(), str(tmp_path / "first"), paths[1])
    )
    first.start()
    assert entered.wait(SLACK)
    threading.Timer(0.05, leave.set).start()
    with pytest.raises(FileExistsError):
        move_under_lock(Disk(), *paths)
    first.join()
    assert (tmp_path / "target").read_bytes() == b"first"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


@pytest.mark.parametrize("content", [b"", b"another-machine boot", b"x" * 1000])
def test_the_lock_of_another_machine_is_respected(
    paths: tuple[str, str], content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_file, "PATIENCE", 0.05)
    lock = Path(lock_path(paths[1]))
    lock.write_bytes(content)
    with ends_within(0.05), pytest.raises(StoreError, match="remove the file"):
        move_under_lock(Disk(), *paths)
    assert lock.read_bytes() == content
    assert not Path(paths[1]).exists()
    opened = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert str(lock) not in [os.path.realpath(link) for link in opened]


def test_a_lock_has_a_bounded_name(tmp_path: Path) -> None:
    path = lock_path(f"{tmp_path}/{'é' * 127}")
    assert len(os.fsencode(Path(path).name)) < 100
    assert Path(path).parent == tmp_path
    assert Path(path).name.startswith(".tmp")
    assert path != lock_path(f"{tmp_path}/other")
