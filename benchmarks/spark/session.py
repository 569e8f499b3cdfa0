"""The Spark session of all figures, and the rows that it writes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.arrow_hop import DrainSource, SampleSource

ROOT = Path(__file__).parents[2]
FILES = 8
"""Tasks that write a table, and so the number of its files."""

COLUMNS = {
    "id": "id",
    "word": "concat('word ', hash(id, 1))",
    "code": "concat('code-', pmod(hash(id, 2), 1000))",
    "key": "CAST(pmod(hash(id, 3), 100) AS int)",
    "pick": "CAST(pmod(hash(id, 4), 10000) AS int)",
    "small": "CAST(pmod(hash(id, 5), 1000) AS smallint)",
    "maybe": "IF(pmod(hash(id, 6), 10) = 0, null, hash(id, 7))",
    "x": "rand(8)",
    "y": "CAST(rand(9) AS float)",
    "flag": "pmod(hash(id, 10), 2) = 0",
    "day": "date_add(DATE '2024-01-01', CAST(id % 365 AS int))",
    "moment": "timestamp_seconds(1700000000 + id)",
}
"""Name and SQL of each column, by the column ``id`` of ``range``."""


def start(memory: str) -> SparkSession:
    """Two tasks at a time, each with a Python worker. ``memory``: of the Java process."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The workers import the empty data sources of this package.
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), path)))
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("benchmarks")
        .config("spark.driver.memory", memory)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(SampleSource)
    spark.dataSource.register(DrainSource)
    return spark


def rows(spark: SparkSession, count: int) -> DataFrame:
    """``count`` rows of all columns, the same ones whenever they are computed."""
    return _columns(spark.range(0, count, 1, FILES))


def few_rows(spark: SparkSession) -> DataFrame:
    """100 rows in each of 500 partitions."""
    return _columns(spark.range(0, 50_000, 1, 500))


def changes(spark: SparkSession, count: int) -> DataFrame:
    """1 % of ``count`` rows, spread over the ids, of which a tenth is new."""
    every = 100
    new = count // every // 10
    old = spark.range(0, count, every, 2).where(f"id >= {new * every}")
    return _columns(old.union(spark.range(count, count + new, 1, 1)))


def _columns(ids: DataFrame) -> DataFrame:
    return ids.selectExpr(*(f"{sql} AS {name}" for name, sql in COLUMNS.items()))
