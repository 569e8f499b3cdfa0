"""The tasks of a compaction as tasks of Spark, which report to the driver when they finish.

A task returns its error instead of raising it, so that Spark continues with the other tasks; the
driver submits it again. Tasks report by an accumulator: the driver receives each report as soon as
the task ends, and keeps those of finished tasks if the job fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.accumulators import AccumulatorParam
from pyspark.sql import SparkSession

from lance_core.errors import InvalidInputError, LanceError
from lance_core.optimize import CompactionTask, RewriteResult
from lance_core.progress import FragmentWriteProgress, progress_bar
from lance_core_spark.job_progress import job_description
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task

Report = tuple[int, RewriteResult | Exception]
"""The number of a task, and its result or its error."""


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
        self._context = spark.sparkContext
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

        table, version = self._table, self._version
        reports = _Reports(receive)
        accumulator = self._context.accumulator([], reports)

        def execute(numbered: tuple[int, CompactionTask]) -> None:
            number, task = numbered
            accumulator.add([(number, _outcome(table, version, task))])

        tasks = self._context.parallelize([(i, self._tasks[i]) for i in numbers], len(numbers))
        again = f", attempt {attempt}" if attempt > 1 else ""
        with job_description(self._spark, f"compact {table}", f": {len(numbers)} tasks{again}"):
            try:
                tasks.foreach(execute)
            finally:
                reports.close()
        if stopped:
            raise stopped[0]

    def _show(self, result: RewriteResult) -> None:
        if self._progress is not None:
            for fragment in result.new_fragments:
                self._progress.begin(fragment)
                self._progress.complete(fragment)


def _outcome(
    table: TableRef, version: TableVersion, task: CompactionTask
) -> RewriteResult | Exception:
    """Execute a task on an executor; returns its error in a form that the driver can unpickle."""
    try:
        limit_threads_to_task()
        return task.execute(open_version(table, version))
    except Exception as error:
        # Errors of other packages may fail to unpickle, or the driver may lack their package.
        if isinstance(error, LanceError) or type(error).__module__ == "builtins":
            return error
        return LanceError(f"{type(error).__name__}: {error}")


class _Reports(AccumulatorParam[list[Report]]):
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

    def zero(self, value: list[Report]) -> list[Report]:
        return []

    def addInPlace(self, value1: list[Report], value2: list[Report]) -> list[Report]:  # noqa: N802
        if not self._is_driver:
            return value1 + value2
        if self._receive is not None:
            for number, outcome in value2:
                self._receive(number, outcome)
        return []

    def close(self) -> None:
        """Ignore later reports, which tasks of a failed job may send."""
        self._receive = None
