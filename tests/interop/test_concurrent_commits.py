"""Both libraries commit to one table at the same time, and each respects the other's commits."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import CommitConflictError
from lance_core.fragment import write_fragments
from tests.each_case import each_case
from tests.examples import IS_FULL_RUN

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

APPENDS = 8
ROWS = 10

PYLANCE_WRITERS = """
import sys, lance, pyarrow as pa
from concurrent.futures import ThreadPoolExecutor
print("ready", flush=True)
sys.stdin.readline()
path, count, rows = sys.argv[1], *map(int, sys.argv[2:])
def append_all(writer):
    for number in range(count):
        start = writer * 1_000_000 + number * rows
        table = pa.table({"x": pa.array(range(start, start + rows), pa.int64())})
        lance.write_dataset(table, path, mode="append")
with ThreadPoolExecutor(2) as pool:
    list(pool.map(append_all, (1, 2)))
"""


def rows(writer: int, number: int) -> pa.Table:
    start = writer * 1_000_000 + number * ROWS
    return pa.table({"x": pa.array(range(start, start + ROWS), pa.int64())})


class Process:
    """A Python process that is spoken to in lines."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def end(self) -> None:
        """It has nothing more to say, and ends by itself without an error."""
        assert self._process.communicate()[0] == ""
        assert self._process.returncode == 0


def append_all(path: Path, writer: int) -> None:
    for number in range(APPENDS):
        lance_core.write_dataset(rows(writer, number), path, mode="append")


@pytest.mark.parametrize("v2_names", [True, False])
def test_appends_of_both_libraries_all_land(tmp_path: Path, v2_names: bool) -> None:
    path = tmp_path / "table"
    lance.write_dataset(
        rows(0, 0), path, data_storage_version="2.0", enable_v2_manifest_paths=v2_names
    )
    foreign = Process("-c", PYLANCE_WRITERS, str(path), str(APPENDS), str(ROWS))
    assert foreign.hear() == "ready"
    foreign.say("go")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda writer: append_all(path, writer), (3, 4)))
    foreign.end()

    expected = sorted(
        [*range(ROWS)] + [w * 1_000_000 + i for w in (1, 2, 3, 4) for i in range(APPENDS * ROWS)]
    )
    for library in (lance, lance_core):
        dataset = library.dataset(path)
        assert dataset.version == 1 + 4 * APPENDS
        assert sorted(dataset.to_table()["x"].to_pylist()) == expected


CHANGES = 18 if IS_FULL_RUN else 12
WRITERS = {1: "lance", 2: "lance", 3: "lance_core", 4: "lance_core"}


@pytest.fixture
def writers() -> Iterator[dict[int, Process]]:
    script = str(Path(__file__).with_name("concurrent_writer.py"))
    started = {
        writer: Process(script, library, str(writer), str(CHANGES))
        for writer, library in WRITERS.items()
    }
    yield started
    for process in started.values():
        process.end()


def work_together(
    writers: dict[int, Process], path: Path, branch: str
) -> dict[int, dict[str, Any]]:
    """What each of the processes says it has done."""
    for process in writers.values():
        process.say(json.dumps([str(path), branch]))
    for process in writers.values():
        assert json.loads(process.hear()) == "ready"
    for process in writers.values():
        process.say("go")
    return {writer: json.loads(process.hear()) for writer, process in writers.items()}


@each_case("kind", ["second names", "first names", "branch"])
def test_processes_of_both_lose_nothing_and_do_nothing_twice(
    writers: dict[int, Process], tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "table"
    first_names = kind == "first names"
    dataset = lance.write_dataset(
        rows(0, 0), path, data_storage_version="2.0", enable_v2_manifest_paths=not first_names
    )
    branch = "main"
    if kind == "branch":
        branch = "work"
        dataset.create_branch(branch)
    reports = work_together(writers, path, branch)

    expected = sorted([*range(ROWS), *(x for said in reports.values() for x in said["rows"])])
    changes = CHANGES * len(WRITERS)
    seen = []
    for library in (lance, lance_core):
        opened: Any = library.dataset(str(path))
        if kind == "branch":
            assert opened.to_table() == rows(0, 0)
            opened = opened.checkout_version((branch, None))
        assert sorted(opened.to_table()["x"].to_pylist()) == expected
        counted = {f"writer {writer}": str(said["counted"]) for writer, said in reports.items()}
        assert opened.config() == counted
        first = opened.versions()[0]["version"]
        assert [v["version"] for v in opened.versions()] == [*range(first, opened.version + 1)]
        assert opened.version == first + changes
        opened.validate()
        made = opened.get_transactions(changes)
        assert len({transaction.uuid for transaction in made}) == changes
        seen.append(opened.to_table(with_row_id=True))
    assert seen[0] == seen[1]


def test_pylance_follows_our_commits_and_we_follow_its(tmp_path: Path) -> None:
    path = tmp_path / "table"
    ours = lance_core.write_dataset(rows(0, 0), path)
    theirs = lance.dataset(path)
    ours = lance_core.write_dataset(rows(0, 1), ours, mode="append")
    lance.write_dataset(rows(0, 2), theirs, mode="append")  # from version 1: rebased over ours
    lance_core.write_dataset(rows(0, 3), ours, mode="append")  # from version 2: over theirs
    assert lance.dataset(path).version == 4
    assert lance_core.dataset(path).to_table()["x"].to_pylist() == list(range(4 * ROWS))


def test_an_append_conflicts_with_an_overwrite_of_the_other_library(tmp_path: Path) -> None:
    path = tmp_path / "table"
    ours = lance_core.write_dataset(rows(0, 0), path)
    transaction = write_fragments(rows(0, 1), ours, mode="append", return_transaction=True)
    lance.write_dataset(rows(1, 0), path, mode="overwrite")
    with pytest.raises(CommitConflictError, match="Overwrite"):
        lance_core.LanceDataset.commit(path, transaction)
    assert lance.dataset(path).to_table()["x"].to_pylist() == list(range(1_000_000, 1_000_010))


def test_our_history_is_readable_by_pylance(tmp_path: Path) -> None:
    path = tmp_path / "table"
    lance_core.write_dataset(rows(0, 0), path)
    lance_core.write_dataset(rows(0, 1), path, mode="append", commit_message="more")
    kinds = [type(t.operation).__name__ for t in lance.dataset(path).get_transactions()]
    assert kinds == ["Append", "Overwrite"]
    newest = lance.dataset(path).read_transaction(2)
    assert newest.read_version == 1
    assert newest.transaction_properties["__lance_commit_message"] == "more"
