"""Decimals that go to Spark as whole numbers: the same rows and types as without."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_spark import read
from lance_core_spark.scan.unscaled_decimals import unscaled_columns
from tests.spark.conftest import read as load

CENTS = [Decimal("-0.01"), None, Decimal("9999999999.99"), Decimal("-9999999999.99")]


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    fields = [
        pa.field("a`b", pa.decimal128(12, 2), metadata={"unit": "EUR"}),
        pa.field("long", pa.decimal128(19, 2)),
        pa.field("most", pa.decimal256(18, 0), nullable=False),
        pa.field("nested", pa.list_(pa.decimal128(3, 1))),
    ]
    columns = [
        pa.array(CENTS, fields[0].type),
        pa.array(CENTS, fields[1].type),
        pa.array([10**18 - 1, 1 - 10**18, 0, 1], fields[2].type),
        pa.array([[Decimal("1.5"), None], None, [], []], fields[3].type),
    ]
    uri = str(tmp_path_factory.mktemp("decimals") / "t.lance")
    lance_core.write_dataset(pa.table(columns, schema=pa.schema(fields)), uri)
    return uri


def test_rows_and_types_are_those_of_a_plain_load(spark: SparkSession, uri: str) -> None:
    ours, plain = read(spark, uri), load(spark, uri)
    assert "makedecimal" in str(ours._jdf.queryExecution()).lower()  # type: ignore[operator]
    assert ours.schema == plain.schema
    assert [field.metadata for field in ours.schema] == [field.metadata for field in plain.schema]
    rows = ours.collect()
    assert rows == plain.collect()
    assert [row["a`b"] for row in rows] == CENTS
    few = read(spark, uri, columns=["most", "_rowid"], filter="`long` < 0").where("most < 0")
    assert few.columns == ["most", "_rowid"]
    assert [row["most"] for row in few.collect()] == []


def test_filters_of_spark_are_pushed_down_to_plain_decimals(spark: SparkSession, uri: str) -> None:
    pushed = read(spark, uri, pushDownFilters=True)
    assert "makedecimal" not in str(pushed._jdf.queryExecution()).lower()  # type: ignore[operator]
    assert pushed.where("most = 0").count() == 1


def test_changes_have_plain_decimals(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    rows = pa.table({"d": pa.array([Decimal("1.5")], pa.decimal128(3, 1))})
    lance_core.write_dataset(rows, path, enable_stable_row_ids=True)
    changes = read(spark, path, read_change_feed=True, starting_version=1)
    assert [row["d"] for row in changes.collect()] == [Decimal("1.5")]
    with pytest.raises(InvalidInputError, match="for reads of rows only"):
        read(spark, path, read_change_feed=True, starting_version=1, unscaled_decimals=True)


@pytest.mark.parametrize("offset", [0, 1, 3, 4])
def test_slices_keep_their_rows(offset: int) -> None:
    values = pa.array(CENTS, pa.decimal128(12, 2)).slice(offset)
    (whole,) = unscaled_columns([values], pa.schema([("d", pa.int64())]))
    cents = [None if value is None else int(value * 100) for value in CENTS[offset:]]
    assert whole.to_pylist() == cents
    whole.validate(full=True)
