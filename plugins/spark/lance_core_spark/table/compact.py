"""Compact a table: the driver plans and commits, tasks of Spark write the new fragments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Unpack

from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import (
    CommitUnknownError,
    InvalidInputError,
    LanceError,
    OutcomeUnknownError,
)
from lance_core.fragment import discard_fragments
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core.optimize import (
    Compaction,
    CompactionMetrics,
    CompactionOptions,
    RewriteResult,
)
from lance_core.progress import FragmentWriteProgress
from lance_core_spark.table.compaction_run import CompactionRun
from lance_core_spark.table_ref import TableRef, TableVersion


def compact(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, str | Secret] | None = None,
    max_attempts: int = 3,
    progress: FragmentWriteProgress | None = None,
    **options: Unpack[CompactionOptions],
) -> CompactionMetrics:
    """Merge small fragments and remove deleted rows; the executors of ``spark`` do the work.

    The driver plans the tasks for the newest version, each runs as a task of Spark, and the driver
    commits all of them at once. Without fragments to rewrite nothing is committed. ``options``: see
    `CompactionOptions`; ``num_threads`` has no effect, because Spark decides how many tasks run at
    the same time. ``max_attempts``: how often a task runs until its error is raised.
    ``progress``: called on the driver for the new fragments of each finished task, with Spark
    Connect after the last one.

    Raises the errors of `DatasetOptimizer.compact_files`, those of a task as well, and Spark's
    errors if it cannot run a task. The files of finished tasks are removed if the compaction has
    certainly failed; with Spark Connect a cleanup removes them if the whole job fails.
    """
    storage_options = hide_secrets(storage_options)
    if max_attempts < 1:
        raise InvalidInputError(f"max_attempts must be at least 1, not {max_attempts}")
    table = TableRef.of(os.fspath(uri), storage_options or {})
    dataset = table.open()
    tasks = Compaction.plan(dataset, options).tasks
    if not tasks:
        return CompactionMetrics()
    run = CompactionRun(spark, table, TableVersion.of(dataset), tasks, progress)
    try:
        results = run.execute(max_attempts)
    except BaseException:
        _discard(table, run.finished())
        raise
    return _commit(table, dataset, results)


def _commit(
    table: TableRef, dataset: lance_core.LanceDataset, results: list[RewriteResult]
) -> CompactionMetrics:
    try:
        return Compaction.commit(dataset, results)
    except (CommitUnknownError, OutcomeUnknownError):
        raise  # A version may reference the files.
    except LanceError:
        _discard(table, results)
        raise


def _discard(table: TableRef, results: list[RewriteResult]) -> None:
    written = [fragment for result in results for fragment in result.new_fragments]
    discard_fragments(written, table.uri, storage_options=table.options)
