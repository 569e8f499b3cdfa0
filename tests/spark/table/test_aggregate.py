"""Aggregates that tasks compute have the results of Spark."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lance_core
from lance_core.errors import (
    InvalidExpressionError,
    InvalidInputError,
    InvalidTypeError,
    UnsupportedFeatureError,
)
from lance_core_spark import LanceTable, aggregate
from lance_core_spark.table.aggregates import task as aggregate_task
from lance_core_spark.table.aggregates.functions import FUNCTIONS
from lance_core_spark.table.aggregates.states import Grouping, State
from tests.spark.conftest import read
from tests.spark.stream.micro_batches import append

ROWS = 60

aggregate_module = importlib.import_module("lance_core_spark.table.aggregate")
"""The package has the function under this name."""


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a table of three fragments with deleted rows, nulls, NaN and both zeros."""
    floats = [1.5, float("nan"), None, -0.0, 0.0, -float("inf"), 7.25]

    def cents(n: int) -> Decimal | None:
        return None if n % 7 == 3 else Decimal(n * 37 - 900).scaleb(-2)

    columns = {
        "id": pa.array(range(ROWS), pa.int32()),
        "key name": pa.array([None if n % 5 == 4 else f"k{n % 5}" for n in range(ROWS)]),
        "x": pa.array([floats[n % 7] for n in range(ROWS)], pa.float64()),
        "small": pa.array([floats[n % 3] for n in range(ROWS)], pa.float32()),
        "nan": pa.array([float("nan")] * ROWS),
        "price": pa.array(map(cents, range(ROWS)), pa.decimal128(12, 2)),
        "wide": pa.array(map(cents, range(ROWS)), pa.decimal128(38, 4)),
        "whole": pa.array([n % 9 for n in range(ROWS)], pa.uint64()),
        "none": pa.nulls(ROWS, pa.int64()),
        "flag": pa.array([None if n % 4 == 0 else n % 3 == 0 for n in range(ROWS)]),
        "word": pa.array([f"é{n % 8}" if n % 8 else None for n in range(ROWS)]).dictionary_encode(),
        "day": pa.array(range(ROWS), pa.int32()).cast(pa.date32()),
        "s": pa.array([{"t": n % 6} for n in range(ROWS)]),
    }
    path = str(tmp_path_factory.mktemp("aggregate") / "numbers.lance")
    lance_core.write_dataset(pa.table(columns), path, max_rows_per_file=25)
    lance_core.dataset(path).delete("id IN (3, 40)")
    return path


SUMS = ("id", "x", "price", "wide", "whole", "none")
CALLS = {
    **{f"sum {name}": ("sum", name) for name in SUMS},
    **{f"avg {name}": ("avg", name) for name in SUMS},
    **{
        f"{function} {name}": (function, name)
        for function in ("min", "max")
        for name in ("x", "small", "nan", "price", "flag", "word", "day", "none")
    },
    **{f"count {name}": ("count", name) for name in ("*", "none", "x", "word")},
}
DISTINCT = {f"distinct {name}": ("count_distinct", name) for name in ("x", "none")}


def of_spark(frame: DataFrame, by: list[str], calls: dict[str, tuple[str, str]]) -> DataFrame:
    """The aggregates ``calls`` by Spark."""
    functions = {
        "sum": sf.sum, "avg": sf.avg, "min": sf.min, "max": sf.max, "count": sf.count,
        "count_distinct": sf.count_distinct,
    }  # fmt: skip
    columns = [
        functions[function](sf.col(text) if text != "*" else sf.lit(1)).alias(name)
        for name, (function, text) in calls.items()
    ]
    return frame.groupBy(*by).agg(*columns)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or math.isclose(left, right)
    return bool(left == right) and type(left) is type(right)


def assert_same(ours: DataFrame, theirs: DataFrame) -> None:
    assert ours.columns == theirs.columns
    left, right = (
        sorted(map(tuple, f.collect()), key=lambda row: str(row[:1])) for f in (ours, theirs)
    )
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        wrong = [
            (name, a, b)
            for name, a, b in zip(ours.columns, one, other, strict=True)
            if not same(a, b)
        ]
        assert not wrong


def test_groups_have_the_results_of_spark(spark: SparkSession, numbers: str) -> None:
    ours = aggregate(spark, numbers, ["key name"], CALLS | DISTINCT)
    theirs = of_spark(read(spark, numbers), ["key name"], CALLS | DISTINCT)
    assert_same(ours, theirs)
    types = {f.name: f.dataType for f in ours.schema}
    assert types == {f.name: f.dataType for f in theirs.schema}


@pytest.mark.parametrize("filter", ["id > 10 AND flag", "id > 1000"])
def test_a_table_has_the_results_of_spark(spark: SparkSession, numbers: str, filter: str) -> None:
    frame = read(spark, numbers).where(filter)
    assert_same(aggregate(spark, numbers, [], CALLS, filter=filter), of_spark(frame, [], CALLS))


def test_zeros_and_nans_are_each_one_group(spark: SparkSession, numbers: str) -> None:
    calls = {"n": ("count", "*"), "least": ("min", "id")}
    theirs = (
        read(spark, numbers).groupBy("x").agg(sf.count("*").alias("n"), sf.min("id").alias("least"))
    )
    assert_same(aggregate(spark, numbers, ["x"], calls), theirs)


def test_values_and_keys_are_expressions_of_columns(spark: SparkSession, numbers: str) -> None:
    ours = aggregate(
        spark,
        numbers,
        {"sixth": "s.t", "odd": "id % 2 = 1"},
        {"total": ("sum", "price * (1 - price)"), "n": ("count", "*")},
        filter="price > -3",
    )
    theirs = (
        read(spark, numbers)
        .where("price > -3")
        .groupBy(sf.col("s.t").alias("sixth"), sf.expr("id % 2 = 1").alias("odd"))
        .agg(sf.expr("sum(price * (1 - price))").alias("total"), sf.count("*").alias("n"))
    )
    order = ["sixth", "odd"]
    assert ours.orderBy(order).collect() == theirs.orderBy(order).collect()
    assert ours.where("n > 5").count() == theirs.where("n > 5").count()


def test_a_count_of_rows_reads_none(spark: SparkSession, numbers: str) -> None:
    table = LanceTable.forPath(spark, numbers)
    calls = {"n": ("count", "*"), "again": ("count", "*")}
    assert table.aggregate([], calls).collect() == [(ROWS - 2, ROWS - 2)]
    assert table.aggregate([], calls, version=1).collect() == [(ROWS, ROWS)]
    assert table.aggregate([], calls, filter="id < 4").collect() == [(3, 3)]


def test_indices_choose_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    append(Path(path), *range(50))
    lance_core.dataset(path).create_scalar_index("id", "BTREE")
    append(Path(path), *range(50, 60))
    calls = {"n": ("count", "*"), "sum": ("sum", "id")}
    assert aggregate(spark, path, [], calls, filter="id > 48").collect() == [(11, 594)]


def test_whole_tables_are_answered_by_the_manifest_and_by_indices(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t.lance")
    columns = {
        "id": pa.array([4, 7, 9, -3, 8]),
        "day": pa.array([4, None, 9, -3, 8], pa.int32()).cast(pa.date32()),
        "moment": pa.array([4, 7, 9, -3, 8], pa.timestamp("us")),
        "price": pa.array([Decimal(n).scaleb(-2) for n in (4, 7, 9, -3, 8)], pa.decimal128(12, 2)),
        "x": pa.array([0.0, 1 / 3, float("nan"), -1 / 7, None]),
        "word": pa.array(["NULL", "b", "é", "a", "NaN"]),
    }
    whole = pa.field("whole", pa.int64(), nullable=False)
    table = pa.table(columns).append_column(whole, pa.array(range(5)))
    dataset = lance_core.write_dataset(table, path, max_rows_per_file=2)
    for name in columns:
        dataset.create_scalar_index(name, "BTREE")
    calls = {f"max {name}": ("max", name) for name in columns if name != "x"}
    calls |= {f"min {name}": ("min", name) for name in ("id", "moment", "price", "word")}
    calls |= {f"count {name}": ("count", name) for name in (*columns, "whole")}
    results = aggregate(spark, path, [], calls | {"n": ("count", "*")})
    assert_same(results, of_spark(read(spark, path), [], calls | {"n": ("count", "*")}))
    with monkeypatch.context() as patch:
        patch.setattr(aggregate_module, "AggregateTask", None)  # no task reads
        aggregate(spark, path, [], calls)
        more = [{"x": ("max", "x")}, {"n": ("max", "id + 1")}, {"n": ("min", "whole")}]
        for call in [*more, {"n": ("count_distinct", "id")}, {"n": ("max", "ID")}]:
            with pytest.raises(TypeError, match="NoneType"):
                aggregate(spark, path, [], call)
        dataset.delete("id = 9")  # The greatest one: the index still has it.
        with pytest.raises(TypeError, match="NoneType"):
            aggregate(spark, path, [], {"n": ("max", "id")})


def test_sums_do_not_overflow_unnoticed(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    most = 10**38 - 1
    columns = {
        "near": pa.array([2**62, 2**62, -5], pa.int64()),
        "long": pa.array([2**62, 2**62, 0], pa.int64()),
        "back": pa.array([most, -most, 7], pa.decimal128(38, 0)),
    }
    lance_core.write_dataset(pa.table(columns), path)
    sums = {name: ("sum", name) for name in ("near", "back")}
    sums["average"] = ("avg", "long")
    assert aggregate(spark, path, [], sums).collect() == [(2**63 - 5, 7, 2**63 / 3)]
    with pytest.raises(PySparkException, match="the sum 's' is not a bigint"):
        aggregate(spark, path, [], {"s": ("sum", "long")}).collect()
    huge = pa.array([10**38 - 1] * 3, pa.decimal128(38, 0))
    parts = spark.createDataFrame([(Decimal(10**38 - 1),)] * 3, "x decimal(38,0)")
    total = FUNCTIONS["sum"]("s", 0, huge.type).final([sf.col("x")])
    spark.conf.set("spark.sql.ansi.enabled", "false")  # Spark's own sum is null.
    try:
        with pytest.raises(PySparkException, match=r"'s' does not fit into decimal\(38,0\)"):
            parts.agg(total).collect()
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    with pytest.raises(InvalidInputError, match="a sum does not fit into decimal128"):
        Grouping((), (State.sum_of(0, huge.type),)).group([huge], 3)


def test_micro_batches_of_a_stream_aggregate(
    spark: SparkSession, numbers: str, tmp_path: Path
) -> None:
    counts = []

    def count(batch: DataFrame, _: int) -> None:
        counts.extend(aggregate(batch.sparkSession, numbers, [], {"s": ("sum", "id")}).collect())

    append(tmp_path / "t.lance", 1)
    stream = spark.readStream.format("lance").load(str(tmp_path / "t.lance"))
    query = stream.writeStream.foreachBatch(count).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination()
    assert counts == [(sum(range(ROWS)) - 43,)]


def test_a_task_sends_its_groups_when_they_are_too_large(
    numbers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregate_task, "MIN_COMBINED_BYTES", 200)
    monkeypatch.setattr(aggregate_task, "MAX_GROUP_BYTES", 250)
    state = State.sum_of(0, pa.int64())
    groups = aggregate_task.Groups(Grouping((0,), (state,)))

    def parts() -> Iterator[pa.RecordBatch]:
        for start in (*range(0, 40, 4), 0, 0):
            yield from groups.add([pa.array(range(start, start + 4), pa.int64())], 4)
        yield from groups.rest()

    sent = list(parts())
    assert 2 < len(sent) < 10
    assert max(part.nbytes for part in sent) < 1000
    totals: dict[int, int] = {}
    for part in sent:
        for key, total in zip(*(column.to_pylist() for column in part.columns), strict=True):
            totals[key] = totals.get(key, 0) + total
    assert totals == {n: n * 3 if n < 4 else n for n in range(40)}


def test_wrong_arguments_are_refused_before_a_task_runs(spark: SparkSession, numbers: str) -> None:
    count = {"n": ("count", "*")}
    with pytest.raises(InvalidTypeError, match="by must be names"):
        aggregate(spark, numbers, "id", count)
    with pytest.raises(InvalidInputError, match="aggregates must map names"):
        aggregate(spark, numbers, ["id"], {})
    with pytest.raises(InvalidTypeError, match="aggregate 'n' must be a pair"):
        aggregate(spark, numbers, [], {"n": "sum(id)"})  # type: ignore[dict-item]
    with pytest.raises(InvalidInputError, match="unknown function 'averg': did you mean 'avg'"):
        aggregate(spark, numbers, [], {"n": ("averg", "id")})
    with pytest.raises(InvalidInputError, match="only count has"):
        aggregate(spark, numbers, [], {"n": ("sum", "*")})
    with pytest.raises(InvalidInputError, match="'id' has the name of a group's column"):
        aggregate(spark, numbers, ["id"], {"id": ("sum", "x")})
    with pytest.raises(InvalidExpressionError, match="No field named wrong"):
        aggregate(spark, numbers, ["wrong"], count)
    with pytest.raises(InvalidTypeError, match="sum needs numbers, not string"):
        aggregate(spark, numbers, [], {"n": ("sum", "word")})
    with pytest.raises(UnsupportedFeatureError, match="struct"):
        aggregate(spark, numbers, ["s"], count)
