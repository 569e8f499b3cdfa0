"""The pipeline with Spark: its tasks write the tables, and read them."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from examples.flights.pipeline import Engine
from examples.flights.source import MISSING, Source
from examples.flights.tables import BRONZE, GOLD, KEY, MEASURES, SILVER, Lake
from lance_core_spark import LanceTable, upsert_batches

QUIET = Path(__file__).with_name("log4j2.properties")
# A short job: the compiler that takes its time would not pay.
JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={QUIET.as_uri()}"]
PARTITION_BYTES = 8 << 20
"""Of the CSV, for one task; so several write at once."""

_SQL_TYPES = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.float64(): "double",
    pa.string(): "string",
    pa.timestamp("us", "UTC"): "timestamp",
}


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


class SparkEngine(Engine):
    """Every step but the random access is a Spark job."""

    def __init__(self, source: Source, lake: Lake) -> None:
        self._source = source
        self._lake = lake
        self._spark = start()
        warm_up(self._spark)

    def write_bronze(self) -> None:
        for table in BRONZE:
            path = self._source.history if table == "flights" else self._source.csv(table)
            _append(self._read_csv(table, path), self._lake.uri("bronze", table))

    def write_silver(self) -> None:
        _append(self._joined(self._read(self._lake.flights)), self._lake.silver)

    def take_in_arrivals(self) -> None:
        """One stream appends files to bronze, the other reads the versions of bronze."""
        files = self._spark.readStream.options(**_csv_options()).schema(_sql_schema("flights"))
        arriving = files.option("maxFilesPerTrigger", 1).csv(str(self._source.arriving))
        log = self._spark.readStream.format("lance").option("starting_version", 2)
        appended = log.option("max_versions_per_trigger", 1).load(self._lake.flights)
        with tempfile.TemporaryDirectory() as folder:
            _run(arriving.writeStream.format("lance"), folder, path=self._lake.flights)
            upsert = upsert_batches(self._lake.silver, KEY, query_id="flights")
            _run(self._joined(appended).writeStream.foreachBatch(upsert), folder)

    def compact(self) -> None:
        LanceTable.forPath(self._spark, self._lake.silver).optimize()

    def write_gold(self, table: str) -> None:
        _append(self._aggregated(table), self._lake.uri("gold", table))

    def merge_gold(self, table: str) -> None:
        gold = LanceTable.forPath(self._spark, self._lake.uri("gold", table)).alias("old")
        same = " AND ".join(f"old.{group} <=> new.{group}" for group in GOLD[table])
        (
            gold.withCommit("the whole year")
            .merge(self._aggregated(table).alias("new"), same)
            .whenMatchedUpdateAll()
            .whenNotMatchedInsertAll()
            .whenNotMatchedBySourceDelete()
            .execute()
        )

    def count(self, uri: str, version: int | None = None) -> int:
        options = {} if version is None else {"version": version}
        return self._read(uri, columns="carrier", **options).count()

    def close(self) -> None:
        self._spark.stop()

    def _aggregated(self, table: str) -> DataFrame:
        """The present rows of a table of gold."""
        groups = GOLD[table]
        silver = self._read(self._lake.silver, columns=", ".join([*groups, *MEASURES[1:]]))
        measures = "count(*)", "count_if(cancelled)", "avg(dep_delay)", "avg(arr_delay)"
        named = [sf.expr(sql).alias(name) for sql, name in zip(measures, MEASURES, strict=True)]
        return silver.groupBy(*groups).agg(*named).coalesce(1)

    def _joined(self, flights: DataFrame) -> DataFrame:
        """The rows of silver for ``flights``, from the other tables of bronze."""
        weather = self._bronze("weather", "origin, time_hour, temp, visib, precip")
        airports = self._bronze("airports", "faa, name").toDF("dest", "destination")
        airlines = self._bronze("airlines", "carrier, name").toDF("carrier", "airline")
        planes = self._bronze("planes", "tailnum, seats")
        joined = (
            flights.join(weather, ["origin", "time_hour"], "left")
            .join(airports, "dest", "left")
            .join(airlines, "carrier", "left")
            .join(planes, "tailnum", "left")
        )
        return joined.selectExpr(
            "*",
            "timestamp_seconds(unix_timestamp(time_hour) + 60 * minute) AS scheduled",
            "dep_time IS NULL AS cancelled",
            "precip > 0 AS wet",
        ).select(*SILVER.names)

    def _bronze(self, table: str, columns: str) -> DataFrame:
        return self._read(self._lake.uri("bronze", table), columns=columns)

    def _read(self, uri: str, **options: object) -> DataFrame:
        return self._spark.read.format("lance").options(**options).load(uri)

    def _read_csv(self, table: str, path: Path) -> DataFrame:
        return self._spark.read.csv(str(path), schema=_sql_schema(table), **_csv_options())


def _append(rows: DataFrame, uri: str) -> None:
    rows.write.format("lance").mode("append").save(uri)


def _run(query: DataStreamWriter, folder: str, path: str | None = None) -> None:
    """Run ``query`` on all available rows and wait until it ends.

    Each call makes a new checkpoint in ``folder``, so Spark treats it as a new query.
    """
    query = query.option("checkpointLocation", tempfile.mkdtemp(dir=folder))
    query.trigger(availableNow=True).start(path).awaitTermination()


def _sql_schema(table: str) -> str:
    return ", ".join(f"{field.name} {_SQL_TYPES[field.type]}" for field in BRONZE[table])


def _csv_options() -> dict[str, str]:
    """Anything that does not fit the types is an error."""
    return {"header": "true", "nullValue": MISSING, "mode": "FAILFAST"}
