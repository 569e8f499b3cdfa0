"""How jobs show in Spark's pages and on the driver's terminal.

Descriptions and accumulators are part of a SparkContext. A session of Spark Connect has none: there
jobs get a tag, and a progress bar appears only with Spark Connect's own progress handlers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import cast

from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from lance_core.progress import progress_bar

GROUP = "spark.jobGroup.id"
DESCRIPTION = "spark.job.description"


def context_of(spark: SparkSession) -> SparkContext | None:
    """The session's SparkContext; None with Spark Connect."""
    return getattr(spark, "sparkContext", None)


@contextlib.contextmanager
def job_description(spark: SparkSession, group: str, details: str = "") -> Iterator[None]:
    """A context in which jobs have a description, and a group unless the caller has set one."""
    context = context_of(spark)
    if context is None:
        tag = group.replace(",", " ")
        spark.addTag(tag)
        try:
            yield
        finally:
            spark.removeTag(tag)
        return
    before = {name: context.getLocalProperty(name) for name in (GROUP, DESCRIPTION)}
    context.setLocalProperty(DESCRIPTION, group + details)
    if before[GROUP] is None:
        context.setLocalProperty(GROUP, group)
    try:
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, cast("str", value))  # None removes the property.


@contextlib.contextmanager
def row_progress(spark: SparkSession, verb: str) -> Iterator[Accumulator[int] | None]:
    """A counter of rows for tasks, which advances a progress bar on the driver; None with Connect.

    The bar advances when a task ends. Rows of tasks that run twice count twice.
    """
    context = context_of(spark)
    if context is None:
        yield None
        return
    with progress_bar(verb) as advance:
        count = _RowCount(advance)
        try:
            yield context.accumulator(0, count)
        finally:
            count.close()


class _RowCount(AccumulatorParam[int]):
    """Adds numbers of rows in a task, and passes them to ``advance`` on the driver."""

    def __init__(self, advance: Callable[[int], None] | None = None) -> None:
        self._advance = advance

    def __reduce__(self) -> tuple[type[_RowCount], tuple[()]]:
        return _RowCount, ()

    def zero(self, value: int) -> int:
        return 0

    def addInPlace(self, value1: int, value2: int) -> int:  # noqa: N802
        if self._advance is not None:
            self._advance(value2)
        return value1 + value2

    def close(self) -> None:
        """Do not advance the bar any more: tasks of a failed job may still report."""
        self._advance = None
