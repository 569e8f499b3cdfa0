"""Processes that are killed while a stream runs: the short form of ``tox -e soak-spark``."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.spark.faults.pipeline import Pipeline


@pytest.mark.parametrize(
    ("kind", "point"),
    [("append", "publish"), ("append", "published"), ("complete", "files")],
)
def test_rows_are_there_once_after_a_process_was_killed(
    spark: SparkSession, tmp_path: Path, kind: str, point: str
) -> None:
    pipeline = Pipeline(kind, str(tmp_path), point)
    pipeline.prepare()
    with contextlib.suppress(StreamingQueryException):
        pipeline.run(spark)
    pipeline.run(spark)
    assert pipeline.wrong() == []
