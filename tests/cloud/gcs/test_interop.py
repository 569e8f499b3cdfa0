"""One table on the service, written and read by both libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, TypeVar

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core_testing.network.fault_proxy import FaultProxy
from tests.servers.gcs import GcsServer

T = TypeVar("T")

LIBRARIES = (lance, lance_core)
APPENDS = 5

PYLANCE_WRITER = """
import json, sys, lance, pyarrow as pa
uri, options, writer, count = sys.argv[1], json.loads(sys.argv[2]), *map(int, sys.argv[3:])
for number in range(count):
    table = pa.table({"id": [writer * 100 + number]})
    lance.write_dataset(table, uri, mode="append", storage_options=options)
"""


def rows(first: int, count: int = 100) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table({"id": pa.array(numbers, pa.int64()), "name": [f"n{n}" for n in numbers]})


def both(uri: str, options: dict[str, str]) -> tuple[Any, Any]:
    """The table as both libraries open it; they agree about it."""
    theirs, ours = (library.dataset(uri, storage_options=options) for library in LIBRARIES)
    assert ours.version == theirs.version
    assert ours.count_rows() == theirs.count_rows()
    return theirs, ours


@pytest.fixture
def uri(bucket: str) -> str:
    return f"gs://{bucket}/tables/t.lance"


@pytest.mark.parametrize("writer", LIBRARIES, ids=lambda library: library.__name__)
def test_what_one_writes_the_other_reads(gcs: GcsServer, uri: str, writer: ModuleType) -> None:
    table = rows(0, 5000)
    writer.write_dataset(table, uri, storage_options=gcs.options)
    theirs, ours = both(uri, gcs.options)
    assert ours.to_table() == theirs.to_table() == table
    assert ours.take([7, 4999]).equals(theirs.take([7, 4999]))
    assert ours.to_table(filter="id > 4990") == theirs.to_table(filter="id > 4990")


def test_both_change_one_table_in_turn(gcs: GcsServer, uri: str) -> None:
    for number in range(6):
        library = LIBRARIES[number % 2]
        mode = "append" if number else "create"
        library.write_dataset(rows(number * 100), uri, mode=mode, storage_options=gcs.options)
    theirs, ours = both(uri, gcs.options)
    theirs.delete("id % 10 = 0")
    _, ours = both(uri, gcs.options)
    ours.delete("id % 10 = 1")
    theirs, ours = both(uri, gcs.options)
    expected = [n for n in range(600) if n % 10 > 1]
    assert ours.to_table()["id"].to_pylist() == theirs.to_table()["id"].to_pylist() == expected
    theirs.optimize.compact_files()
    _, ours = both(uri, gcs.options)
    ours.cleanup_old_versions(retain_versions=1, delete_unverified=True)
    theirs, ours = both(uri, gcs.options)
    assert sorted(ours.to_table()["id"].to_pylist()) == expected
    assert sorted(theirs.to_table()["id"].to_pylist()) == expected
    assert len(ours.versions()) == len(theirs.versions()) == 1


def test_an_object_larger_than_a_part_is_exchanged(gcs: GcsServer, uri: str) -> None:
    table = pa.table({"bytes": [os.urandom(1 << 20) for _ in range(24)]})
    for library in LIBRARIES:
        place = f"{uri}-{library.__name__}"
        library.write_dataset(table, place, storage_options=gcs.options)
        theirs, ours = both(place, gcs.options)
        assert ours.to_table() == theirs.to_table() == table


def test_commits_of_both_at_the_same_time_all_land(gcs: GcsServer, uri: str) -> None:
    lance.write_dataset(pa.table({"id": [0]}), uri, storage_options=gcs.options)
    options = json.dumps(gcs.options)
    foreign = [
        subprocess.Popen(
            [sys.executable, "-c", PYLANCE_WRITER, uri, options, str(writer), str(APPENDS)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for writer in (1, 2)
    ]

    def append(writer: int) -> None:
        for number in range(APPENDS):
            table = pa.table({"id": [writer * 100 + number]})
            lance_core.write_dataset(table, uri, mode="append", storage_options=gcs.options)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(append, (3, 4)))
    for process in foreign:
        _, said = process.communicate()
        assert process.returncode == 0, said
    theirs, ours = both(uri, gcs.options)
    expected = [0] + [writer * 100 + n for writer in (1, 2, 3, 4) for n in range(APPENDS)]
    assert sorted(ours.to_table()["id"].to_pylist()) == expected
    assert sorted(theirs.to_table()["id"].to_pylist()) == expected
    assert ours.version == 1 + 4 * APPENDS


def requests(
    library: ModuleType, place: str, options: dict[str, str], proxy: FaultProxy
) -> list[int]:
    """How many requests it takes to open a table, to append, to scan and to take rows."""

    def counted(work: Callable[[], T]) -> T:
        proxy.set_rules([])
        done = work()
        found.append(proxy.count())
        return done

    found: list[int] = []
    dataset = counted(lambda: library.dataset(place, storage_options=options))
    counted(lambda: dataset.insert(rows(0)))
    counted(lambda: dataset.to_table(columns=["id"]))
    counted(lambda: dataset.take([5, 150, 250], columns=["name"]))
    return found


def test_no_more_requests_are_made_than_by_pylance(gcs: GcsServer, uri: str) -> None:
    """Open in two, append and commit in four: data, transaction, manifest, list."""
    counts: dict[str, list[int]] = {}
    with FaultProxy(gcs.endpoint) as proxy:
        vouched = {"put_if_absent": "yes", "multipart_if_absent": "yes", "copy_if_absent": "yes"}
        for library in LIBRARIES:
            options = GcsServer(proxy.url).options
            options |= vouched if library is lance_core else {}
            place = f"{uri}-{library.__name__}"
            for number in range(3):
                mode = "append" if number else "create"
                library.write_dataset(rows(0), place, mode=mode, storage_options=options)
            counts[library.__name__] = requests(library, place, options, proxy)
    ours, theirs = counts["lance_core"], counts["lance"]
    assert ours[0] <= 2
    assert ours[1] <= 4
    assert all(mine <= their for mine, their in zip(ours, theirs, strict=True)), counts
