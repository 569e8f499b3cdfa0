"""One table on a server that both libraries write to, at the same time, and clean up in turn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.plugins.store_cache import open_store
from tests.soak.places import NAMES, Place

BOTH = {"ours": lance_core, "pylance's": pylance}
KINDS = [name for name in NAMES if name != "webdav"]  # pylance has no such store


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    return new_place(request.param)


def table(*numbers: int) -> pa.Table:
    return pa.table({"number": pa.array(numbers, pa.int64())})


def paths(uri: str, options: dict[str, str]) -> set[str]:
    """What is there of the table besides its manifests and what rows say."""
    plain = uri.replace("s3+ddb://", "s3://").partition("?")[0]
    options = {name: value for name, value in options.items() if name != "dynamodb_endpoint"}
    return {one.path for one in open_store(plain, options).list("")}


@pytest.mark.parametrize("cleaner", BOTH)
def test_each_library_cleans_up_what_both_wrote(place: Place, cleaner: str) -> None:
    uri, options = place.uri(place.endpoint), place.options(place.endpoint)

    def opened(library: Any) -> Any:
        return library.dataset(uri, storage_options=options)

    for number, library in enumerate([*BOTH.values()] * 2):
        mode = "append" if number else "create"
        library.write_dataset(table(number, 10 + number), uri, mode=mode, storage_options=options)
    opened(lance_core).delete("number = 10")
    opened(pylance).delete("number = 11")
    opened(pylance).optimize.compact_files()
    pylance.write_dataset(table(9), uri, mode="append", storage_options=options)
    opened(lance_core).tags.create("kept", 2)
    before = paths(uri, options)
    removed = opened(BOTH[cleaner]).cleanup_old_versions(
        older_than=timedelta(0), delete_unverified=True, error_if_tagged_old_versions=False
    )
    after = paths(uri, options)
    assert removed.old_versions > 0
    assert len(after) < len(before)
    latest = opened(lance_core).version
    for library in BOTH.values():
        found = opened(library)
        assert sorted(found.to_table()["number"].to_pylist()) == [0, 1, 2, 3, 9, 12, 13]
        assert [one["version"] for one in found.versions()] == [2, latest]
        tagged = library.dataset(uri, version="kept", storage_options=options)
        assert sorted(tagged.to_table()["number"].to_pylist()) == [0, 1, 10, 11]
    # Nothing is left that no version needs, nor for the other library to find.
    for library in BOTH.values():
        again = opened(library).cleanup_old_versions(
            older_than=timedelta(0), delete_unverified=True, error_if_tagged_old_versions=False
        )
        assert again.old_versions == 0
        assert paths(uri, options) == after
    for number, library in enumerate(BOTH.values()):
        library.write_dataset(table(20 + number), uri, mode="append", storage_options=options)
    assert opened(pylance).count_rows() == opened(lance_core).count_rows() == 9


WRITER = """
import json, sys, pyarrow as pa
library = __import__(sys.argv[1])
for line in sys.stdin:
    writer, commits, uri, options = json.loads(line)
    for turn in range(commits):
        first = 100 * writer + 2 * turn
        rows = pa.table({"number": pa.array([first, first + 1], pa.int64())})
        library.write_dataset(rows, uri, mode="append", storage_options=options)
        if turn % 2:
            for attempt in range(30):
                try:
                    library.dataset(uri, storage_options=options).delete(f"number = {first}")
                    break
                except OSError as error:  # pylance gives up after some conflicts: nothing is done
                    said = str(error).lower()
                    if "conflict" not in said and "concurrent" not in said:
                        raise
            else:
                sys.exit(3)
    print("done", flush=True)
"""
COMMITS = 4


@pytest.fixture(scope="module")
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """One of each library, which run `WRITER`: to start them takes longer than what they do."""
    with ExitStack() as at_end:
        running = []
        for library in (lance_core, pylance):
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", WRITER, library.__name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            at_end.enter_context(process)
            at_end.callback(process.kill)
            running.append(process)
        yield running


def test_processes_of_both_append_and_delete_at_the_same_time(
    place: Place, processes: list[subprocess.Popen[str]]
) -> None:
    uri, options = place.uri(place.endpoint), place.options(place.endpoint)
    lance_core.write_dataset(table(0), uri, storage_options=options)
    for writer, process in enumerate(processes, start=1):
        assert process.stdin is not None
        process.stdin.write(json.dumps([writer, COMMITS, uri, options]) + "\n")
        process.stdin.flush()
    assert [next(iter(process.stdout or ()), "") for process in processes] == ["done\n"] * 2
    expected = [0] + [
        100 * writer + 2 * turn + one
        for writer in (1, 2)
        for turn in range(COMMITS)
        for one in ((1,) if turn % 2 else (0, 1))
    ]
    for library in BOTH.values():
        found = library.dataset(uri, storage_options=options)
        assert sorted(found.to_table()["number"].to_pylist()) == expected
        assert found.version == 1 + 2 * (COMMITS + COMMITS // 2)
