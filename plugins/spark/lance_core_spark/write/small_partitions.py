"""Few tasks for the rows of many small partitions: each task of Python costs Spark some 40 ms."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from lance_core_spark.job_progress import context_of

MIN_TASK_BYTES = 32 << 20
"""Bytes of rows, as Spark estimates them, that take far longer to write than a task to start."""

TASKS_A_PROCESSOR = 2
"""Tasks that a processor gets at least, so that it does not wait for the last one of another."""


def gathered(frame: DataFrame) -> DataFrame:
    """``frame`` with fewer partitions if it has many with few bytes, as Spark estimates them.

    A frame with a shuffle stays as it is: Spark joins its small partitions by itself, or the user
    has chosen their number; so does any frame of Spark Connect, which does not tell its plan.
    """
    context = context_of(frame.sparkSession)
    if context is None:
        return frame
    execution: Any = frame._jdf.queryExecution()  # noqa: SLF001  # no public way
    plan = execution.executedPlan().toString()
    if "Exchange" in plan or "AdaptiveSparkPlan" in plan:
        return frame
    size = int(execution.optimizedPlan().stats().sizeInBytes())
    tasks = max(TASKS_A_PROCESSOR * context.defaultParallelism, size // MIN_TASK_BYTES)
    return frame.coalesce(tasks) if tasks < execution.toRdd().getNumPartitions() else frame
