"""Changes of rows as a job of Spark: each task writes those of some fragments.

A task returns an error of its input instead of raising it, so that Spark does not run it again;
other errors make Spark run the task again.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame

from lance_core.errors import (
    InvalidInputError,
    LanceError,
    MergeError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.fragment import RowChanges
from lance_core_spark.brief_errors import brief_rows
from lance_core_spark.table.numbered_columns import numbered
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.convert import convert_batch

ADDRESS = "_rowaddr"
ACTION = "_action"
PLACE = "__lance_place"
"""The column with the id of the fragment; rows of one fragment are changed by one task."""

RESULT = "result string"
"""The column of a task's result: JSON, see `report`."""


@dataclass(frozen=True, slots=True)
class ChangeTask:
    """The function of a task. ``columns``: the fields of its rows from the third on."""

    table: TableRef
    version: TableVersion
    actions: Sequence[Collection[str] | None]
    columns: pa.Schema
    count: Accumulator[int] | None = None

    @brief_rows
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        limit_threads_to_task()
        try:
            dataset = open_version(self.table, self.version)
            rows = map(self._converted, itertools.chain([first], batches))
            yield report(dataset.write_row_changes(rows, self.actions).to_json())
        except (InvalidInputError, UnsupportedFeatureError) as error:
            yield report(error)

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with the table's types."""
        if self.count is not None:
            self.count.add(batch.num_rows)
        values = convert_batch(batch.columns[2:], self.columns, batch.num_rows)
        arrays = [batch.column(ADDRESS), batch.column(ACTION), *values.columns]
        return pa.RecordBatch.from_arrays(arrays, names=[ADDRESS, ACTION, *self.columns.names])


def run_changes(rows: DataFrame, task: ChangeTask) -> Iterator[RowChanges]:
    """Run ``task`` on ``rows``: `ADDRESS`, `ACTION`, `PLACE` and columns with new values.

    The results of all successful tasks come first; then the first error of a task is raised.
    """
    values = numbered(task.columns.names)
    placed = rows.repartition(sf.col(PLACE)).select(ADDRESS, ACTION, *values)
    ordered = placed.sortWithinPartitions(sf.col(ADDRESS).asc_nulls_last())
    done, failed = reports(ordered.mapInArrow(task, RESULT))
    yield from map(RowChanges.from_json, done)
    if failed is not None:
        raise failed


def report(result: str | LanceError) -> pa.RecordBatch:
    """The batch with which a task reports its result or its error to the driver."""
    if isinstance(result, LanceError):
        result = json.dumps({"error": type(result).__name__, "reason": str(result)})
    return pa.record_batch({"result": pa.array([result], pa.string())})


def reports(job: DataFrame) -> tuple[list[str], LanceError | None]:
    """Run ``job``, and return the results of its tasks and the first error of a task."""
    done, failed = [], None
    for (text,) in job.collect():
        tree = json.loads(text)
        if isinstance(tree, dict) and "error" in tree:
            failed = failed or _ERRORS.get(tree["error"], InvalidInputError)(tree["reason"])
        else:
            done.append(text)
    return done, failed


_ERRORS: dict[str, type[LanceError]] = {
    error.__name__: error
    for error in (InvalidInputError, MergeError, SchemaMismatchError, UnsupportedFeatureError)
}
