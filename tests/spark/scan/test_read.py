"""What Spark reads: versions, columns, meta columns, limits, views."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

import lance_core
from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.source import LanceSource
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from tests.spark.conftest import read

TABLE = pa.table(
    {
        "id": pa.array(range(100), pa.int64()),
        "name": [f"n{i % 5}" for i in range(100)],
        "s": pa.array(
            [{"x": i, "y": {"z": str(i), "w": None}} for i in range(100)],
            pa.struct(
                [
                    ("x", pa.int32()),
                    ("y", pa.struct([("z", pa.string()), ("w", pa.float16())])),
                ]
            ),
        ),
    }
)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Version 1 has ids 0 to 29 in fragments of 10 rows, version 2 has 70 more in one of 70."""
    uri = str(tmp_path_factory.mktemp("read") / "t.lance")
    lance_core.write_dataset(TABLE.slice(0, 30), uri, max_rows_per_file=10)
    lance_core.write_dataset(TABLE.slice(30), uri, mode="append")
    return uri


def test_partitions_cover_the_table_exactly(spark: SparkSession, uri: str) -> None:
    frame = read(spark, uri, rows_per_partition=20, batch_size=7)
    assert frame.rdd.getNumPartitions() == 5
    assert [row["id"] for row in frame.collect()] == list(range(100))
    assert read(spark, uri).rdd.getNumPartitions() == 1


def test_fragments_are_chosen_by_id(uri: str) -> None:
    source = LanceSource({"path": uri, "fragments": " 1,3 "})
    found = source.reader(source.schema()).partitions()
    assert [one.ranges for one in found] == [((1, 0, 10), (3, 0, 70))]
    with pytest.raises(InvalidInputError, match="'fragments' has ids"):
        LanceSource({"path": uri, "fragments": "a"})


def test_an_older_version_is_read_by_number_and_by_time(spark: SparkSession, uri: str) -> None:
    assert read(spark, uri, version=1).count() == 30
    made = lance_core.dataset(uri, version=1).get_version()["timestamp"]
    assert LanceSource({"path": uri, "timestamp": made.isoformat()})._version.number == 1  # type: ignore[union-attr]
    with pytest.raises(Exception, match="no version 7"):
        read(spark, uri, version=7)
    with pytest.raises(DatasetNotFoundError, match="earlier than the first"):
        LanceSource({"path": uri, "asof": "1999-01-01"})


def test_a_frame_stays_at_the_version_it_was_made_of(spark: SparkSession, tmp_path: Path) -> None:
    lance_core.write_dataset(TABLE, tmp_path / "t.lance")
    frame = read(spark, tmp_path / "t.lance")
    later = spark.read.format("lance").schema("id long").load(str(tmp_path / "t.lance"))
    lance_core.write_dataset(TABLE, tmp_path / "t.lance", mode="append")
    assert frame.where("id = 1").count() == 1
    assert read(spark, tmp_path / "t.lance").where("id = 1").count() == 2
    # With a schema of the user's, Spark does not look at the table before the first action.
    assert later.where("id = 1").count() == 2
    lance_core.write_dataset(TABLE, tmp_path / "t.lance", mode="append")
    assert [later.where("id = 1").count(), later.union(later).count()] == [2, 400]


def test_a_table_that_was_replaced_is_not_mistaken_for_the_planned_one(tmp_path: Path) -> None:
    address = TableRef.of(str(tmp_path / "t.lance"), {})
    lance_core.write_dataset(TABLE, tmp_path / "t.lance")
    now = TableVersion.of(address.open())
    assert open_version(address, now).count_rows() == 100
    other = TableVersion(now.number, now.timestamp - datetime.timedelta(microseconds=1))
    with pytest.raises(DatasetNotFoundError, match="was replaced"):
        open_version(address, other)


def test_columns_are_chosen_by_option(spark: SparkSession, uri: str) -> None:
    frame = read(spark, uri, columns="s.y.z, id", filter="id >= 98")
    assert frame.columns == ["s.y.z", "id"]
    assert [tuple(row) for row in frame.collect()] == [("98", 98), ("99", 99)]


def test_columns_are_chosen_by_schema(spark: SparkSession, uri: str) -> None:
    frame = (
        spark.read.format("lance")
        .schema("name string, s struct<y: struct<z: string>>, _rowid long, _fragid int")
        .load(uri)
    )
    rows = frame.where("s.y.z = '99'").collect()
    assert [row.asDict(recursive=True) for row in rows] == [
        {"name": "n4", "s": {"y": {"z": "99"}}, "_rowid": (3 << 32) + 69, "_fragid": 3}
    ]
    assert spark.read.format("lance").schema(StructType([])).load(uri).count() == 100


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (StructType().add("id", "string"), "'id' was requested as string; the table has it as big"),
        (StructType().add("name", "string", False), "requested as string not null"),
        (StructType().add("nothing", "string"), "No field named nothing"),
        (
            StructType().add("_rowoffset", "long"),
            "requested as bigint; the table has it",
        ),
    ],
    ids=str,
)
def test_a_schema_that_does_not_fit_is_an_error(uri: str, schema: StructType, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        LanceSource({"path": uri}).reader(schema)


def test_meta_columns_are_switched_on(spark: SparkSession, uri: str) -> None:
    frame = read(
        spark, uri, columns="id", with_row_id=True, with_row_address=True, with_fragment_id=True
    )
    assert frame.dtypes[1:] == [("_rowid", "bigint"), ("_rowaddr", "bigint"), ("_fragid", "int")]
    rows = frame.collect()
    assert Counter(row["_fragid"] for row in rows) == {0: 10, 1: 10, 2: 10, 3: 70}
    expected = lance_core.dataset(uri).to_table(["id"], with_row_id=True, with_row_address=True)
    assert [list(row)[:3] for row in rows] == [list(row.values()) for row in expected.to_pylist()]


def test_limit_counts_before_sparks_filters(spark: SparkSession, uri: str, push_down: None) -> None:
    assert [row["id"] for row in read(spark, uri, limit=35).where("id >= 33").collect()] == [33, 34]
    assert read(spark, uri, limit=3, filter="id >= 50").collect()[0]["id"] == 50
    assert read(spark, uri, limit=0).count() == 0


def test_an_option_filter_and_sparks_filter_both_hold(
    spark: SparkSession, uri: str, push_down: None
) -> None:
    frame = read(spark, uri, filter="name IN ('n1', 'n2') AND s.x < 50").where("id > 40")
    assert [row["id"] for row in frame.collect()] == [41, 42, 46, 47]


def test_a_temporary_view_serves_sql(spark: SparkSession, uri: str) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING lance OPTIONS (path '{uri}', version '2')")
    rows = spark.sql(
        "SELECT name, count(*) c, max(s.x) m FROM v WHERE id < 50 GROUP BY name ORDER BY name"
    ).collect()
    spark.catalog.dropTempView("v")  # others list all tables of the session
    assert [tuple(row) for row in rows] == [(f"n{i}", 10, 45 + i) for i in range(5)]


def test_a_catalog_table_is_explained(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="CREATE TEMPORARY VIEW"):
        spark.read.format("lance").load()


def test_no_table_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    sentence = r"^\[\w+\] [^:]+: lance_core\.errors\.DatasetNotFoundError: no table exists at .*t"
    with pytest.raises(AnalysisException, match=sentence) as caught:
        read(spark, tmp_path / "absent")
    assert "Traceback" not in str(caught.value)


def test_an_error_of_a_task_begins_with_a_sentence(spark: SparkSession, tmp_path: Path) -> None:
    dataset = lance_core.write_dataset(pa.table({"n": range(9)}), tmp_path / "t")
    file = tmp_path / "t" / "data" / dataset.get_fragments()[0].data_files()[0].path
    file.write_bytes(file.read_bytes()[:40])
    sentence = r"^An exception .*:\nlance_core\.errors\.CorruptFileError: file 'data/\w+\.lance'"
    with pytest.raises(PySparkException, match=sentence):
        read(spark, tmp_path / "t").collect()


def test_an_empty_table_is_read(spark: SparkSession, tmp_path: Path) -> None:
    lance_core.write_dataset(TABLE.schema.empty_table(), tmp_path / "t.lance")
    assert read(spark, tmp_path / "t.lance").collect() == []


def test_deleted_rows_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    import lance as pylance

    dataset = pylance.write_dataset(TABLE, tmp_path / "t.lance", data_storage_version="2.0")
    dataset.delete("id % 2 = 0 OR id >= 40")
    rows = read(spark, tmp_path / "t.lance", columns="id", rows_per_partition=30).collect()
    assert [row["id"] for row in rows] == list(range(1, 40, 2))


def test_options_do_not_show_in_plans(spark: SparkSession, uri: str) -> None:
    frame = read(spark, uri, **{"storage.secret_access_key": "tiger"}).where("id > 1")
    assert "tiger" not in str(frame._jdf.queryExecution().toString())
    assert "tiger" not in repr(DataSourceOptions.parse({"path": uri, "storage.foo_key": "tiger"}))
