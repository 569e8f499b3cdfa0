"""What Spark writes: modes, checks before the first task, one commit, nothing of failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

import lance_core
from lance_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    DatasetExistsError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.store.secret import Secret
from lance_core_spark.options.data_source_options import DataSourceOptions
from tests.spark.conftest import read, write
from tests.spark.write.jobs import copied, data_files, named_files, planned, rows, written

BATCH = rows("mon", 1, 2)

# --- through Spark ---------------------------------------------------------------------------


def test_modes_make_one_version_each(spark: SparkSession, tmp_path: Path) -> None:
    numbers = spark.range(0, 100, 1, 4).withColumn("half", sf.col("id") / 2)
    write(numbers, tmp_path / "t.lance")
    write(numbers.select("half", "id"), tmp_path / "t.lance", max_rows_per_file=10)
    write(numbers.where("id < 5").coalesce(1), tmp_path / "t.lance", "overwrite")
    dataset = pylance.dataset(tmp_path / "t.lance")
    assert [version["version"] for version in dataset.versions()] == [1, 2, 3]
    counts = [pylance.dataset(tmp_path / "t.lance", version=v).count_rows() for v in (1, 2, 3)]
    assert counts == [100, 200, 5]
    second = lance_core.dataset(tmp_path / "t.lance", version=2)
    assert [f.physical_rows for f in second.get_fragments()] == 4 * [25] + 4 * [10, 10, 5]
    assert sorted(second.to_table()["half"].to_pylist()) == sorted(2 * [i / 2 for i in range(100)])
    assert dataset.to_table().sort_by("id").to_pydict() == {
        "id": list(range(5)),
        "half": [0.0, 0.5, 1.0, 1.5, 2.0],
    }


def test_a_task_that_is_repeated_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    def stumbling(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        yield from batches
        if TaskContext.get().attemptNumber() == 0:  # type: ignore[union-attr]
            raise RuntimeError("first attempt")

    write(spark.range(0, 40, 1, 2).mapInArrow(stumbling, "id long"), tmp_path / "t.lance")
    ids = lance_core.dataset(tmp_path / "t.lance").to_table()["id"].to_pylist()
    assert sorted(ids) == list(range(40))
    assert data_files(tmp_path / "t.lance") == named_files(tmp_path / "t.lance")


def test_a_failing_job_leaves_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    write(spark.range(10), tmp_path / "t.lance")
    bad = sf.when(sf.col("id") == 99, sf.raise_error(sf.lit("spoilt"))).otherwise(sf.col("id"))
    with pytest.raises(Exception, match="spoilt"):
        write(spark.range(0, 100, 1, 4).select(bad.cast("long").alias("id")), tmp_path / "t.lance")
    dataset = lance_core.dataset(tmp_path / "t.lance")
    assert (dataset.version, dataset.count_rows()) == (1, 10)
    with pytest.raises(Exception, match="spoilt"):
        write(spark.range(99, 100).select(bad.cast("long").alias("id")), tmp_path / "new.lance")
    with pytest.raises(ValueError, match="not found"):
        lance_core.dataset(tmp_path / "new.lance")


def test_an_empty_frame_makes_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    empty = spark.range(0).withColumn("name", sf.lit("x"))
    write(empty, tmp_path / "t.lance")
    dataset = pylance.dataset(tmp_path / "t.lance")
    assert dataset.count_rows() == 0
    assert dataset.schema.names == ["id", "name"]
    write(spark.range(3).withColumn("name", sf.lit("x")), tmp_path / "t.lance")
    write(empty, tmp_path / "t.lance", "overwrite")
    assert [pylance.dataset(tmp_path / "t.lance", v).count_rows() for v in (1, 2, 3)] == [0, 3, 0]


def test_sql_inserts_into_a_view(spark: SparkSession, tmp_path: Path) -> None:
    write(spark.range(3), tmp_path / "t.lance")
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW w USING lance OPTIONS (path '{tmp_path / 't.lance'}')"
    )
    spark.sql("INSERT INTO w SELECT id + 3 FROM range(3)")
    spark.catalog.dropTempView("w")  # others list all tables of the session
    assert sorted(r["id"] for r in read(spark, tmp_path / "t.lance").collect()) == list(range(6))


# --- checks before the first task ------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    schema = pa.schema([pa.field("id", pa.int64(), False), ("day", pa.string())])
    first = pa.table({"id": [0], "day": ["sun"]}, schema=schema)
    lance_core.write_dataset(first, tmp_path / "t.lance")
    return tmp_path / "t.lance"


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (st.StructType().add("id", "string"), "column 'id' is string, the table has it as bigint"),
        (st.StructType().add("ID", "long"), "no column 'ID'; it has 'id', and case matters"),
        (st.StructType().add("id", "long").add("more", "long"), "no column 'more'"),
        (st.StructType().add("day", "string"), "id is missing and not nullable"),
    ],
    ids=str,
)
def test_rows_that_do_not_fit_are_refused_at_once(
    table: Path, schema: st.StructType, reason: str
) -> None:
    with pytest.raises(SchemaMismatchError, match=reason):
        planned(table, schema=schema)


def test_names_that_spark_allows_twice_are_refused(tmp_path: Path) -> None:
    twice = st.StructType().add("a", "long").add("a", "long")
    with pytest.raises(ValueError, match="a"):
        planned(tmp_path / "t.lance", schema=twice)


def test_types_that_cannot_be_stored_are_refused_at_once(tmp_path: Path) -> None:
    maps = st.StructType().add("m", st.MapType(st.StringType(), st.LongType()))
    with pytest.raises(UnsupportedFeatureError, match=r"field m:.*cannot store maps"):
        planned(tmp_path / "t.lance", schema=maps, data_storage_version="2.1")
    assert not (tmp_path / "t.lance").exists()


def test_new_tables_hold_maps_and_null_structs(tmp_path: Path) -> None:
    shape = st.StructType().add("x", "long")
    columns = st.StructType().add("m", st.MapType(st.StringType(), st.LongType())).add("s", shape)
    rows = {
        "m": pa.array([[("a", 1), ("b", None)], None, []], pa.map_(pa.string(), pa.int64())),
        "s": pa.array([None, {"x": 1}, {"x": None}], pa.struct({"x": pa.int64()})),
    }
    job = planned(tmp_path / "t.lance", schema=columns)
    job.commit([written(job, pa.record_batch(rows))])
    found = pylance.dataset(tmp_path / "t.lance")
    assert found.data_storage_version == "2.2"
    assert found.to_table().to_pydict() == pa.table(rows).to_pydict()


def test_a_null_where_none_is_allowed_fails_the_task(table: Path) -> None:
    job = planned(table)
    with pytest.raises(ValueError, match="id is not nullable"):
        written(job, pa.record_batch({"id": pa.array([None], pa.int64()), "day": ["mon"]}))
    assert data_files(table) == named_files(table)


def test_nullable_columns_may_be_left_out(table: Path) -> None:
    job = planned(table, schema=st.StructType().add("id", "long"))
    job.commit([written(job, BATCH.select(["id"]))])
    assert pylance.dataset(table).to_table().to_pydict() == {
        "id": [0, 1, 2],
        "day": ["sun", None, None],
    }


def test_an_existing_table_can_be_an_error_or_left_alone(table: Path) -> None:
    with pytest.raises(DatasetExistsError, match="already"):
        planned(table, if_exists="error")
    for overwrite in (False, True):
        job = planned(table, overwrite, if_exists="ignore")
        job.commit([written(job, BATCH)])
    assert lance_core.dataset(table).version == 1
    job = planned(table.with_name("new.lance"), if_exists="error")
    job.commit([written(job, BATCH)])
    assert lance_core.dataset(table.with_name("new.lance")).count_rows() == 2


# --- one commit ------------------------------------------------------------------------------


def test_committing_twice_makes_one_version(table: Path) -> None:
    job = planned(table, commit_message="nightly")
    messages = [written(job, BATCH), written(job, BATCH, BATCH), written(job)]
    copied(job).commit(messages)
    copied(job).commit(messages)
    dataset = lance_core.dataset(table)
    assert (dataset.version, dataset.count_rows()) == (2, 7)
    made_by = dataset.read_transaction(2)
    assert made_by is not None
    assert "nightly" in made_by.transaction_properties.values()


def test_aborting_a_failed_job_removes_its_files(table: Path) -> None:
    job = planned(table)
    before = data_files(table)
    messages = [written(job, BATCH), None]
    assert len(data_files(table)) == 2
    copied(job).abort(messages)
    assert data_files(table) == before


def test_aborting_after_the_commit_landed_keeps_the_files(table: Path) -> None:
    job = planned(table)
    messages: list[Any] = [written(job, BATCH)]
    copied(job).commit(messages)
    copied(job).abort(messages)
    copied(job).abort([*messages, None])
    assert lance_core.dataset(table).to_table().num_rows == 3


def test_a_conflict_removes_the_files(table: Path) -> None:
    job = planned(table)
    messages = [written(job, BATCH)]
    lance_core.write_dataset(pa.table({"other": [1]}), table, mode="overwrite")
    with pytest.raises(CommitConflictError):
        copied(job).commit(messages)
    copied(job).abort(messages)
    assert len(data_files(table)) == 2
    assert lance_core.dataset(table).count_rows() == 1


def test_appends_that_overlap_both_count(table: Path) -> None:
    jobs = [planned(table), planned(table)]
    messages = [written(job, BATCH) for job in jobs]
    for job, message in zip(jobs, messages, strict=True):
        copied(job).commit([message])
    assert lance_core.dataset(table).count_rows() == 5


def test_a_commit_of_unknown_outcome_keeps_the_files(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = planned(table)
    messages = [written(job, BATCH)]
    really: Callable[..., Any] = lance_core.LanceDataset.commit

    def lost(*arguments: Any, **options: Any) -> None:
        really(*arguments, **options)
        raise CommitUnknownError("no answer")

    monkeypatch.setattr(lance_core.LanceDataset, "commit", lost)
    with pytest.raises(CommitUnknownError):
        copied(job).commit(messages)
    copied(job).abort(messages)
    assert lance_core.dataset(table).to_table().num_rows == 3


def test_an_overwrite_replaces_the_schema(table: Path) -> None:
    other = st.StructType().add("x", "double")
    job = planned(table, True, other)
    job.commit([written(job, pa.record_batch({"x": [1.5]}))])
    assert pylance.dataset(table).to_table().to_pydict() == {"x": [1.5]}


def test_what_tasks_get_carries_secrets_that_do_not_show(tmp_path: Path) -> None:
    job = planned(tmp_path / "t.lance", **{"storage.secret_access_key": "tiger"})
    assert "tiger" not in repr(vars(job))
    carried = vars(copied(job))["_plan"].table.options
    assert carried == {"secret_access_key": Secret("tiger")}
    assert "tiger" not in repr(
        DataSourceOptions.parse({"path": "t", "storage.secret_access_key": "tiger"})
    )
