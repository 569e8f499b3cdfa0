"""Joins of data frames with the rows of tables that have their keys."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import ColumnNotFoundError, InvalidInputError, InvalidTypeError
from lance_core_spark import lookup_join
from lance_core_spark.table.lookup_join import LookupTask
from lance_core_spark.table_ref import TableRef, TableVersion
from tests.spark.conftest import read

HOW = ("inner", "left", "semi", "anti")


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a table of three fragments whose names are keys that come twice, with a null."""
    path = str(tmp_path_factory.mktemp("lookup") / "shops.lance")
    columns = {
        "name": pa.array([None if n == 7 else f"n{n // 2}" for n in range(60)]),
        "id": pa.array(range(60), pa.int32()),
        "x": pa.array(range(60), pa.float64()),
        "tags": pa.array([[n, None] for n in range(60)], pa.list_(pa.int16())),
    }
    lance_core.write_dataset(pa.table(columns), path, max_rows_per_file=20)
    return path


def test_joins_have_the_rows_of_spark(spark: SparkSession, shops: str) -> None:
    rows = [("n1", 1), ("n1", 2), (None, 3), ("none", 4), ("n20", 5), ("n3", 6)]
    frame = spark.createDataFrame(rows, "`the key` string, n int").coalesce(1)
    for has_index in (False, True):
        if has_index:
            lance_core.dataset(shops).create_scalar_index("name", "BTREE")
        right = read(spark, shops).withColumnsRenamed({"id": "t_id", "tags": "t_tags"})
        for how in HOW:
            ours = lookup_join(
                frame, shops, "the key", key="name", columns=["id", "tags"], how=how, prefix="t_"
            )
            theirs = frame.join(right, frame["the key"] == right["name"], how).drop("name", "x")
            assert ours.columns == theirs.columns
            assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))


def test_a_task_reads_only_the_rows_of_its_keys(spark: SparkSession, shops: str) -> None:
    keys = spark.range(3).selectExpr("int(id * 30) AS id")
    joined = lookup_join(keys, shops, "id", filter="x < 60")
    assert joined.columns == ["id", "name", "x", "tags"]
    assert sorted(row["id"] for row in joined.collect()) == [0, 30]
    assert lookup_join(spark.range(0).selectExpr("int(id) AS id"), shops, "id").count() == 0


def test_wrong_arguments_are_refused_before_a_task_runs(spark: SparkSession, shops: str) -> None:
    frame = spark.range(1).selectExpr("id", "double(id) AS x")
    with pytest.raises(InvalidInputError, match="how must be one of inner, left, semi, anti"):
        lookup_join(frame, shops, "id", how="outer")
    with pytest.raises(ColumnNotFoundError, match="the data frame has no column 'nmae'"):
        lookup_join(frame, shops, "nmae")
    with pytest.raises(ColumnNotFoundError, match=r"the table has no column 'nam'.*'name'"):
        lookup_join(frame, shops, "id", key="nam")
    with pytest.raises(
        InvalidTypeError, match=r"keys of the data frame are bigint.*table int: cast"
    ):
        lookup_join(frame, shops, "id")
    with pytest.raises(InvalidTypeError, match="column 'x' has double, which cannot be a key"):
        lookup_join(frame, shops, "x")
    with pytest.raises(InvalidInputError, match="both sides have the columns 'id'"):
        lookup_join(frame.selectExpr("int(id) AS id"), shops, "id", columns=["id"])


MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("stored", "keys"),
    [
        (pa.array([0, 5, 255], pa.uint8()), pa.array([5, -1, 256, 255, None], pa.int16())),
        (
            pa.array([0, 5, 2**64 - 1], pa.uint64()),
            pa.array([Decimal(n) for n in (5, -1, 2**64, 2**64 - 1)], pa.decimal128(20, 0)),
        ),
        (
            pa.array([0, 1, 2], pa.timestamp("ms")).cast(pa.timestamp("ms", "Asia/Tokyo")),
            pa.array([1000, 1001, None, 2000], pa.timestamp("us", "UTC")),
        ),
        (
            pa.array([60, 61], pa.timestamp("s")),
            pa.array([MINUTE, MINUTE + 1, MINUTE + 1_000_000], pa.timestamp("us")),
        ),
    ],
    ids=["unsigned", "unsigned 64", "milliseconds", "seconds"],
)
def test_keys_that_the_type_of_the_table_lacks_match_nothing(
    tmp_path: Path, stored: pa.Array, keys: pa.Array
) -> None:
    path = str(tmp_path / "t.lance")
    dataset = lance_core.write_dataset(pa.table({"k": stored, "n": range(len(stored))}), path)
    schema = pa.schema({"_0": keys.type, "_1": pa.int64()})
    known = set(stored.cast(keys.type).to_pylist())
    expected = [key for key in keys.to_pylist() if key in known]
    for condition in (None, "n > 1 AND n < 9"):
        task = LookupTask(
            *(TableRef.of(path, {}), TableVersion.of(dataset), "inner", 0, "k", stored.type),
            *(("n",), schema, condition),
        )
        (joined,) = list(task(iter([pa.record_batch({"_0": keys})]))) or [None]
        rows = [] if joined is None else joined.column(0).to_pylist()
        assert len(expected) == 2
        assert rows == (expected if condition is None else rows[-1:])
        assert condition is None or all(n > 1 for n in joined.column(1).to_pylist())
