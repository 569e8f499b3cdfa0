"""One library cleans up while the other writes; and a writer that is cleaned up behind its back."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import DEADLINE_KEY, MIN_DEADLINE
from lance_core.errors import CommitUnknownError
from lance_core.fragment import write_fragments
from tests.patience import LASTING

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

DAY = 86400.0
ROWS = 4
RETAINED = 20
ROUNDS = 15
"""Of an append and a delete each: more versions than `RETAINED`."""
DEADLINE = MIN_DEADLINE
"""Seconds."""


def rows(first: int, count: int = ROWS) -> pa.Table:
    return pa.table({"i": pa.array(range(first, first + count), pa.int64())})


def numbers(library: ModuleType, path: Path) -> list[int]:
    found: list[int] = library.dataset(str(path)).to_table()["i"].to_pylist()
    return found


class Work:
    """Changes a table until it is told to stop, and keeps what must be in it."""

    def __init__(self, library: Any, path: Path) -> None:
        self.dataset = library.dataset(str(path))
        self.left = set(range(ROWS))
        self.count = 0
        self.is_over = threading.Event()

    def run(self, is_enough: Callable[[], bool]) -> None:
        """Append some rows and delete one of them, `ROUNDS` times and until it is enough."""
        end = time.monotonic() + LASTING
        try:
            while self.count < ROUNDS or not (is_enough() or time.monotonic() > end):
                self.count += 1
                first = self.count * ROWS
                self.dataset.insert(rows(first))
                self.left |= set(range(first, first + ROWS))
                self.dataset.delete(f"i = {first - 3}")
                self.left.discard(first - 3)
                time.sleep(0.02)
        finally:
            self.is_over.set()

    def until_over(self, step: Callable[[], None]) -> int:
        """Repeat ``step`` meanwhile; how often."""
        times = 0
        while not self.is_over.is_set():
            step()
            times += 1
        return times


def read(path: Path) -> None:
    """Read the newest version in both libraries.

    What has become an old version meanwhile may be gone: that is no error of the newest one.
    """
    for library in (lance, lance_core):
        dataset: Any = library.dataset(str(path))
        try:
            found = dataset.to_table()["i"].to_pylist()
        except Exception:
            if dataset.latest_version - dataset.version < RETAINED - 1:
                raise
            continue
        assert len(found) == len(set(found)) == dataset.count_rows()


def together(
    path: Path, work: Work, clean: Callable[[], None], is_enough: Callable[[], bool] = lambda: True
) -> None:
    """Write, clean up and read at the same time; nothing is lost, and what is old is gone."""
    with ThreadPoolExecutor(3) as pool:
        written = pool.submit(work.run, is_enough)
        cleaned = pool.submit(work.until_over, clean)
        looked = pool.submit(work.until_over, lambda: read(path))
        written.result()
        assert cleaned.result() > 0
        assert looked.result() > 0
    clean()
    for library in (lance, lance_core):
        assert sorted(numbers(library, path)) == sorted(work.left)
        dataset: Any = library.dataset(str(path))
        dataset.validate()
        kept = [version["version"] for version in dataset.versions()]
        assert kept == list(range(kept[0], dataset.version + 1))


@pytest.mark.parametrize("arguments", [{}, {"retain_versions": RETAINED}], ids=["default", "few"])
def test_pylance_cleans_up_while_we_write(tmp_path: Path, arguments: dict[str, Any]) -> None:
    path = tmp_path / "table"
    lance_core.write_dataset(rows(0), path)
    work = Work(lance_core, path)

    def clean() -> None:
        lance.dataset(path).cleanup_old_versions(**arguments)
        time.sleep(0.05)

    together(path, work, clean)
    kept = len(lance.dataset(path).versions())
    assert kept == (RETAINED if arguments else work.dataset.version)


def test_we_clean_up_while_pylance_writes(tmp_path: Path) -> None:
    """As early as the table's own deadline allows: versions of the last two seconds stay."""
    path = tmp_path / "table"
    dataset = lance.write_dataset(rows(0), path, data_storage_version="2.0")
    dataset.update_config({DEADLINE_KEY: "1"})
    for manifest in (path / "_versions").glob("*.manifest"):
        os.utime(manifest, (time.time() - DAY, time.time() - DAY))
    work = Work(lance, path)
    removed = []

    def clean() -> None:
        early = timedelta(microseconds=1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "[0-9]+ version.* stay")
            stats = lance_core.dataset(str(path)).cleanup_old_versions(early)
        removed.append(stats.old_versions)
        time.sleep(0.05)

    together(path, work, clean, lambda: sum(removed) > 0)
    assert sum(removed) > 0
    assert len(lance_core.dataset(str(path)).versions()) < work.dataset.version


def others_go_on(path: Path, cleans_up: bool) -> None:
    """Pylance commits three versions, from 3 on, and perhaps removes all but the newest."""
    for first in (10, 20, 30):
        lance.write_dataset(rows(first, 1), path, mode="append")
    time.sleep(1.2 * DEADLINE)
    if cleans_up:
        lance.dataset(path).cleanup_old_versions(older_than=timedelta(0))


class Overtaken:
    """A commit lock whose first holder is stopped while others go on; it excludes nobody."""

    def __init__(self, path: Path, cleans_up: bool = True) -> None:
        self.arguments = path, cleans_up
        self.versions: list[int] = []

    @contextlib.contextmanager
    def __call__(self, version: int) -> Iterator[None]:
        self.versions.append(version)
        if len(self.versions) == 1:
            # In a thread: pylance does not start its own work within its own work.
            thread = threading.Thread(target=others_go_on, args=self.arguments)
            thread.start()
            thread.join()
        yield


class Stopped(CommitHandler):
    """The table's handler; the process is stopped just before its first conditional write."""

    def __init__(self, inner: CommitHandler, meanwhile: Callable[[], None]) -> None:
        self.inner = inner
        self.meanwhile: Callable[[], None] | None = meanwhile

    def latest(self) -> ManifestLocation | None:
        return self.inner.latest()

    def locate(self, version: int) -> ManifestLocation:
        return self.inner.locate(version)

    def list_versions(self) -> Sequence[ManifestLocation]:
        return self.inner.list_versions()

    def discard(self, candidate: Candidate) -> None:
        self.inner.discard(candidate)

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return self.inner.commit(candidate)


@pytest.fixture
def impatient(tmp_path: Path) -> Path:
    """A table of version 2 that does not let commits take long."""
    path = tmp_path / "table"
    dataset = lance.write_dataset(rows(0, 1), path, data_storage_version="2.0")
    dataset.update_config({DEADLINE_KEY: str(DEADLINE)})
    return path


def append_stopped(path: Path, means: str, cleans_up: bool) -> int:
    """Append row 100 with an attempt that is stopped; the version that is acknowledged."""
    if means == "lock":
        lock = Overtaken(path, cleans_up)
        made = lance_core.write_dataset(rows(100, 1), path, mode="append", commit_lock=lock)
        return made.version
    dataset = lance_core.dataset(str(path))
    root = dataset.snapshot.root
    change: Any = write_fragments(rows(100, 1), dataset, mode="append", return_transaction=True)
    handler = Stopped(root.handler, lambda: others_go_on(path, cleans_up))
    return commit_transaction(handler, root.store, change.to_stored()).location.version


@pytest.mark.parametrize("means", ["lock", "handler"])
def test_we_do_not_acknowledge_a_version_in_a_gap_that_pylance_cleaned(
    impatient: Path, means: str
) -> None:
    with pytest.raises(CommitUnknownError) as unknown:
        append_stopped(impatient, means, cleans_up=True)
    assert (unknown.value.stalled, unknown.value.version) == (True, 3)
    for library in (lance, lance_core):
        assert numbers(library, impatient) == [0, 10, 20, 30]


@pytest.mark.parametrize("means", ["lock", "handler"])
def test_we_commit_after_those_who_overtook_us(impatient: Path, means: str) -> None:
    assert append_stopped(impatient, means, cleans_up=False) == 6
    for library in (lance, lance_core):
        assert numbers(library, impatient) == [0, 10, 20, 30, 100]


def test_pylance_acknowledges_a_version_in_a_gap(impatient: Path) -> None:
    """What ours deviates from: it says that version 3 is made, and the newest one has no row 100.

    Should this fail with a newer release, then it has learnt to look again.
    """
    lock = Overtaken(impatient)
    made = lance.write_dataset(rows(100, 1), impatient, mode="append", commit_lock=lock)
    assert lock.versions == [made.version] == [3]
    for library in (lance, lance_core):
        assert numbers(library, impatient) == [0, 10, 20, 30]
