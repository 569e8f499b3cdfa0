"""What it costs to plan a query, beyond what Spark needs for a Python data source without work."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from benchmarks.bars import SPARK_PLANNING_SECONDS
from benchmarks.measure import interleaved
from benchmarks.report import OURS
from benchmarks.spark.comparison import HOP, Comparison, partition_count
from benchmarks.spark.processes import processor_seconds
from benchmarks.spark.reads import SELECTED, SELECTIVE


def planning(comparison: Comparison) -> None:
    """Load a frame and plan its tasks; the empty source plans one task."""
    spark = comparison.spark
    schema = spark.read.format("lance").load(comparison.lance).schema

    def lance(**options: str) -> DataFrame:
        return spark.read.format("lance").options(**options).load(comparison.lance)

    def empty() -> DataFrame:
        reader = spark.read.format("sample").schema(schema)
        return reader.options(sample="", rows="1", partitions="1").load()

    def some() -> DataFrame:
        return lance(filter=SELECTIVE, columns=", ".join(SELECTED))

    def pushed() -> DataFrame:
        return lance(pushDownFilters="true").where(SELECTIVE)

    forms: dict[str, Callable[[], DataFrame]] = {
        "all columns": lance,
        "filter and columns": some,
        "filter of Spark": pushed,
    }
    for form, make in forms.items():
        actions = {
            OURS: lambda make=make: partition_count(make()),
            HOP: lambda: partition_count(empty()),
        }
        timings = interleaved(actions, comparison.rounds, clock=processor_seconds)
        label = f"plan a query, {form}"
        comparison.report.add(label, timings)
        beyond = timings[OURS].median - timings[HOP].median
        comparison.report.note(f"{label}: beyond Spark", beyond, "s", SPARK_PLANNING_SECONDS)
