"""Writers of a local table come one after the other, and wait for a limited time."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits import loop
from lance_core.store.local.turns import turn
from lance_core.table.paths import VERSIONS

ROW = pa.table({"id": [1]})


def test_one_at_a_time_is_in_its_turn(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(5):
            with turn(str(tmp_path), 60.0):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20


def test_a_wait_for_a_turn_is_limited(tmp_path: Path) -> None:
    waited: list[float] = []

    def wait() -> None:
        started = time.monotonic()
        with turn(str(tmp_path), 0.01):
            waited.append(time.monotonic() - started)

    other = threading.Thread(target=wait)
    with turn(str(tmp_path), 0.0):
        other.start()
        other.join()
    assert waited[0] >= 0.01


def test_a_thread_does_not_wait_for_itself(tmp_path: Path) -> None:
    left: list[bool] = []
    with turn(str(tmp_path), 0.0):
        started = time.monotonic()
        for _ in range(2):  # the first one that ends does not end the turn
            with turn(str(tmp_path), 600.0):
                pass
        assert time.monotonic() - started < 300.0
        other = threading.Thread(target=lambda: left.append(_is_free(tmp_path)))
        other.start()
        other.join()
        assert left == [False]
    assert _is_free(tmp_path)


def _is_free(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_a_folder_that_does_not_exist_needs_no_turn(tmp_path: Path) -> None:
    with turn(str(tmp_path / "none"), 60.0):
        pass
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of this system are not forked")
def test_a_process_forked_during_a_turn_does_not_keep_it(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with turn(str(tmp_path), 60.0):
        child = os.fork()
        if not child:
            os.read(reader, 1)
            os._exit(0)
    started = time.monotonic()
    with turn(str(tmp_path), 60.0):
        waited = time.monotonic() - started
    os.write(writer, b"1")
    os.waitpid(child, 0)
    assert waited < 30.0


def test_a_commit_waits_for_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "TURN", 60.0)
    dataset = lance.write_dataset(ROW, tmp_path / "t.lance")
    writer = threading.Thread(target=lambda: lance.write_dataset(ROW, dataset, mode="append"))
    with turn(str(tmp_path / "t.lance" / VERSIONS), 0.0):
        writer.start()
        writer.join(0.3)
        assert writer.is_alive()
        assert lance.dataset(tmp_path / "t.lance").version == 1
    writer.join()
    assert lance.dataset(tmp_path / "t.lance").version == 2
