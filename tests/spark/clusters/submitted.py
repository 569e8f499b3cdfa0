"""What ``spark-submit`` runs on a cluster of two executors; prints JSON.

The plugin comes with ``--py-files``: executors import it from the files that Spark sends them.
``sys.argv``: the folder of the tables.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import pyspark_lance
from tests.spark.faults.faulty_source import java_above
from tests.spark.faults.pipeline import Pipeline


def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The executor of a task, and the file that it imports the plugin from."""
    import lance_core_spark

    for _ in batches:
        pass
    time.sleep(1)  # the other executor takes the other task
    found = {"executor": [java_above(os.getpid())], "file": [lance_core_spark.__file__]}
    yield pa.RecordBatch.from_pydict(found)


def main() -> None:
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    pyspark_lance.register(spark)
    folder = Path(sys.argv[1])
    rows = spark.range(0, 100, 1, 2)
    tasks = rows.mapInArrow(where, "executor long, file string").collect()
    uri = str(folder / "numbers.lance")
    rows.write.format("lance").mode("append").save(uri)
    told: dict[str, Any] = {
        "executors": len({row["executor"] for row in tasks}),
        "modules": sorted({row["file"] for row in tasks}),
        "sum": spark.read.format("lance").load(uri).selectExpr("sum(id)").first()[0],
    }
    # An executor dies in the middle of a task that reads one table and writes another.
    pipeline = Pipeline("batch", str(folder), "rows", "java")
    pipeline.prepare()
    pipeline.run(spark)
    told["killed"] = pipeline.wrong()
    spark.stop()
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
