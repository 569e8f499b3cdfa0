"""The tasks of a compaction as tasks of Spark, which report to the driver when they finish.

A task returns its error instead of raising it, so that Spark continues with the other tasks; the
driver submits it again. Tasks report by an accumulator: the driver receives each report as soon as
the task ends, and keeps those of finished tasks if the job fails. Spark Connect has no
accumulators: there the reports are the result of the job.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

import lance_core.errors
from lance_core.errors import InvalidInputError, LanceError
from lance_core.optimize import CompactionTask, RewriteResult
from lance_core.progress import FragmentWriteProgress, progress_bar
from lance_core_spark.job_progress import context_of, job_description
from lance_core_spark.table.change_task import RESULT, report
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task

Reports = list[str]
"""JSON texts, each with the number of a task, and its result or its error; see `_report`."""


class CompactionRun:
    """Executes the tasks of a compaction of one version."""

    def __init__(
        self,
        spark: SparkSession,
        table: TableRef,
        version: TableVersion,
        tasks: Sequence[CompactionTask],
        progress: FragmentWriteProgress | None = None,
    ) -> None:
        self._spark = spark
        self._table = table
        self._version = version
        self._tasks = tasks
        self._progress = progress
        self._reports: dict[int, RewriteResult | Exception] = {}

    def finished(self) -> list[RewriteResult]:
        """The results of the tasks that have finished, in the order of the plan."""
        reports = (self._reports.get(i) for i in range(len(self._tasks)))
        return [report for report in reports if isinstance(report, RewriteResult)]

    def execute(self, max_attempts: int) -> list[RewriteResult]:
        """Run all tasks, each at most ``max_attempts`` times, and return their results.

        Raises the error of the first task without a result after all others have ended, an error of
        ``progress``, and Spark's error if a job fails. Invalid input is not tried again.
        """
        total = sum(fragment.num_rows for task in self._tasks for fragment in task.fragments)
        missing, attempt = list(range(len(self._tasks))), 1
        with progress_bar("compact", total) as advance:
            while True:
                self._submit(missing, attempt, advance)
                errors = self._errors()
                if not errors:
                    return self.finished()
                first = next(iter(errors.values()))
                if attempt == max_attempts or isinstance(first, InvalidInputError):
                    raise first
                missing, attempt = list(errors), attempt + 1

    def _errors(self) -> dict[int, Exception]:
        """The errors of the tasks without a result, by their numbers."""
        # Spark only logs it if it cannot pass on a report.
        lost = LanceError(f"a task of the compaction of {self._table} did not report")
        reports = {i: self._reports.get(i, lost) for i in range(len(self._tasks))}
        return {i: report for i, report in reports.items() if isinstance(report, Exception)}

    def _submit(self, numbers: list[int], attempt: int, advance: Callable[[int], None]) -> None:
        """Run the tasks with these numbers as one job."""
        stopped: list[Exception] = []

        def receive(number: int, outcome: RewriteResult | Exception) -> None:
            self._reports[number] = outcome
            if isinstance(outcome, RewriteResult) and not stopped:
                advance(sum(fragment.num_rows for fragment in outcome.original_fragments))
                try:
                    self._show(outcome)
                except Exception as error:  # Spark would drop it; it is raised after the job.
                    stopped.append(error)

        reports = _Reports(receive)
        context = context_of(self._spark)
        accumulator = None if context is None else context.accumulator([], reports)
        tasks = {number: self._tasks[number] for number in numbers}
        task = RewriteTask(self._table, self._version, list(tasks.items()), accumulator)
        again = f", attempt {attempt}" if attempt > 1 else ""
        details = f": {len(numbers)} tasks{again}"
        with job_description(self._spark, f"compact {self._table}", details):
            try:
                task_numbers = self._spark.range(0, len(numbers), 1, len(numbers))
                for (text,) in task_numbers.mapInArrow(task, RESULT).collect():
                    receive(*_parsed(text))
            finally:
                reports.close()
        if stopped:
            raise stopped[0]

    def _show(self, result: RewriteResult) -> None:
        if self._progress is not None:
            for fragment in result.new_fragments:
                self._progress.begin(fragment)
                self._progress.complete(fragment)


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """The function of a task of Spark: its rows are positions in ``tasks``, which have numbers."""

    table: TableRef
    version: TableVersion
    tasks: list[tuple[int, CompactionTask]]
    reports: Accumulator[Reports] | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads_to_task()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                text = self._report(*self.tasks[number])
                if self.reports is None:
                    yield report(text)
                else:
                    self.reports.add([text])

    def _report(self, number: int, task: CompactionTask) -> str:
        """Execute the task; `_parsed` reads the text on the driver."""
        try:
            result = task.execute(open_version(self.table, self.version))
        except Exception as error:
            # Errors of other packages are named in the text: the driver may lack their package.
            is_known = _error_type(type(error).__name__) is type(error)
            reason = str(error) if is_known else f"{type(error).__name__}: {error}"
            name = type(error).__name__ if is_known else LanceError.__name__
            return json.dumps({"number": number, "error": name, "reason": reason})
        return json.dumps({"number": number, "result": result.json()})


def _parsed(text: str) -> tuple[int, RewriteResult | Exception]:
    tree = json.loads(text)
    if "error" in tree:
        return tree["number"], (_error_type(tree["error"]) or LanceError)(tree["reason"])
    return tree["number"], RewriteResult.from_json(tree["result"])


def _error_type(name: str) -> type[Exception] | None:
    """The error that is made from a text alone, of lance-core or of Python; None for others."""
    known = getattr(lance_core.errors, name, None) or getattr(builtins, name, None)
    if not (isinstance(known, type) and issubclass(known, Exception)):
        return None
    try:
        known("")
    except TypeError:
        return None
    return known


class _Reports(AccumulatorParam[Reports]):
    """Collects reports in a task, and passes them to ``receive`` on the driver.

    PySpark keeps accumulators as long as the driver runs, so this one keeps no reports.
    """

    def __init__(
        self, receive: Callable[[int, RewriteResult | Exception], None] | None = None
    ) -> None:
        self._receive = receive
        self._is_driver = receive is not None

    def __reduce__(self) -> tuple[type[_Reports], tuple[()]]:
        return _Reports, ()

    def zero(self, value: Reports) -> Reports:
        return []

    def addInPlace(self, value1: Reports, value2: Reports) -> Reports:  # noqa: N802
        if not self._is_driver:
            return value1 + value2
        if self._receive is not None:
            for text in value2:
                self._receive(*_parsed(text))
        return []

    def close(self) -> None:
        """Ignore later reports, which tasks of a failed job may send."""
        self._receive = None
