"""Descriptions of jobs, and the progress of their rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lance_core_spark import LanceTable, job_progress
from tests.spark.table.test_merge import table_of


class Connect:
    """A session of Spark Connect: it has tags, but no SparkContext."""

    def __init__(self) -> None:
        self.tags: list[str] = []

    def addTag(self, tag: str) -> None:  # noqa: N802
        self.tags.append(tag)

    def removeTag(self, tag: str) -> None:  # noqa: N802
        self.tags.remove(tag)


def test_changes_show_in_pages_and_on_the_terminal(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, int]] = []

    @contextlib.contextmanager
    def bar(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        yield lambda count: shown.append((what, count))

    monkeypatch.setattr(job_progress, "progress_bar", bar)
    path = tmp_path / "t.lance"
    table_of(path)
    context = spark.sparkContext
    context.setJobDescription("mine")
    table = LanceTable.forPath(spark, path)
    table.delete("id < 5")
    table.addColumns({"x": "id"})
    assert sum(count for what, count in shown if what == "delete") == 5
    assert sum(count for what, count in shown if what == "add columns") == 35
    for verb in ("delete", "add columns"):
        assert list(context.statusTracker().getJobIdsForGroup(f"{verb} {path}"))
    assert context.getLocalProperty("spark.job.description") == "mine"
    assert context.getLocalProperty("spark.jobGroup.id") is None
    context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


def test_sessions_without_a_context_get_a_tag() -> None:
    session: Any = Connect()
    with job_progress.job_description(session, "merge a,b"):
        assert session.tags == ["merge a b"]
    assert session.tags == []
    with job_progress.row_progress(session, "merge") as count:
        assert count is None


def test_rows_of_a_failed_job_do_not_count_later() -> None:
    counted: list[int] = []
    rows = job_progress._RowCount(counted.append)
    assert rows.addInPlace(2, 3) == 5
    rows.close()
    assert rows.addInPlace(2, 4) == 6
    assert counted == [3]
    in_a_task = rows.__reduce__()[0]()
    assert in_a_task.addInPlace(1, 1) == 2
