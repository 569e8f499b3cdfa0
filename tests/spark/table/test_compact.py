"""Compactions on executors: the same rows, one commit, and nothing of those that fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import lance as pylance
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import (
    CommitUnknownError,
    CompactionError,
    CorruptFileError,
    InvalidInputError,
    LanceError,
    RetryableCommitConflictError,
)
from lance_core.fragment import FragmentMetadata
from lance_core.optimize import Compaction, CompactionMetrics
from lance_core.progress import FragmentWriteProgress
from lance_core_spark import compact
from lance_core_spark.table.compaction_run import CompactionRun
from lance_core_spark.table_ref import TableRef, TableVersion
from tests.spark.conftest import read

TARGET = 40
"""Rows of a new fragment: four fragments of `small_files` are a task."""


class Finished(FragmentWriteProgress):
    """Remembers new fragments and calls ``then`` after each."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.paths: list[str] = []
        self._then = then

    def begin(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        pass

    def complete(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        self.paths.append(fragment.files[0].path)
        self._then()


def small_files(uri: object, fragments: int = 8) -> lance_core.LanceDataset:
    for i in range(fragments):
        ids = range(10 * i, 10 * i + 10)
        rows = pa.table({"id": ids, "name": [f"name {n % 7}" if n % 5 else None for n in ids]})
        lance_core.write_dataset(rows, str(uri), mode="append" if i else "create")
    return lance_core.dataset(str(uri))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    small_files(tmp_path / "t.lance")
    return tmp_path / "t.lance"


def data_files(table: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (table / "data").iterdir()}


def damage(table: Path) -> Callable[[], object]:
    """Corrupt the second file of the first task; returns what mends it."""
    file = lance_core.dataset(table).get_fragments()[1].data_files()[0].path
    path = table / "data" / file
    content = path.read_bytes()
    path.write_bytes(bytes(len(content)))
    return lambda: path.write_bytes(content)


def jobs(spark: SparkSession, table: Path) -> int:
    """The number of jobs of compactions of ``table``."""
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"compact {table}"))


def check_fails(
    spark: SparkSession, table: Path, error: type[Exception], version: int = 8, **options: Any
) -> None:
    """A compaction raises ``error``, commits nothing, and leaves the files as they are."""
    before = data_files(table)
    with pytest.raises(error):
        compact(spark, table, target_rows_per_fragment=TARGET, **options)
    assert lance_core.dataset(table).latest_version == version
    assert data_files(table) == before


@pytest.mark.parametrize("mode", ["reencode", "try_binary_copy"])
def test_small_files_are_merged(spark: SparkSession, table: Path, mode: Any) -> None:
    lance_core.dataset(table).create_scalar_index("id", "BTREE")
    lance_core.dataset(table).delete("id % 10 = 3 AND id < 40")
    rows = lance_core.dataset(table).to_table()
    finished = Finished()
    metrics = compact(
        spark,
        table,
        target_rows_per_fragment=TARGET,
        materialize_deletions_threshold=0.0,
        compaction_mode=mode,
        progress=finished,
    )
    compacted = lance_core.dataset(table)
    assert (metrics.fragments_removed, metrics.files_removed) == (8, 12)
    assert metrics.fragments_added == metrics.files_added == len(compacted.get_fragments())
    assert (metrics.pages_reencoded > 0) == (mode == "try_binary_copy")
    assert sorted(finished.paths) == sorted(
        fragment.data_files()[0].path for fragment in compacted.get_fragments()
    )
    found = compacted.to_table(filter="id IN (7, 13, 41)", fast_search=True)
    assert found["id"].to_pylist() == [7, 41]
    statistics = compacted.stats.index_stats("id_idx")
    assert (statistics["num_unindexed_rows"], len(statistics["segments"])) == (0, 1)
    assert compacted.version == 12  # one version reserves ids, the next one has the fragments
    assert compacted.to_table() == rows
    assert pylance.dataset(table).to_table() == rows
    read_back = {row["id"]: row["name"] for row in read(spark, table).collect()}
    assert read_back == dict(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True))


def test_without_work_nothing_is_committed(spark: SparkSession, table: Path) -> None:
    assert compact(spark, table, target_rows_per_fragment=10) == CompactionMetrics()
    assert lance_core.dataset(table).version == 8


def test_jobs_have_a_description(spark: SparkSession, table: Path) -> None:
    context = spark.sparkContext
    context.setJobDescription("mine")
    compact(spark, table, target_rows_per_fragment=TARGET)
    assert jobs(spark, table) == 1
    assert context.getLocalProperty("spark.job.description") == "mine"
    assert context.getLocalProperty("spark.jobGroup.id") is None
    context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


def test_a_failed_task_is_repeated(spark: SparkSession, table: Path) -> None:
    rows = lance_core.dataset(table).to_table()
    finished = Finished(damage(table))  # The other task ends after the failure and mends the file.
    metrics = compact(spark, table, target_rows_per_fragment=TARGET, progress=finished)
    assert (metrics.fragments_removed, metrics.fragments_added) == (8, 2)
    assert len(finished.paths) == 2
    assert lance_core.dataset(table).to_table() == rows
    assert jobs(spark, table) == 2


def test_a_task_that_always_fails_commits_nothing(spark: SparkSession, table: Path) -> None:
    damage(table)
    finished = Finished()
    check_fails(spark, table, CorruptFileError, max_attempts=2, progress=finished)
    assert len(finished.paths) == 1
    assert jobs(spark, table) == 2


def test_invalid_input_is_not_tried_again(spark: SparkSession, table: Path) -> None:
    lance_core.dataset(table).delete("id = 3")
    check_fails(spark, table, CompactionError, 9, compaction_mode="force_binary_copy")
    assert jobs(spark, table) == 1


def test_rows_deleted_meanwhile_are_deleted_in_the_new_fragments(
    spark: SparkSession, table: Path
) -> None:
    finished = Finished(lambda: lance_core.dataset(table).delete("id = 70"))
    metrics = compact(spark, table, target_rows_per_fragment=TARGET, progress=finished)
    assert (metrics.fragments_removed, metrics.fragments_added) == (8, 2)
    rows = lance_core.dataset(table).to_table()
    assert (len(rows), 70 in rows["id"].to_pylist()) == (79, False)


def test_fragments_replaced_meanwhile_are_a_conflict(spark: SparkSession, table: Path) -> None:
    finished = Finished(lambda: lance_core.dataset(table).delete("id >= 70"))
    # Two tasks, so two deletes; the eleventh version only reserves ids.
    check_fails(spark, table, RetryableCommitConflictError, 11, progress=finished)
    assert len(lance_core.dataset(table).get_fragments()) == 7


def test_an_error_of_the_callback_is_raised(spark: SparkSession, table: Path) -> None:
    check_fails(spark, table, ZeroDivisionError, progress=Finished(lambda: 1 // 0))


def test_a_cancelled_job_leaves_nothing_of_finished_tasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "t.lance"
    small_files(table, 32)
    cancel = spark.sparkContext.cancelJobGroup
    finished = Finished(lambda: cancel(f"compact {table}"))
    with pytest.raises(Exception, match="cancelled"):
        compact(spark, table, target_rows_per_fragment=TARGET, progress=finished)
    assert lance_core.dataset(table).version == 32
    assert finished.paths
    assert not set(finished.paths) & set(data_files(table))


def test_files_stay_if_a_version_may_have_them(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise CommitUnknownError("no response", 9, "uuid")

    monkeypatch.setattr(Compaction, "commit", lost)
    with pytest.raises(CommitUnknownError):
        compact(spark, table, target_rows_per_fragment=TARGET)
    assert len(data_files(table)) == 10


class UnreachableError(Exception):
    """An error of a package that the driver may not have."""


class FailingTask:
    fragments: ClassVar[list[FragmentMetadata]] = []

    def execute(self, dataset: object) -> None:
        raise UnreachableError("no route")


def test_an_error_of_another_package_is_named(spark: SparkSession, table: Path) -> None:
    version = TableVersion.of(lance_core.dataset(table))
    tasks: Any = [FailingTask()]
    run = CompactionRun(spark, TableRef.of(str(table), {}), version, tasks)
    with pytest.raises(LanceError, match="UnreachableError: no route"):
        run.execute(1)


def test_bad_arguments_are_refused_before_any_task(spark: SparkSession, table: Path) -> None:
    check_fails(spark, table, InvalidInputError, max_attempts=0)
    check_fails(spark, table, InvalidInputError, colour="red")
