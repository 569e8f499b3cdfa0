"""Tables from data frames, and the options of writes as Spark passes them on."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import lance as pylance
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import lance_core
from lance_core.errors import InvalidInputError
from lance_core.store.secret import Secret
from lance_core_spark import create_table
from lance_core_spark.arrow_batches import MAX_BYTES, limited_by_rows
from lance_core_spark.write.small_partitions import gathered
from tests.spark.conftest import write


def test_each_mode(spark: SparkSession, tmp_path: Path) -> None:
    uri, frame = tmp_path / "t.lance", spark.range(3).coalesce(1)
    vector = sf.when(sf.col("id") >= 0, sf.array(sf.lit(1.0), sf.lit(2.0)).cast("array<float>"))
    vectors = frame.select("id", vector.alias("V"))
    options = {"v.arrow.fixed-size-list.size": 2, "id.arrow.type": "uint32"}
    create_table(vectors, uri, enable_stable_row_ids=True, commit_message=None, **options)
    dataset = pylance.dataset(uri)
    assert dataset.has_stable_row_ids
    assert dataset.schema.types == [pa.uint32(), pa.list_(pa.field("item", pa.float32()), 2)]
    with pytest.raises(Exception, match=r"there is a table at .* already"):
        create_table(frame, uri)
    create_table(frame, uri, mode="ignore")
    create_table(vectors.select(sf.col("id").cast("int")), uri, mode="append")
    assert lance_core.dataset(uri).to_table()["V"].null_count == 3
    create_table(frame, uri, mode="replace")
    assert [pylance.dataset(uri, version=v).count_rows() for v in (1, 2, 3)] == [3, 6, 3]
    assert lance_core.dataset(uri).latest_version == 3
    assert lance_core.dataset(uri).schema.names == ["id"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"mode": "overwrite"}, "unknown mode 'overwrite'.*replace"),
        ({"mode": "apend"}, "did you mean 'append'"),
        ({"if_exists": "ignore"}, "cannot both be given"),
    ],
)
def test_other_modes_are_errors(options: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        create_table(None, "t.lance", **options)  # type: ignore[arg-type] # nothing is written


def test_batches_are_limited_by_rows(spark: SparkSession) -> None:
    """Spark knows the setting and its value; the user's own one and that of blobs stay."""
    default = spark.conf.get(MAX_BYTES)
    frame = spark.range(1)
    with limited_by_rows(frame):
        assert spark.conf.get(MAX_BYTES) == str(2**31 - 1)
        assert frame.mapInArrow(lambda batches: batches, "id long").collect() == [(0,)]
    assert spark.conf.get(MAX_BYTES) == default
    blobs = frame.select(sf.array(sf.struct(sf.lit(b"x").alias("b"))))
    with limited_by_rows(blobs):
        assert spark.conf.get(MAX_BYTES) == default
    spark.conf.set(MAX_BYTES, "1MB")
    with limited_by_rows(frame):
        assert spark.conf.get(MAX_BYTES) == "1MB"
    assert spark.conf.get(MAX_BYTES) == "1MB"
    spark.conf.unset(MAX_BYTES)


def test_few_tasks_write_many_small_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """A shuffle and rows whose size Spark does not know stay as they are."""
    small = spark.range(0, 40, 1, 40).where("id >= 0")
    tasks = 2 * spark.sparkContext.defaultParallelism
    create_table(small, tmp_path / "t.lance")
    dataset = lance_core.dataset(tmp_path / "t.lance")
    assert (dataset.count_rows(), len(dataset.get_fragments())) == (40, tasks)
    chosen = spark.range(5).repartition(5)
    unknown = spark.createDataFrame(spark.sparkContext.parallelize([(1,)], 5), "id long")
    large = spark.range(0, 1 << 36, 1, 50)
    assert all(gathered(frame) is frame for frame in (chosen, unknown, large, spark.range(2)))


def test_secrets_are_passed_to_spark_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lance_core_spark.write.create_table.gathered", lambda frame: frame)
    frame = Mock()
    create_table(frame, "t.lance", token=Secret("abc"), merge_schema=False, message=None)
    writer = frame.write.format.return_value.mode.return_value
    writer.options.assert_called_once_with(token="abc", merge_schema="false")


def test_options_of_writes(spark: SparkSession, tmp_path: Path) -> None:
    """Rows are replaced, columns are added, and a run counts once."""
    uri = tmp_path / "t.lance"
    days = spark.range(0, 8, 1, 2).select("id", (sf.col("id") % 2).cast("int").alias("day"))
    write(days, uri)
    new = days.where("day = 1").withColumn("id", sf.col("id") + 100)
    write(new, uri, "overwrite", replace_where="day = 1")
    with pytest.raises(Exception, match="rows do not satisfy the option 'replace_where'"):
        write(days, uri, "overwrite", replace_where="day = 1")
    once = {"merge_schema": "true", "txn_app_id": "load", "txn_version": 1}
    more = spark.range(1).select(sf.col("id").cast("int"), sf.lit("x").alias("note"))
    for _ in range(2):
        write(more, uri, **once)
    table = pylance.dataset(uri)
    assert table.version == 3
    assert sorted(table.to_table()["id"].to_pylist()) == [0, 0, 2, 4, 6, 101, 103, 105, 107]
    assert table.to_table(filter="note is not null").to_pylist() == [
        {"id": 0, "day": None, "note": "x"}
    ]
    with pytest.raises(Exception, match="did you mean 'replace_where'"):
        write(days, uri, "overwrite", replace_were="day = 1")
