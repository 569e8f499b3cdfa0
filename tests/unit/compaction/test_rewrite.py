"""The rows of a compacted table, whatever stored them before."""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.snapshot.session import Session
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import CompactionError, CorruptFileError, StoreError
from lance_core.progress import FragmentWriteProgress
from lance_core_compaction import field_groups
from lance_core_compaction import rewrite as rewriting
from lance_core_compaction.compact import compact
from lance_core_compaction.options import CompactionSettings
from lance_core_compaction.rewrite import rows_per_file
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused
from tests.each_case import each_case
from tests.unit.compaction.compaction_tables import data_files, table_of
from tests.unit.dataset.blobs import blob_tables

Rows = Callable[..., pa.Table]
VERSIONS = ["0.1", "2.0", "2.1", "2.2"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stable", [False, True])
def test_rows_stay_the_same_in_one_file_and_deleted_ones_are_gone(
    uri: str, version: str, stable: bool, some_rows: Rows
) -> None:
    rows = some_rows(100).drop_columns(["b"] if version == "0.1" else [])
    dataset = lance.write_dataset(
        rows,
        uri,
        max_rows_per_file=30,
        data_storage_version=version,
        enable_stable_row_ids=stable,
    )
    dataset.delete("i % 3 = 1")
    before = dataset.to_table()
    metrics = dataset.optimize.compact_files()
    assert (metrics.fragments_removed, metrics.fragments_added) == (4, 1)
    assert (metrics.files_removed, metrics.files_added) == (8, 1)
    assert dataset.version == 4
    assert dataset.to_table() == before
    (fragment,) = dataset.get_fragments()
    assert fragment.fragment_id == 4
    assert fragment.deletion_file() is None
    assert not dataset.snapshot.manifest.flags.reader & 1
    assert lance.dataset(uri).to_table() == before
    dataset.validate()
    assert dataset.optimize.verify().num_rows == len(before)


def test_rows_that_may_exceed_the_largest_file_are_not_written_by_groups_of_columns(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = table_of(uri, [20, 20, 20])
    before = dataset.to_table()
    monkeypatch.setattr(rewriting, "DEFAULT_MAX_BYTES_PER_FILE", 100)
    with mock.patch.object(rewriting, "write_by_groups") as by_groups:
        dataset.optimize.compact_files()
    assert not by_groups.called
    assert dataset.to_table() == before


def test_stable_row_ids_and_row_versions_stay(uri: str) -> None:
    dataset = table_of(uri, [20, 20, 20], enable_stable_row_ids=True)
    dataset.update({"i": "i + 100"}, "i % 7 = 2")
    dataset.delete("i % 5 = 1")
    columns = ["i", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    before = dataset.to_table(columns=columns)
    dataset.optimize.compact_files(target_rows_per_fragment=25)
    assert len(dataset.get_fragments()) == 1
    assert dataset.to_table(columns=columns) == before
    dataset.validate()


@each_case("mode", ["reencode", "try_binary_copy"])
def test_stable_row_ids_and_row_versions_stay_in_the_third_new_fragment_and_later_ones(
    tmp_path: Path, mode: Any
) -> None:
    dataset = table_of(str(tmp_path / "t"), [9, 70, 30, 8, 7], enable_stable_row_ids=True)
    dataset.update({"i": "i + 100"}, "i % 7 = 2")
    dataset.delete("i % 5 = 1")
    columns = ["i", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    before = dataset.to_table(columns=columns)
    dataset.optimize.compact_files(
        target_rows_per_fragment=20, max_bytes_per_file=1, compaction_mode=mode, batch_size=16
    )
    assert len(dataset.get_fragments()) >= 4
    assert dataset.to_table(columns=columns).sort_by("_rowid") == before.sort_by("_rowid")
    dataset.validate()


def test_column_files_are_merged_and_dropped_columns_vanish(uri: str) -> None:
    dataset = table_of(uri, [20, 20])
    dataset.delete("i = 3")
    dataset.add_columns({"twice": "i * 2", "gone": "i"})
    dataset.drop_columns(["gone"])
    before = dataset.to_table()
    metrics = dataset.optimize.compact_files()
    assert (metrics.files_removed, metrics.files_added) == (5, 1)
    assert dataset.to_table() == before
    (file,) = dataset.get_fragments()[0].metadata.files
    assert file.fields == [field.id for field in dataset.snapshot.schema.fields]


def test_columns_that_a_fragment_lacks_become_nulls(uri: str) -> None:
    dataset = table_of(uri, [5])
    dataset.add_columns(pa.field("later", pa.string()))
    dataset = lance.write_dataset(pa.table({"i": [5], "later": ["x"]}), uri, mode="append")
    before = dataset.to_table()
    dataset.optimize.compact_files()
    assert dataset.to_table() == before


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("group_bytes", [1, 1 << 10, 1 << 20])
def test_groups_of_columns_have_the_same_rows(
    uri: str, version: str, group_bytes: int, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field_groups, "group_bytes", lambda: group_bytes)
    monkeypatch.setattr(field_groups, "FIRST_ROWS", 7)
    rows = some_rows(100)
    for number in range(40 if group_bytes > 1 else 6):  # a group has one column
        rows = rows.append_column(f"n{number}", pa.array(np.arange(100) * number))
    dataset = lance.write_dataset(
        rows, uri, max_rows_per_file=12, data_storage_version=version, enable_stable_row_ids=True
    )
    dataset.delete("i % 7 = 1")
    before = dataset.to_table(with_row_id=True)
    dataset.optimize.compact_files(target_rows_per_fragment=30)
    assert len(dataset.get_fragments()) == 2
    assert dataset.to_table(with_row_id=True) == before
    dataset.validate()


@each_case("threads, megabytes", [(1, 6), (2, 4), (3, 2), (4, 2)])
def test_many_threads_have_small_windows(
    threads: int, megabytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field_groups, "column_threads", lambda: threads)
    assert field_groups.group_bytes() == megabytes << 20
    assert field_groups.page_bytes() == megabytes * 384 << 10


@each_case("mode", ["reencode", "try_binary_copy"])
@each_case("target", ["2.0", "2.1", "2.2"])
def test_new_files_may_have_another_version(tmp_path: Path, target: str, mode: str) -> None:
    dataset = table_of(str(tmp_path), [5, 5], data_storage_version="2.1")
    before = dataset.to_table()
    dataset.optimize.compact_files(data_storage_version=target, compaction_mode=mode)
    (file,) = dataset.get_fragments()[0].metadata.files
    assert f"{file.file_major_version}.{file.file_minor_version}" == target
    assert dataset.data_storage_version == "2.1"
    assert dataset.to_table() == before
    # Now the files have two versions.
    more = lance.write_dataset(before, str(tmp_path), mode="append")
    more.delete("i = 2")
    after = more.to_table()
    more.optimize.compact_files(data_storage_version=target, compaction_mode=mode)
    assert len(more.get_fragments()) == 1
    assert more.to_table() == after


@each_case("mode", ["reencode", "try_binary_copy"])
def test_metadata_of_files_that_are_replaced_is_not_cached(tmp_path: Path, mode: str) -> None:
    dataset = table_of(str(tmp_path), [5] * 40)
    before = dataset.session().size_bytes()
    metrics = dataset.optimize.compact_files(compaction_mode=mode)
    assert metrics.fragments_removed == 40
    assert dataset.session().size_bytes() == before
    limited = Session(metadata_cache_size_bytes=0).fresh()
    assert lance.dataset(str(tmp_path), session=limited).to_table().num_rows == 200
    assert limited.size_bytes() == 0


@each_case(
    "rows, target, expected",
    [(30, 20, 30), (45, 20, 23), (40, 20, 20), (5, 20, 5), (0, 20, 1), (100, 30, 34), (9, 0, 1)],
)
def test_files_of_a_task_have_almost_the_same_number_of_rows(
    rows: int, target: int, expected: int
) -> None:
    assert rows_per_file(rows, target) == expected


def test_a_task_with_many_rows_makes_several_fragments(uri: str) -> None:
    dataset = table_of(uri, [15] * 5)
    dataset.optimize.compact_files(target_rows_per_fragment=20)
    assert [f.count_rows() for f in dataset.get_fragments()] == [30, 23, 22]
    assert dataset.to_table()["i"].to_pylist() == [*range(75)]


def test_a_file_ends_at_the_first_batch_after_so_many_bytes(uri: str) -> None:
    values = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(4 << 20)), 1024)
    dataset = lance.write_dataset(pa.table({"v": values}), uri, max_rows_per_file=2048)
    metrics = dataset.optimize.compact_files(max_bytes_per_file=1000, batch_size=2048)
    assert metrics.fragments_added == 2
    assert dataset.count_rows() == 4096


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_blobs_keep_their_bytes(uri: str, version: str) -> None:
    values = blob_tables.payloads()
    make = blob_tables.v2 if version == "2.2" else blob_tables.v1
    dataset = lance.write_dataset(
        make(values), uri, max_rows_per_file=5, data_storage_version=version
    )
    dataset.delete("i = 4")
    before = blob_tables.as_bytes(dataset)
    dataset.optimize.compact_files()
    assert len(dataset.get_fragments()) == 1
    assert blob_tables.as_bytes(dataset) == before
    assert dataset.optimize.verify().num_rows == len(before)
    dataset.validate()


def test_blobs_at_uris_are_neither_read_nor_refused(uri: str, tmp_path: Path) -> None:
    folder = tmp_path / "media"
    folder.mkdir()
    (folder / "one").write_bytes(b"0123456789")
    values = [b"own", (folder / "one").as_uri(), None]
    data = blob_tables.v2(values)
    for mode in ("create", "append"):
        lance.write_dataset(data, uri, mode=mode, allow_external_blob_outside_bases=True)
    dataset = lance.dataset(uri, allow_base_paths=str(folder))
    described = [one and one["blob_uri"] for one in blob_tables.described(dataset)]
    (folder / "one").rename(folder / "other")
    dataset.optimize.compact_files()
    (folder / "other").rename(folder / "one")
    assert [one and one["blob_uri"] for one in blob_tables.described(dataset)] == described
    assert blob_tables.as_bytes(dataset) == [b"own", b"0123456789", None] * 2


def test_dictionaries_json_and_nested_columns_keep_their_values(uri: str) -> None:
    rows = pa.table(
        {
            "d": pa.array(["a", None, "b", "a"]).dictionary_encode(),
            "j": pa.array(['{"x": 1}', None, "[2]", "3"], pa.json_()),
            "m": pa.array([[("k", 1)], [], None, [("l", None)]], pa.map_(pa.string(), pa.int32())),
            "l": pa.array([[{"x": 1}], None, [], [None]], pa.list_(pa.struct({"x": pa.int8()}))),
        }
    )
    for mode in ("create", "append"):
        dataset = lance.write_dataset(rows, uri, mode=mode)
    before = dataset.to_table()
    dataset.optimize.compact_files()
    assert dataset.to_table().to_pylist() == before.to_pylist()
    assert dataset.schema == before.schema
    assert dataset.optimize.verify().num_rows == 8


class Log(FragmentWriteProgress):
    """What was called; ``fail`` is raised by the second fragment's end."""

    def __init__(self, fail: BaseException | None = None) -> None:
        self.calls: list[tuple[str, int]] = []
        self.fail = fail

    def begin(self, fragment: lance.FragmentMetadata, **_: Any) -> None:
        self.calls.append(("begin", fragment.physical_rows))

    def complete(self, fragment: lance.FragmentMetadata, **_: Any) -> None:
        self.calls.append(("complete", fragment.physical_rows))
        if self.fail is not None and len(self.calls) >= 4:
            raise self.fail


def test_progress_is_told_of_each_new_fragment(uri: str) -> None:
    dataset = table_of(uri, [15] * 3)
    log = Log()
    dataset.optimize.compact_files(target_rows_per_fragment=20, progress=log)
    assert log.calls == [("begin", 0), ("complete", 23), ("begin", 0), ("complete", 22)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("by the caller"), MemoryError])
def test_an_interrupted_compaction_leaves_nothing_behind(
    uri: str, threads: int, error: Any
) -> None:
    dataset = table_of(uri, [15] * 9)
    before = data_files(uri)
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        dataset.optimize.compact_files(
            target_rows_per_fragment=20, num_threads=threads, progress=Log(error)
        )
    assert data_files(uri) == before
    assert dataset.latest_version == dataset.version == 2
    assert dataset.count_rows() == 135


def over(dataset: lance.LanceDataset, *rules: FaultRule) -> tuple[Snapshot, FaultyStore]:
    """The open version over a store with faults."""
    snapshot = dataset.snapshot
    faulty = FaultyStore(snapshot.root.store, rules)
    root = dataclasses.replace(snapshot.root, store=faulty)
    return Snapshot(root, snapshot.file, snapshot.location), faulty


@pytest.mark.parametrize("threads", [1, 2])
def test_without_space_nothing_is_committed_and_nothing_left(uri: str, threads: int) -> None:
    dataset = table_of(uri, [15] * 9)
    before = data_files(uri)
    full = Refused(lambda _: StoreError(f"data/x: {OSError(errno.ENOSPC, 'No space left')}"))
    snapshot, _ = over(dataset, FaultRule(full, "close", "data/*", nth=3))
    settings = CompactionSettings.of(
        snapshot, {"target_rows_per_fragment": 20, "num_threads": threads}
    )
    with pytest.raises(StoreError, match="No space left"):
        compact(snapshot, settings)
    assert data_files(uri) == before
    assert dataset.latest_version == 2


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_a_corrupt_file_stops_the_compaction(uri: str, version: str) -> None:
    dataset = table_of(uri, [2000, 2000], data_storage_version=version)
    path = Path(uri) / "data" / dataset.get_fragments()[1].metadata.files[0].path
    data = bytearray(path.read_bytes())
    data[-40:-16] = bytes(24)
    path.write_bytes(data)
    before = data_files(uri)
    with pytest.raises(CorruptFileError):
        lance.dataset(uri).optimize.compact_files()
    assert data_files(uri) == before
    assert dataset.latest_version == 2


def test_a_missing_file_stops_the_compaction(uri: str) -> None:
    dataset = table_of(uri, [20, 20])
    (Path(uri) / "data" / dataset.get_fragments()[1].metadata.files[0].path).unlink()
    before = data_files(uri)
    with pytest.raises(FileNotFoundError):
        lance.dataset(uri).optimize.compact_files()
    assert data_files(uri) == before


def test_a_copy_of_all_pages_names_what_it_cannot_copy(uri: str) -> None:
    dataset = table_of(uri, [20, 20])
    dataset.delete("i = 1")
    before = data_files(uri)
    with pytest.raises(CompactionError, match="binary copy is not supported: "):
        dataset.optimize.compact_files(compaction_mode="force_binary_copy")
    assert data_files(uri) == before


@pytest.mark.parametrize("mode", ["reencode", "try_binary_copy"])
def test_both_modes_keep_all_rows(uri: str, mode: Any) -> None:
    dataset = table_of(uri, [500] * 4, enable_stable_row_ids=True)
    dataset.delete("i % 100 = 7")
    before = dataset.to_table(with_row_id=True)
    dataset.optimize.compact_files(compaction_mode=mode)
    assert dataset.to_table(with_row_id=True) == before
    dataset.validate()


@each_case("more", [-1, 1])
@each_case("name, mode", [("_encoded", "reencode"), ("_copied", "try_binary_copy")])
def test_more_or_fewer_rows_than_before_are_never_a_result(
    tmp_path: Path, more: int, name: str, mode: Any
) -> None:
    dataset = table_of(str(tmp_path / "t"), [20, 20])
    before, write = data_files(dataset.uri), getattr(rewriting, name)

    def with_other_count(*args: Any) -> Any:
        made = write(*args)
        new = made if name == "_encoded" else args[3]
        new[0] = dataclasses.replace(new[0], physical_rows=new[0].physical_rows + more)
        return made

    with (
        mock.patch.object(rewriting, name, with_other_count),
        pytest.raises(CorruptFileError, match=f"fragments 0, 1 have 40 rows, but {40 + more} were"),
    ):
        dataset.optimize.compact_files(compaction_mode=mode)
    assert data_files(dataset.uri) == before
    assert dataset.latest_version == dataset.version


def test_fragments_without_rows_are_removed(uri: str) -> None:
    from tests.table_surgery import delete_rows

    dataset = delete_rows(table_of(uri, [2, 2]), {0: [0, 1], 1: [0, 1]})
    metrics = dataset.optimize.compact_files()
    assert (metrics.fragments_removed, metrics.fragments_added) == (2, 0)
    assert dataset.get_fragments() == []
    assert dataset.count_rows() == 0
