"""Work that tasks do on the rows that they read: aggregates, and joins that look keys up."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame

from benchmarks.bars import SPARK
from benchmarks.report import OURS
from benchmarks.spark.comparison import PARQUET, Comparison
from lance_core_spark import aggregate, create_index, lookup_join, read

KEYS = 10_000
"""Keys of the data frame that is joined with the table."""

FEW = 100
"""Rows that are found by an index."""

CHOSEN = "pick < 2000 AND small BETWEEN 5 AND 700 AND day >= DATE '2024-06-01'"


def in_tasks(comparison: Comparison) -> None:
    """Each figure beside the same query of Parquet in the words of any data frame."""
    spark = comparison.spark
    ours = partial(aggregate, spark, comparison.lance)
    parquet = spark.read.parquet(comparison.parquet)
    label = "two columns grouped by aggregate"
    actions = {
        OURS: lambda: sorted(ours(["key"], {"mean": ("avg", "x")}).collect()),
        PARQUET: lambda: sorted(parquet.groupBy("key").avg("x").collect()),
    }
    comparison.add(label, actions, SPARK[label])
    label = "selected rows summed by aggregate"
    actions = {
        OURS: lambda: ours([], {"total": ("sum", "x * y")}, filter=CHOSEN).collect(),
        PARQUET: lambda: parquet.where(CHOSEN).selectExpr("sum(x * y)").collect(),
    }
    comparison.add(label, actions, SPARK[label])
    _join(comparison, parquet)


def _join(comparison: Comparison, parquet: DataFrame) -> None:
    create_index(comparison.spark, comparison.lance, "id", "BTREE")
    key = f"CAST(pmod(hash(id, 11), {comparison.rows}) AS long) AS id"
    keys = comparison.spark.range(KEYS).selectExpr(key).repartition(2).cache()
    keys.count()

    def result(joined: DataFrame) -> object:
        return joined.selectExpr("count(*)", "sum(x)").collect()

    actions = {
        OURS: lambda: result(lookup_join(keys, comparison.lance, "id", columns=["x"])),
        PARQUET: lambda: result(keys.join(parquet, "id")),
    }
    comparison.add("keys looked up", actions, SPARK["keys looked up"])
    keys.unpersist()
    _few_rows(comparison, parquet)


def _few_rows(comparison: Comparison, parquet: DataFrame) -> None:
    """Rows that the index of the ids finds."""
    step = comparison.rows // FEW
    condition = f"id IN ({', '.join(str(number * step) for number in range(FEW))})"

    def result(frame: DataFrame) -> object:
        return frame.selectExpr("count(*)", "sum(x)").collect()

    label = "few rows by an index"
    columns = ["id", "x"]
    actions = {
        OURS: lambda: result(
            read(comparison.spark, comparison.lance, columns=columns, filter=condition)
        ),
        PARQUET: lambda: result(parquet.where(condition).select(*columns)),
    }
    comparison.add(label, actions, SPARK[label])
