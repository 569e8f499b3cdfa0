"""`read`, `count_rows` and `lance_schema`: options as arguments."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import lance_core
import lance_core_spark as spark_lance
from lance_core.errors import (
    DatasetNotFoundError,
    InvalidInputError,
    InvalidTypeError,
    LanceError,
    RefNotFoundError,
    UnsupportedFeatureError,
)
from lance_core_spark.scan.broadcast import THRESHOLD
from lance_core_spark.source import LanceSource
from tests.each_case import each_case

TABLE = pa.table(
    {
        "id": pa.array(range(100), pa.int64()),
        "name": [f"n{i % 5}" for i in range(100)],
        "a,b": pa.array(range(100), pa.int32()),
        "s": pa.array([{"x": i} for i in range(100)], pa.struct({"x": pa.int32()})),
    }
)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Version 1 has 60 rows and version 2 has 100; the branch ``try`` has 10 deleted from those."""
    uri = str(tmp_path_factory.mktemp("frames") / "t.lance")
    dataset = lance_core.write_dataset(TABLE.slice(0, 60), uri, enable_stable_row_ids=True)
    dataset.tags.create("first", 1)
    dataset = lance_core.write_dataset(TABLE.slice(60), uri, mode="append")
    branch = dataset.create_branch("try")
    branch.delete("id < 10")
    branch.tags.create("tried", ("try", None))
    return uri


def test_arguments_select_rows_and_columns(spark: SparkSession, uri: str) -> None:
    frame = spark_lance.read(
        spark, Path(uri), columns=["s.x", "a,b", "_rowid"], filter="id >= 50", limit=3, version=1
    )
    assert frame.columns == ["s.x", "a,b", "_rowid"]
    assert [tuple(row) for row in frame.collect()] == [(i, i, i) for i in (50, 51, 52)]
    added = spark_lance.read(spark, uri, columns=[], with_row_id=True, rows_per_partition=30)
    assert added.columns == ["_rowid"]
    assert added.count() == 100


def test_small_tables_are_broadcast(spark: SparkSession, uri: str) -> None:
    """Spark writes its setting with a unit; -1 switches broadcasts off."""
    names = ["id"]
    other = spark.range(5)
    for text, is_small in (("2KB", True), ("1k", False), ("-1", False), ("10485760b", True)):
        spark.conf.set(THRESHOLD, text)
        assert spark.conf.get(THRESHOLD) == text
        joined = other.join(spark_lance.read(spark, uri, columns=names, broadcast=True), "id")
        assert ("strategy=broadcast" in _plan(joined)) == is_small
    spark.conf.unset(THRESHOLD)
    joined = other.join(spark_lance.read(spark, uri, columns=names), "id")
    assert "strategy=broadcast" not in _plan(joined)
    assert joined.count() == 5


def _plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().optimizedPlan())  # type: ignore[operator]


def test_rows_without_columns_are_counted(spark: SparkSession, uri: str) -> None:
    frame = spark_lance.read(spark, uri, columns=[], filter="name = 'n1'")
    assert (frame.columns, frame.count()) == ([], 20)


def test_rows_tell_the_versions_that_made_and_changed_them(spark: SparkSession, uri: str) -> None:
    frame = spark_lance.read(
        spark,
        uri,
        columns=["id"],
        with_row_created_at_version=True,
        with_row_last_updated_at_version="true",
    )
    names = ["_row_created_at_version", "_row_last_updated_at_version"]
    assert frame.dtypes == [("id", "bigint"), *((name, "bigint") for name in names)]
    counts = frame.groupBy(*names).count().collect()
    assert sorted(map(tuple, counts)) == [(1, 1, 60), (2, 2, 40)]
    chosen = spark.read.format("lance").schema("_row_created_at_version long, id long").load(uri)
    assert chosen.where("id = 60").first() == (2, 60)


def test_a_count_reads_the_manifest_or_the_columns_of_the_filter(
    spark: SparkSession, uri: str
) -> None:
    assert spark_lance.count_rows(spark, uri) == 100
    assert spark_lance.count_rows(spark, uri, version=1) == 60
    assert spark_lance.count_rows(spark, uri, branch="try") == 90
    assert spark_lance.count_rows(spark, uri, "id < 30", branch="try") == 20
    assert spark_lance.count_rows(spark, uri, "id % 2 = 0", rows_per_partition=7) == 50
    assert spark_lance.count_rows(spark, uri, limit=33) == 33
    assert spark_lance.count_rows(spark, uri, "name = 'none'") == 0


def test_tags_branches_and_times_select_a_version(spark: SparkSession, uri: str) -> None:
    assert spark_lance.read(spark, uri, tag="tried", columns=["id"]).agg({"id": "min"}).first() == (
        10,
    )
    frame = spark.read.format("lance").option("branch", "try").option("version", 2).load(uri)
    assert frame.count() == 100

    def number(**options: str) -> int:
        version = LanceSource({"path": uri, **options})._version
        assert version is not None
        return version.number

    assert (number(tag="first"), number(branch="try"), number(branch="main")) == (1, 3, 2)
    made = lance_core.dataset(uri, version=1).get_version()["timestamp"]
    assert spark_lance.lance_schema(uri, asof=made + datetime.timedelta(microseconds=1)).names
    assert number(timestamp=made.isoformat()) == 1


def test_a_schema_has_sparks_types(uri: str) -> None:
    found = spark_lance.lance_schema(uri, ["id", "s.x", "_fragid"], with_row_id=True)
    assert found.simpleString() == "struct<id:bigint,s.x:int,_fragid:int,_rowid:bigint>"
    assert spark_lance.lance_schema(Path(uri), []) == StructType([])


@each_case(
    ("error", "reason", "arguments"),
    [
        (InvalidInputError, "did you mean 'columns'", {"colums": "id"}),
        (InvalidInputError, "'with_row_id' must be", {"with_row_id": "yes"}),
        (InvalidInputError, "'limit' must be a whole", {"limit": -1}),
        (InvalidTypeError, "not 'id'", {"columns": "id"}),
        (InvalidInputError, r"not \['version', 'tag'\]", {"version": 1, "tag": "a"}),
        (InvalidInputError, "'branch' and 'asof'", {"branch": "a", "asof": "2026-01-01"}),
        (InvalidInputError, "min_partitions", {"min_partitions": 0}),
    ],
)
def test_bad_arguments_are_errors_before_any_task(
    uri: str, spark: SparkSession, error: type[LanceError], reason: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(error, match=reason):
        spark_lance.read(spark, uri, **arguments)


@each_case(
    ("error", "reason", "arguments"),
    [
        (RefNotFoundError, r"no tag 'frist': did you mean 'first'", {"tag": "frist"}),
        (DatasetNotFoundError, "nowhere", {"branch": "nowhere"}),
        (DatasetNotFoundError, "no version 9", {"version": 9}),
        (InvalidInputError, "No field named ide", {"columns": ["ide"]}),
    ],
)
def test_what_the_table_does_not_have_is_an_error(
    uri: str, error: type[LanceError], reason: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(error, match=reason):
        spark_lance.lance_schema(uri, **arguments)


def test_a_source_refuses_what_it_cannot_do(uri: str, spark: SparkSession) -> None:
    with pytest.raises(UnsupportedFeatureError, match="'branch' is for reads"):
        LanceSource({"path": uri, "branch": "try"}).writer(StructType(), False)
    with pytest.raises(InvalidInputError, match="has one column"):
        LanceSource({"path": uri, "count_only": "true"}).reader(StructType().add("id", "long"))
    with pytest.raises(DatasetNotFoundError):
        spark_lance.count_rows(spark, uri + "-absent")
