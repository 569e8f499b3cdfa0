"""Data frames are written in any thread of the driver, as those of other formats are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark import InheritableThread
from pyspark.sql import SparkSession

import lance_core
from lance_core_spark import create_table
from lance_core_spark.thread_sessions import writes_work_in_threads
from tests.examples import only_on_spark_in_full


def in_a_thread(run: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()


def in_an_inheritable_thread(run: Callable[[], None]) -> None:
    errors: list[Exception] = []

    def attempt() -> None:
        try:
            run()
        except Exception as error:  # reported below
            errors.append(error)

    thread: threading.Thread = InheritableThread(target=attempt)
    thread.start()
    thread.join()
    assert errors == []


@pytest.mark.parametrize(
    "run", [pytest.param(in_a_thread, marks=only_on_spark_in_full), in_an_inheritable_thread]
)
def test_each_way_of_writing_works_in_a_thread(
    spark: SparkSession, tmp_path: Path, run: Callable[[Callable[[], None]], None]
) -> None:
    path = str(tmp_path / "t.lance")
    frame = spark.range(0, 3, 1, 1)
    run(lambda: frame.write.format("lance").mode("append").save(path))
    run(lambda: spark.range(0, 3, 1, 1).write.format("lance").mode("append").save(path))
    run(lambda: create_table(frame, path, mode="append"))
    target = str(tmp_path / "copy.lance")

    def stream() -> None:
        writer = spark.readStream.format("lance").load(path).writeStream.format("lance")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(target).awaitTermination()

    run(stream)
    assert lance_core.dataset(path).count_rows() == 9
    assert lance_core.dataset(target).count_rows() == 9


def test_the_session_that_is_active_in_a_thread_stays(spark: SparkSession, tmp_path: Path) -> None:
    writes_work_in_threads()  # once more
    other = spark.newSession()

    def write() -> None:
        rows = other.createDataFrame([(1,)], "n int")  # makes its session active
        spark.range(1).write.format("lance").mode("append").save(str(tmp_path / "t.lance"))
        rows.write.format("lance").mode("append").save(str(tmp_path / "other.lance"))
        active = SparkSession.getActiveSession()
        assert active is not None
        assert active._jsparkSession.equals(other._jsparkSession)

    in_a_thread(write)
    assert lance_core.dataset(tmp_path / "other.lance").count_rows() == 1
