"""Compactions of both libraries: the same plans, and tables that each reads and changes further."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import lance
import lance.optimize
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core
import lance_core.optimize
from lance_core.errors import CompactionError
from lance_core_compaction import reuse
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

BOTH = [lance_core, lance]
PAIRS = list(itertools.product(BOTH, BOTH))
POINT = pa.struct([("x", pa.int32()), ("y", pa.string())])


def rows(start: int, count: int, version: str) -> pa.Table:
    """Rows of several types, told apart by ``i``; nulls as far as the file version has them."""
    numbers = range(start, start + count)
    columns = {
        "i": pa.array(numbers, pa.int64()),
        "s": pa.array([None if n % 7 == 0 else f"text {n % 11}" for n in numbers], pa.string()),
        "l": pa.array([[*range(n % 4)] for n in numbers], pa.list_(pa.int32())),
        "p": pa.array([{"x": n, "y": f"y{n % 5}"} for n in numbers], POINT),
        "v": pa.array([[n, n + 0.5] for n in numbers], pa.list_(pa.float32(), 2)),
        "d": pa.array([f"c{n % 3}" for n in range(count)]).dictionary_encode(),
    }
    if version == "0.1":
        columns["s"] = columns["s"].fill_null("")
        del columns["d"]
    return pa.table(columns)


def create(path: Path, sizes: list[int], **options: Any) -> None:
    """Fragments of these sizes."""
    version = options.setdefault("data_storage_version", "2.2")
    start = 0
    for size in sizes:
        mode = "append" if start else "create"
        lance.write_dataset(rows(start, size, version), str(path), mode=mode, **options)
        start += size


def plan(library: Any, path: Path, options: dict[str, Any]) -> list[list[int]]:
    module = lance.optimize if library is lance else lance_core.optimize
    made = module.Compaction.plan(library.dataset(str(path)), options)
    return [[fragment.id for fragment in task.fragments] for task in made.tasks]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"materialize_deletions": False},
    {"materialize_deletions_threshold": 0.0},
    {"materialize_deletions_threshold": 0.3},
    {"excluded_fragment_ids": [2, 5]},
    {"max_source_fragments": 4},
    {"max_source_rows": 50},
    {"max_source_bytes": 9000},
]


@each_case("seed", range(6))
def test_both_plan_the_same_tasks(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "t"
    sizes = [chance.choice([1, 5, 10, 12, 15, 19, 20, 25, 60]) for _ in range(12)]
    create(path, sizes, data_storage_version=chance.choice(["2.0", "2.1", "2.2"]))
    dataset = lance.dataset(str(path))
    dataset.delete(f"i % {chance.choice([4, 9, 11])} = 1")
    start = sum(sizes[:7])
    dataset.delete(f"i >= {start} and i < {start + sizes[7] // 3}")
    for options in OPTIONS:
        for target in (0, 10, 20, 30, 100, None):
            given = options if target is None else {**options, "target_rows_per_fragment": target}
            expected = plan(lance, path, given)
            assert plan(lance_core, path, given) == expected, (sizes, given)


INDICES = [("i", "BTREE"), ("i", "BITMAP"), ("i", "ZONEMAP"), ("i", "BLOOMFILTER"), ("s", "NGRAM")]


@each_case(
    "stable, defer, column, kind",
    [
        (stable, defer, *index)
        for stable, defer in ((True, False), (False, False), (False, True))
        for index in INDICES
    ],
)
def test_no_row_is_lost_to_an_index(
    tmp_path: Path, stable: bool, defer: bool, column: str, kind: str
) -> None:
    path = tmp_path / "t"
    create(path, [10] * 4, enable_stable_row_ids=stable)
    lance.dataset(str(path)).create_scalar_index(column, kind)
    for start in (40, 50):
        lance.write_dataset(rows(start, 10, "2.2"), str(path), mode="append")
    assert plan(lance, path, {}) == [[0, 1, 2, 3], [4, 5]]
    ours = lance_core.dataset(str(path))
    ours.optimize.compact_files(defer_index_remap=defer)
    assert len(ours.get_fragments()) == 2
    theirs = lance.dataset(str(path))
    statistics = theirs.stats.index_stats(f"{column}_idx")
    assert (statistics["num_indexed_rows"], statistics["num_unindexed_rows"]) == (40, 20)
    everything = theirs.to_table()
    assert everything.num_rows == 60
    for n in (0, 17, 39, 40, 59):
        assert theirs.to_table(filter=f"i = {n}")["i"].to_pylist() == [n]
    if column == "s":
        expected = everything.filter(pc.match_substring(everything["s"], "xt 1")).num_rows
        assert theirs.to_table(filter="contains(s, 'xt 1')").num_rows == expected


def changed(library: Any, path: Path) -> pa.Table:
    """Take rows, update, delete and append with a library, and return the rows by ``i``."""
    dataset = library.dataset(str(path))
    taken = dataset.take([0, 17, 30])
    assert taken.to_pylist() == [dataset.to_table().slice(n, 1).to_pylist()[0] for n in (0, 17, 30)]
    dataset.update({"s": "'new'"}, where="i % 10 = 5")
    dataset.delete("i % 10 = 6")
    version = dataset.data_storage_version
    dataset = library.write_dataset(rows(500, 3, version), str(path), mode="append")
    return dataset.to_table().sort_by("i")


CHANGED = [
    ("0.1", False, "reencode"),
    ("0.1", True, "reencode"),
    ("2.0", False, "try_binary_copy"),
    ("2.0", True, "reencode"),
    ("2.1", False, "reencode"),
    ("2.1", True, "try_binary_copy"),
    ("2.2", False, "reencode"),
    ("2.2", False, "try_binary_copy"),
    ("2.2", True, "try_binary_copy"),
]


@each_case(
    "version, stable, mode, first, second",
    [(*case, *pair) for case in CHANGED for pair in PAIRS if lance_core in pair],
)
def test_each_reads_and_changes_what_the_other_has_compacted(
    tmp_path: Path, version: str, stable: bool, mode: str, first: Any, second: Any
) -> None:
    path = tmp_path / "t"
    create(path, [20, 20, 20], data_storage_version=version, enable_stable_row_ids=stable)
    lance.dataset(str(path)).delete("i IN (3, 21)")
    before = lance.dataset(str(path)).to_table(with_row_id=stable)
    dataset = first.dataset(str(path))
    metrics = dataset.optimize.compact_files(compaction_mode=mode)
    assert (metrics.fragments_removed, metrics.fragments_added) == (3, 1)
    assert (metrics.files_removed, metrics.files_added) == (5, 1)
    for library in BOTH:
        opened = library.dataset(str(path))
        assert opened.version == dataset.version
        assert opened.to_table(with_row_id=stable).to_pylist() == before.to_pylist()
    assert changed(second, path) == changed_by_neither(path)
    lance_core.dataset(str(path)).validate()


def changed_by_neither(path: Path) -> pa.Table:
    """What `changed` leaves, read by the other library."""
    ours = lance_core.dataset(str(path)).to_table().sort_by("i")
    theirs = lance.dataset(str(path)).to_table().sort_by("i")
    assert ours.to_pylist() == theirs.to_pylist()
    return theirs if theirs.schema == ours.schema else ours


@each_case("mode", ["reencode", "try_binary_copy"])
def test_row_versions_are_those_of_pylance(tmp_path: Path, mode: str) -> None:
    columns = ["i", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    found = []
    for library in BOTH:
        path = tmp_path / library.__name__
        create(path, [20, 20], enable_stable_row_ids=True)
        dataset = lance.dataset(str(path))
        dataset.update({"s": "'x'"}, where="i % 7 = 2")
        library.dataset(str(path)).optimize.compact_files(compaction_mode=mode)
        found += [reader.dataset(str(path)).to_table(columns=columns) for reader in BOTH]
    assert all(one.to_pylist() == found[0].to_pylist() for one in found)


def test_tasks_and_results_pass_between_the_libraries(tmp_path: Path) -> None:
    path = tmp_path / "t"
    create(path, [20] * 4, enable_stable_row_ids=True)
    lance.dataset(str(path)).delete("i IN (3, 21)")
    ours, theirs = lance_core.dataset(str(path)), lance.dataset(str(path))
    options = {"target_rows_per_fragment": 30}
    one, other = lance_core.optimize.Compaction.plan(ours, options).tasks
    by_them = lance.optimize.CompactionTask.from_json(one.json()).execute(theirs)
    plan_of_them = lance.optimize.Compaction.plan(theirs, options)
    task = lance_core.optimize.CompactionPlan.from_json(plan_of_them.json()).tasks[1]
    assert task.fragments == other.fragments
    by_us = task.execute(str(path))
    lance.optimize.Compaction.commit(
        theirs, [by_them, lance.optimize.RewriteResult.from_json(by_us.json())]
    )
    expected = [n for n in range(80) if n not in (3, 21)]
    for library in BOTH:
        assert library.dataset(str(path)).to_table()["i"].to_pylist() == expected


@each_case("first, second", [pair for pair in PAIRS if lance_core in pair])
def test_a_deletion_of_the_other_library_is_kept_or_a_conflict(
    tmp_path: Path, first: Any, second: Any
) -> None:
    path = tmp_path / "t"
    create(path, [20, 20])
    behind = first.dataset(str(path))
    second.dataset(str(path)).delete("i = 3")
    if first is lance_core:
        behind.optimize.compact_files()
        for library in BOTH:
            found = library.dataset(str(path)).to_table()["i"].to_pylist()
            assert found == [n for n in range(40) if n != 3]
    else:
        with pytest.raises(OSError, match="onflict"):
            behind.optimize.compact_files()
    behind = first.dataset(str(path))
    second.write_dataset(rows(100, 1, "2.2"), str(path), mode="append")
    behind.optimize.compact_files()
    assert lance.dataset(str(path)).count_rows() == 40


def check_index(path: Path) -> None:
    """Compare what an index finds with what a scan finds."""
    dataset = lance.dataset(str(path))
    everything = dataset.to_table()
    assert "ScalarIndexQuery" in dataset.scanner(filter="i = 7").explain_plan()
    for n in (*range(0, 60, 3), 100, 101):
        found = dataset.to_table(filter=f"i = {n}")
        expected = everything.filter(pc.equal(everything["i"], n))
        assert found.sort_by("s").to_pylist() == expected.sort_by("s").to_pylist(), n


@pytest.mark.parametrize("limit", [None, 10])
def test_pylance_finds_rows_by_an_index_whose_remap_was_deferred(
    tmp_path: Path, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limit is not None:
        monkeypatch.setattr(reuse, "MAX_INLINE_BYTES", limit)
    path = tmp_path / "t"
    create(path, [10] * 6)
    lance.dataset(str(path)).create_scalar_index("i", "BTREE")
    ours = lance_core.dataset(str(path))
    ours.delete("i IN (6, 31)")
    ours.optimize.compact_files(defer_index_remap=True, target_rows_per_fragment=20)
    check_index(path)
    lance_core.write_dataset(rows(100, 3, "2.2"), ours, mode="append")
    ours.checkout_latest()
    ours.delete("i = 12")
    ours.update({"s": "'new'"}, "i = 15")
    check_index(path)
    ours.optimize.compact_files(defer_index_remap=True)
    check_index(path)
    theirs = lance.dataset(str(path))
    theirs.delete("i = 18")
    theirs.optimize.compact_files(defer_index_remap=True, materialize_deletions_threshold=0.0)
    check_index(path)
    theirs.optimize.optimize_indices()
    check_index(path)


def test_new_values_of_moved_rows_are_not_looked_up_in_the_old_index(tmp_path: Path) -> None:
    path = tmp_path / "t"
    create(path, [10] * 4)
    lance.dataset(str(path)).create_scalar_index("i", "BTREE")
    ours = lance_core.dataset(str(path))
    ours.optimize.compact_files(defer_index_remap=True, target_rows_per_fragment=20)
    fragment = ours.get_fragments()[0]
    addresses = [fragment.fragment_id << 32 | row for row in (7, 8)]
    new = pa.table({"i": [70, 80], "_rowaddr": pa.array(addresses, pa.uint64())})
    updated, fields = fragment.update_columns(new, "_rowaddr", "_rowaddr")
    operation = lance_core.LanceOperation.Update(
        updated_fragments=[updated], fields_modified=fields, update_mode="rewrite_columns"
    )
    lance_core.LanceDataset.commit(ours, operation, ours.version)
    dataset = lance.dataset(str(path))
    assert dataset.to_table(filter="i = 7").num_rows == 0
    assert dataset.to_table(filter="i = 70").num_rows == 1
    assert dataset.to_table(filter="i = 33").num_rows == 1


@each_case("version", ["2.0", "2.1", "2.2"])
def test_the_same_rows_are_in_files_of_the_same_number_of_rows(
    tmp_path: Path, version: str
) -> None:
    counts = []
    for library in BOTH:
        path = tmp_path / library.__name__
        create(path, [15] * 5, data_storage_version=version)
        dataset = library.dataset(str(path))
        dataset.optimize.compact_files(target_rows_per_fragment=20)
        counts.append([(f.fragment_id, f.count_rows()) for f in dataset.get_fragments()])
    assert counts[0] == counts[1]


def test_blobs_of_a_compacted_table_are_read_by_pylance(tmp_path: Path) -> None:
    values = [b"a", None, b"", b"x" * 70_000, b"y" * (5 << 20), np.random.default_rng(0).bytes(9)]
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    older = pa.array(values, pa.large_binary())
    for version, field, column in (
        ("2.1", blob, older),
        ("2.2", lance_core.blob_field("b"), lance_core.blob_array(values)),
    ):
        path = str(tmp_path / version)
        schema = pa.schema([pa.field("i", pa.int64()), field])
        table = pa.table([pa.array(range(6)), column], schema=schema)
        for mode in ("create", "append"):
            lance_core.write_dataset(table, path, mode=mode, data_storage_version=version)
        lance_core.dataset(path).optimize.compact_files()
        dataset = lance.dataset(path)
        present = [n for n, value in enumerate(values) if value is not None]
        indices = [n + start for start in (0, 6) for n in present]
        found = dataset.take_blobs("b", indices=indices)
        assert [blob.readall() for blob in found] == [values[n] for n in present] * 2


@each_case("history", ["no index", "a dropped index", "an index"])
def test_old_addresses_are_kept_if_there_is_an_index(tmp_path: Path, history: str) -> None:
    found = []
    for library in BOTH:
        path = str(tmp_path / library.__name__)
        create(Path(path), [3, 3, 3])
        if history != "no index":
            lance.dataset(path).create_scalar_index("i", "BTREE")
        if history == "a dropped index":
            lance.dataset(path).drop_index("i_idx")
        library.dataset(path).optimize.compact_files(defer_index_remap=True)
        found.append([index.name for index in lance.dataset(path).describe_indices()])
    assert found[0] == found[1]


STRUCTS = [
    pa.struct({"p": pa.list_(pa.int64())}),
    pa.struct({"a": pa.int64(), "x": pa.list_(pa.struct({"p": pa.list_(pa.int64())}))}),
    pa.list_(pa.struct({"a": pa.string(), "p": pa.list_(pa.int64())})),
]


def value_of(type_: pa.DataType, chance: random.Random, nulls: float) -> object:
    if chance.random() < nulls:
        return None
    if pa.types.is_struct(type_):
        return {part.name: value_of(part.type, chance, nulls) for part in type_}
    if pa.types.is_list(type_):
        return [value_of(type_.value_type, chance, nulls) for _ in range(chance.randrange(3))]
    return "abc"[chance.randrange(3)] if pa.types.is_string(type_) else chance.randrange(9)


@each_case("writer", BOTH)
@each_case("version", ["2.1", "2.2"])
@each_case("type_", STRUCTS, ids=str)
@each_case("deleted", [False, True])
def test_pylance_reads_structs_around_lists_of_which_some_are_null(
    tmp_path: Path, writer: Any, version: str, type_: pa.DataType, deleted: bool
) -> None:
    chance = random.Random(7)
    values = [value_of(type_, chance, nulls) for nulls in (0, 0.4, 0, 1, 0) for _ in range(5)]
    table = pa.table({"i": range(25), "x": pa.array(values, type_)})
    writer.write_dataset(table, str(tmp_path), max_rows_per_file=5, data_storage_version=version)
    dataset = lance_core.dataset(tmp_path)
    options: dict[str, Any] = {"compaction_mode": "try_binary_copy"}
    if deleted:
        dataset.delete("i = 7")
        options["materialize_deletions_threshold"] = 0.0
        table = table.filter(pc.field("i") != 7)
    elif writer is lance:
        with pytest.raises(CompactionError, match="'x' differ in which structs"):
            dataset.optimize.compact_files(compaction_mode="force_binary_copy")
    else:
        options["compaction_mode"] = "force_binary_copy"
    dataset.optimize.compact_files(**options)
    assert len(dataset.get_fragments()) == 1
    assert lance.dataset(str(tmp_path)).to_table() == table


def test_pylance_reads_structs_around_lists_written_in_several_pages(tmp_path: Path) -> None:
    rows = 4000
    lists = pa.array([[n] * (n % 4) for n in range(rows)], pa.list_(pa.int64()))
    nulls = pa.array(np.arange(rows) // 10 == 321)
    table = pa.table({"x": pa.StructArray.from_arrays([lists], ["p"], mask=nulls)})
    reader = table.to_reader(max_chunksize=100)
    lance_core.write_dataset(reader, str(tmp_path), max_page_bytes=1000)
    assert lance.dataset(str(tmp_path)).to_table() == table
