"""Writes and reads a table with Spark: a program for an environment that has nothing else.

``python spark.py URI OPTIONS``, where the options are JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys

from pyspark.sql import SparkSession


def main(uri: str, options: dict[str, str]) -> None:
    """Write rows, append, and read them with a filter; raises if a number is wrong."""
    assert importlib.util.find_spec("pandas") is None
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = session.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    try:
        for start in (0, 100):
            rows = spark.range(start, start + 100, 1, 1).selectExpr("id", "cast(id AS string) text")
            rows.write.format("lance").options(**options).mode("append").save(uri)
        table = spark.read.format("lance").options(**options).load(uri)
        assert table.where("id >= 10 AND text <> '11'").count() == 189
        sys.stdout.write("189 rows\n")
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
