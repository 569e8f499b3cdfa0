"""Updates of both libraries change the same rows, and each reads and follows the other's."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

BOTH = [lance_core, lance]
PAIRS = list(itertools.product(BOTH, BOTH))
IDS = ["ours-ours", "ours-pylance", "pylance-ours", "pylance-pylance"]

POINT = pa.struct([("x", pa.int32()), ("y", pa.string())])
TABLE = pa.table(
    {
        "i": pa.array(range(60), pa.int64()),
        "n": pa.array([None if n % 4 == 0 else n % 9 for n in range(60)], pa.int32()),
        "f": pa.array([(None, math.inf, 0.0, -0.0, n / 3)[n % 5] for n in range(60)], pa.float64()),
        "s": pa.array([None if n % 7 == 0 else f"{'ab'[n % 2]}_{n}%" for n in range(60)]),
        "b": pa.array([(True, False, None)[n % 3] for n in range(60)]),
        "p": pa.array([{"x": n, "y": None if n % 5 == 0 else str(n)} for n in range(60)], POINT),
        "l": pa.array([None if n % 8 == 0 else list(range(n % 4)) for n in range(60)]),
        "d": pa.array([n * 1000 for n in range(60)], pa.date32()),
        "t": pa.array([n * 10**9 for n in range(60)], pa.timestamp("us")),
        "c": pa.array([f"c{n % 3}" for n in range(60)]).dictionary_encode(),
        "j": pa.array([f'{{"a":{n}}}' for n in range(60)], pa.json_()),
        "u": pa.array([bytes([n]) * 16 for n in range(60)], pa.uuid()),
    }
)
BASIC = ["i", "n", "f", "s", "b"]

UPDATES: list[tuple[dict[str, str], str | None]] = [
    ({"n": "n + 1"}, None),
    ({"n": "i"}, "i % 7 = 3"),
    ({"n": "NULL", "s": "'x'"}, "n IS NULL OR i > 50"),
    ({"s": "upper(s)"}, "s LIKE 'a%'"),
    ({"s": "i"}, "i < 25"),
    ({"s": "f"}, "i < 25"),
    ({"s": "t"}, "i < 5"),
    ({"s": "b"}, "i < 5"),
    ({"f": "i / 4"}, "_rowid < 30"),
    ({"f": "n", "b": "n > 3"}, "i BETWEEN 10 AND 45"),
    ({"b": "i"}, "i < 2"),
    ({"n": "f"}, "f < 100"),
    # In pylance, another new value may be computed from a new value, by chance.
    ({"d": "'2020-02-29'", "t": "'2020-02-29'"}, "i = 3"),
    ({"t": "d"}, "i = 3"),
    ({"t": "timestamp '2020-02-29 01:02:03'"}, "i = 3"),
    ({"l": "[7, 8]"}, "i = 3"),
    ({"l": "NULL", "p": "NULL"}, "i = 3"),
    ({"c": "'new'"}, "i = 3"),
    ({"c": "s"}, "i < 4"),
    ({"j": "'{\"b\": [1, 2]}'"}, "i = 3"),
    ({"u": "NULL"}, "i = 3"),
    ({"n": "0"}, "i > 1000"),
    ({"n": "0"}, "false"),
]


def create(path: Path, rows: pa.Table = TABLE, **options: Any) -> None:
    """Fragments of 20 rows, some of them deleted."""
    given = {"max_rows_per_file": 20, "data_storage_version": "2.2", **options}
    lance.write_dataset(rows, str(path), **given).delete("i IN (5, 21)")


def content(path: Path) -> pa.Table:
    """What both libraries agree is in the table."""
    ours, peer = lance_core.dataset(str(path)), lance.dataset(str(path))
    found = ours.to_table(with_row_id=True)
    assert found.equals(peer.to_table(with_row_id=True))
    peer.validate()  # type: ignore[no-untyped-call]  # pylance does not annotate it
    ours.validate()
    return found


def written(path: Path) -> tuple[Any, ...]:
    """What the last update wrote, without names of files."""
    transaction = lance_core.dataset(str(path)).read_transaction(3)
    assert transaction is not None
    operation: Any = transaction.operation.to_stored()
    old = sorted((each.id, each.num_deleted_rows) for each in operation.updated_fragments)
    new = [
        (each.physical_rows, [file.fields for file in each.files], each.row_ids)
        for each in operation.new_fragments
    ]
    fields = operation.fields_modified, sorted(operation.fields_for_preserving_frag_bitmap)
    return sorted(operation.removed_fragment_ids), old, new, fields, operation.update_mode


def update_in_both(
    tmp_path: Path, updates: Mapping[str, str], where: str | None, **options: Any
) -> None:
    outcomes = []
    for library in BOTH:
        path = tmp_path / library.__name__
        create(path, **options)
        dataset = library.dataset(str(path))
        result = dataset.update(updates, where)
        assert dataset.version == 3
        outcomes.append((result, written(path), content(path).to_pylist()))
        fragments = lance_core.dataset(str(path)).snapshot.manifest.fragments
        lineage = [(f.created_at_versions, f.last_updated_at_versions) for f in fragments]
        outcomes[-1] = (*outcomes[-1], lineage)
    assert outcomes[0] == outcomes[1]


@each_case("case", UPDATES)
def test_both_update_the_same_rows_and_record_the_same(
    tmp_path: Path, case: tuple[dict[str, str], str | None]
) -> None:
    update_in_both(tmp_path, *case)


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_both_write_the_same_in_each_version(tmp_path: Path, version: str, stable: bool) -> None:
    options = {"data_storage_version": version, "enable_stable_row_ids": stable}
    update_in_both(tmp_path, {"n": "n * 2", "s": "'x'"}, "i % 3 = 0 OR i > 38", **options)


def test_both_update_tables_of_0_1(tmp_path: Path) -> None:
    rows = TABLE.select(["i", "s", "f", "c"]).slice(1, 6)
    options = {"data_storage_version": "0.1", "rows": rows}
    update_in_both(tmp_path, {"s": "'x'", "f": "i"}, "i IN (2, 4)", **options)


@pytest.mark.parametrize("stable", [False, True])
def test_updates_and_deletes_of_both_alternate(tmp_path: Path, stable: bool) -> None:
    path = tmp_path / "table"
    create(path, TABLE.select(BASIC), enable_stable_row_ids=stable)
    expected = {n: n % 9 for n in range(60) if n not in (5, 21)}
    lance.dataset(str(path)).update({"n": "i % 9"})
    for step, library in enumerate([lance_core, lance] * 3):
        chosen = {i for i in expected if i % (7 - step) == step % 2}
        dataset = library.dataset(str(path))
        result = dataset.update({"n": "n + 10"}, f"i % {7 - step} = {step % 2}")
        assert result == {"num_rows_updated": len(chosen)}
        expected = {i: n + 10 * (i in chosen) for i, n in expected.items()}
        found = content(path).sort_by("i")
        assert found["n"].to_pylist() == list(expected.values())
        if stable:
            assert found["_rowid"].to_pylist() == list(expected)


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_disjoint_rows_of_one_fragment_are_changed_by_two_at_the_same_version(
    tmp_path: Path, first: ModuleType, second: ModuleType, stable: bool
) -> None:
    path = tmp_path / "table"
    create(path, TABLE.select(BASIC), enable_stable_row_ids=stable)
    one, two, three = (library.dataset(str(path)) for library in (first, second, first))
    assert one.update({"n": "100"}, "i IN (1, 25)") == {"num_rows_updated": 2}
    assert two.update({"n": "200"}, "i IN (2, 26, 45)") == {"num_rows_updated": 3}
    assert three.delete("i = 3") == {"num_deleted_rows": 1}
    found = content(path)
    changed = {row["i"]: row["n"] for row in found.to_pylist() if (row["n"] or 0) >= 100}
    assert changed == {1: 100, 25: 100, 2: 200, 26: 200, 45: 200}
    assert found.num_rows == 57


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_rows_that_two_update_at_the_same_version_get_both_changes(
    tmp_path: Path, first: ModuleType, second: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path, TABLE.select(BASIC))
    one, two = first.dataset(str(path)), second.dataset(str(path))
    one.update({"n": "1000"}, "i < 10")
    assert two.update({"n": "n + 1"}, "i < 15") == {"num_rows_updated": 14}
    assert content(path).to_pydict()["n"].count(1001) == 9


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_an_update_follows_a_compaction_of_its_rows(
    tmp_path: Path, first: ModuleType, second: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path, TABLE.select(BASIC), enable_stable_row_ids=True)
    first.dataset(str(path)).update({"n": "100"}, "i < 4")
    late = second.dataset(str(path))
    lance.dataset(str(path)).optimize.compact_files()
    assert late.update({"n": "n + 1"}, "n = 100") == {"num_rows_updated": 4}
    found = content(path).sort_by("i")
    assert found["n"].to_pylist()[:4] == [101] * 4
    assert found["_rowid"].to_pylist() == found["i"].to_pylist()


PYLANCE_UPDATER = """
import sys, lance
path, count = sys.argv[1], int(sys.argv[2])
for _ in range(count):
    result = lance.dataset(path).update({"n": "n + 1"}, "i = 7", conflict_retries=100)
    assert result == {"num_rows_updated": 1}, result
"""


def test_writers_of_both_lose_no_increment_of_one_row(tmp_path: Path) -> None:
    path, count = tmp_path / "table", 6
    lance.write_dataset(pa.table({"i": range(100), "n": [0] * 100}), str(path))
    foreign = subprocess.Popen([sys.executable, "-c", PYLANCE_UPDATER, str(path), str(count)])

    def work(_: int) -> None:
        for _ in range(count):
            lance_core.dataset(str(path)).update({"n": "n + 1"}, "i = 7", conflict_retries=100)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    assert foreign.wait() == 0
    assert content(path).to_pydict()["n"] == [0] * 99 + [3 * count]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize(("writer", "updater"), PAIRS, ids=IDS)
def test_blobs_of_moved_rows_are_read_by_both(
    tmp_path: Path, writer: ModuleType, updater: ModuleType, version: str
) -> None:
    """In tables of 2.2 these blobs have version 2: inline, packed, null and empty."""
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    values = [b"small", b"x" * 70_000, None, b"", b"last"]
    rows = pa.table([range(5), values], schema=pa.schema([("i", pa.int64()), blob]))
    path = str(tmp_path / "table")
    writer.write_dataset(rows, path, data_storage_version=version)
    updater.dataset(path).update({"i": "i + 10"}, "i > 0")
    for library in BOTH:
        found = library.dataset(path).to_table(blob_handling="all_binary")
        assert found["i"].to_pylist() == [0, 11, 12, 13, 14]
        assert found["b"].to_pylist() == values
