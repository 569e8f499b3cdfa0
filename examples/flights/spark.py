"""The pipeline with Spark: its tasks write the table, and read it."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import lance_core as lance
from examples.flights.pipeline import LONG_FLIGHT, Delay, Engine
from examples.flights.source import (
    CLEAN,
    LAST_MONTH_OF_FIRST_BATCH,
    MISSING,
    WHOLE_NUMBERS,
    Source,
)

QUIET = Path(__file__).with_name("log4j2.properties")
# A short job: the compiler that takes its time would not pay.
JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={QUIET.as_uri()}"]
PARTITION_BYTES = 8 << 20
"""Of the CSV, for one task; so several write at once."""

_SQL_TYPES = {pa.int8(): "tinyint", pa.int16(): "smallint"}


def start() -> SparkSession:
    """A small session on this machine. The workers use this interpreter and what it has."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    return (
        SparkSession.builder.master("local[*]")
        .appName("flights")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", " ".join(JAVA_OPTIONS))
        .config("spark.sql.files.maxPartitionBytes", PARTITION_BYTES)
        .config("spark.sql.python.filterPushdown.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def warm_up(spark: SparkSession) -> None:
    """Start the Python processes that Spark needs to plan, write, commit and read.

    Each takes seconds, once, which are not to count as time of the first write.
    """
    with tempfile.TemporaryDirectory() as folder:
        spark.range(1).write.format("lance").mode("append").save(f"{folder}/one.lance")
        spark.read.format("lance").load(f"{folder}/one.lance").count()


def read_csv(spark: SparkSession, source: Source) -> DataFrame:
    """The CSV, with types; anything that does not fit them is an error."""
    with source.csv.open() as lines:
        names = lines.readline().strip().split(",")
    special = {"time_hour": "timestamp"}
    types = {name: _SQL_TYPES[arrow] for name, arrow in WHOLE_NUMBERS.items()} | special
    schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in names)
    return spark.read.csv(
        str(source.csv), schema=schema, header=True, nullValue=MISSING, mode="FAILFAST"
    )


def clean(raw: DataFrame) -> DataFrame:
    """The columns of the table: a timestamp in place of its parts, missing values as nulls."""
    return raw.selectExpr(
        "*",
        "timestamp_seconds(unix_timestamp(time_hour) + 60 * minute) AS scheduled",
        "dep_time IS NULL AS cancelled",
    ).select(*CLEAN.names)


class SparkEngine(Engine):
    """Every step but the random access is a Spark job."""

    def __init__(self, source: Source, table: Path | str) -> None:
        self._table = str(table)
        self._spark = start()
        warm_up(self._spark)
        self._flights = clean(read_csv(self._spark, source))

    def write_first(self) -> None:
        self._append(f"month <= {LAST_MONTH_OF_FIRST_BATCH}")

    def append_rest(self) -> None:
        self._append(f"month > {LAST_MONTH_OF_FIRST_BATCH}")

    def _append(self, months: str) -> None:
        self._flights.where(months).write.format("lance").mode("append").save(self._table)

    def worst_delays(self) -> list[Delay]:
        self._read(columns="carrier, distance, arr_delay").createOrReplaceTempView("flights")
        rows = self._spark.sql(
            f"""
            SELECT carrier, count(*), avg(arr_delay) AS delay FROM flights
            WHERE distance > {LONG_FLIGHT} AND arr_delay IS NOT NULL
            GROUP BY carrier ORDER BY delay DESC
            """
        )
        return [tuple(row) for row in rows.collect()]

    def take(self, indices: list[int]) -> pa.Table:
        return lance.dataset(self._table).take(indices)

    def count(self, version: int | None = None) -> int:
        options = {} if version is None else {"version": version}
        return self._read(columns="month", **options).count()

    def _read(self, **options: object) -> DataFrame:
        return self._spark.read.format("lance").options(**options).load(self._table)

    def close(self) -> None:
        self._spark.stop()
