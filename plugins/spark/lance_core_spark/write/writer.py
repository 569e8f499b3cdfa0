"""The writer of a table: tasks write fragments, the driver commits all of them once.

Each run of a task uses new file names, so a task that fails or runs twice leaves only files that no
version references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from lance_core.errors import (
    AlreadyCommittedError,
    CommitUnknownError,
    DatasetExistsError,
    InvalidInputError,
    LanceError,
    OutcomeUnknownError,
)
from lance_core.fragment import FragmentMetadata, discard_fragments
from lance_core_spark.brief_errors import brief
from lance_core_spark.table_ref import TableRef
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.convert import convert_batch
from lance_core_spark.write.commit import commit_write, may_be_committed
from lance_core_spark.write.condition import ConditionCheck
from lance_core_spark.write.legacy_dictionaries import encode
from lance_core_spark.write.plan import WritePlan, write_files


@dataclass(frozen=True)
class WrittenFragments(WriterCommitMessage):
    """The message of a task to the driver: the fragments that the task has written."""

    fragments: tuple[FragmentMetadata, ...] = ()


class LanceWriter(DataSourceArrowWriter):
    """Writes the rows of a plan. Spark copies it for each task, for the commit and for an abort."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    @brief
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFragments:
        if self._plan.is_skipped:
            return WrittenFragments()
        limit_threads_to_task()
        return WrittenFragments(tuple(write_files(self._plan, self._batches(iterator))))

    def _batches(self, iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows in the types of the table."""
        plan = self._plan
        schema, dictionaries = plan.schema, plan.dictionaries
        condition = None
        if plan.condition_schema is not None and plan.options.replace_where_check:
            condition = ConditionCheck(plan.options.replace_where or "", plan.condition_schema)
        for batch in iterator:
            if batch.num_rows:
                columns = encode(batch, schema, dictionaries)
                rows = convert_batch(columns, schema, batch.num_rows)
                if condition is not None:
                    condition.check(rows)
                yield rows

    @brief
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the fragments of all tasks as one version.

        If another run has committed the same change, removes the files of the tasks and succeeds.
        After an error, removes them unless they may have been committed.
        """
        plan = self._plan
        if plan.is_skipped:
            return
        try:
            if any(message is None for message in messages):
                raise InvalidInputError("a task did not report what it wrote")
            commit_write(plan, _fragments(messages))
        except (CommitUnknownError, OutcomeUnknownError):
            raise
        except LanceError as error:
            if not may_be_committed(plan):
                discard_written(plan.table, messages)
            if not _is_done(plan, error):
                raise

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove the files of the tasks of a failed job.

        Spark also calls this after a failure of `commit`, which has already removed the files where
        this is safe; then no message is missing. If a message is missing, `commit` was not called,
        but this method still checks that no version has the transaction.
        """
        plan = self._plan
        was_committing = all(message is not None for message in messages)
        if plan.is_skipped or was_committing or may_be_committed(plan):
            return
        discard_written(plan.table, messages)


def _is_done(plan: WritePlan, error: LanceError) -> bool:
    """True if the error says that nothing needs to be done: another run or writer was faster."""
    if isinstance(error, AlreadyCommittedError):
        return True
    return isinstance(error, DatasetExistsError) and plan.options.if_exists == "ignore"


def _fragments(messages: Sequence[WriterCommitMessage | None]) -> list[FragmentMetadata]:
    return [
        fragment
        for message in messages
        if isinstance(message, WrittenFragments)
        for fragment in message.fragments
    ]


def discard_written(table: TableRef, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Remove the files of the tasks with these messages; no version may reference them."""
    discard_fragments(_fragments(messages), table.uri, storage_options=table.options)
