"""A task keeps as many threads busy as Spark gave it processors."""

from __future__ import annotations

import os

import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from lance_core.concurrency import cpu_count
from lance_core_spark.task_threads import THREADS_VARIABLE, limit_threads_to_task


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "to be put back")
    monkeypatch.delenv(THREADS_VARIABLE)


def test_the_name_is_that_of_the_core() -> None:
    assert cpu_count.THREADS_VARIABLE == THREADS_VARIABLE


def test_outside_of_tasks_nothing_changes() -> None:
    limit_threads_to_task()
    assert THREADS_VARIABLE not in os.environ


@pytest.mark.parametrize(("given", "used"), [(None, "3"), ("7", "7")])
def test_the_environment_counts_more(
    monkeypatch: pytest.MonkeyPatch, given: str | None, used: str
) -> None:
    class Three:
        def cpus(self) -> int:
            return 3

    monkeypatch.setattr(TaskContext, "get", Three)
    if given is not None:
        monkeypatch.setenv(THREADS_VARIABLE, given)
    limit_threads_to_task()
    assert os.environ[THREADS_VARIABLE] == used


def test_a_real_task_has_one(spark: SparkSession) -> None:
    def threads(_: object) -> list[str | None]:
        limit_threads_to_task()
        return [os.environ.get(THREADS_VARIABLE)]

    assert spark.sparkContext.parallelize([0], 1).mapPartitions(threads).collect() == ["1"]
