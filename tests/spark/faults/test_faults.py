"""A process that is killed while a stream runs: the short form of ``tox -e soak-spark``.

An executor is killed in `tests.cloud.spark.test_cluster`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.spark.faults.pipeline import Pipeline


def test_rows_are_there_once_after_a_process_was_killed(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline("append", str(tmp_path), "published", versions=2)
    pipeline.prepare()
    with contextlib.suppress(StreamingQueryException):
        pipeline.run(spark)
    pipeline.run(spark)
    assert pipeline.wrong() == []
