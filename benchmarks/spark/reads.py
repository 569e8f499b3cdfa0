"""Queries of a table, with and without this library's own options."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

import lance_core
from benchmarks.bars import SPARK
from benchmarks.report import OURS
from benchmarks.spark.comparison import HOP, PARQUET, Comparison, partition_count
from benchmarks.spark.session import COLUMNS
from lance_core_spark import count_rows

BATCH_ROWS = 1 << 16
"""Rows of the batches that our reader delivers from this table."""

MAX_OF_HOP = 1.1
"""The maximum time of a plain read of all rows to that of an empty data source."""

SELECTIVE = "pick < 10"
SELECTED = ["id", "x", "code"]
GROUPED = ["key", "x"]

Query = Callable[[DataFrame], object]


def reads(comparison: Comparison) -> None:
    """Each query through our options, and in the words of any data frame."""
    _write_sample(comparison)
    rows = comparison.rows
    everything = list(COLUMNS)
    _compare(comparison, "all columns aggregated", _aggregate, {}, everything, rows)
    label = "two columns grouped"
    columns = ", ".join(GROUPED)
    _compare(comparison, label, _group, {"columns": columns}, GROUPED, rows)
    _compare(comparison, f"{label}, plain", _group, {}, everything, rows)
    few = {"filter": SELECTIVE, "columns": ", ".join(SELECTED)}
    label = "0.1 % of rows, 3 columns"
    _compare(comparison, label, _select, few, SELECTED, rows // 1000)
    _compare(comparison, f"{label}, plain", _select, {}, everything, rows)
    _count(comparison)
    _compare(comparison, "count, plain", DataFrame.count, {}, everything, rows)


def _aggregate(frame: DataFrame) -> object:
    sums = ["id", "key", "pick", "small", "maybe", "x", "y"]
    others = ["count_if(flag)", "max(day)", "max(moment)", "max(code)", "sum(length(word))"]
    return frame.selectExpr(*(f"sum({name})" for name in sums), *others).collect()


def _group(frame: DataFrame) -> object:
    return sorted(frame.groupBy("key").avg("x").collect())


def _select(frame: DataFrame) -> object:
    columns = frame.select(*SELECTED)
    return columns.selectExpr("count(*)", "sum(id)", "sum(x)", "max(code)").collect()


def _count(comparison: Comparison) -> None:
    """Count with `count_rows`, which delivers no rows to Spark: there is no hop."""
    spark = comparison.spark
    actions = {
        OURS: partial(count_rows, spark, comparison.lance),
        PARQUET: lambda: spark.read.parquet(comparison.parquet).count(),
    }
    comparison.add("count", actions, SPARK["count"])


def _compare(
    comparison: Comparison,
    label: str,
    query: Query,
    options: dict[str, str],
    columns: list[str],
    delivered: int,
) -> None:
    """Time ``query``; ``columns`` and ``delivered`` rows are what Spark gets from our reader."""
    spark = comparison.spark

    def lance() -> DataFrame:
        return spark.read.format("lance").options(**options).load(comparison.lance)

    def parquet() -> DataFrame:
        return spark.read.parquet(comparison.parquet)

    def sample(schema: StructType, partitions: int) -> DataFrame:
        path = comparison.path("sample.arrow")
        reader = spark.read.format("sample").schema(schema).option("sample", path)
        return reader.option("rows", delivered).option("partitions", partitions).load()

    def run(make: Callable[[], DataFrame], filtered: bool = False) -> object:
        frame = make()
        return query(frame.where(SELECTIVE) if filtered else frame)

    filtered = query is _select
    read = lance().select(*columns)
    hop = partial(sample, read.schema, partition_count(read))
    comparison.add(
        label,
        {
            OURS: partial(run, lance, filtered and not options),
            PARQUET: partial(run, parquet, filtered),
            HOP: partial(run, hop, filtered and not options),
        },
        SPARK.get(label),
        most_of_hop=None if options else MAX_OF_HOP,
    )


def _write_sample(comparison: Comparison) -> None:
    """Write the batch that the empty reader delivers."""
    sample = lance_core.dataset(comparison.lance).to_table(limit=BATCH_ROWS).combine_chunks()
    with pa.ipc.new_file(comparison.path("sample.arrow"), sample.schema) as writer:
        writer.write_table(sample)
