"""The writer of a table: tasks write fragments, the driver commits all of them once.

Each run of a task uses new file names, so a task that fails or runs twice leaves only files that no
version references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

import lance_core
from lance_core import LanceOperation
from lance_core.dataset.values.transaction import properties_of
from lance_core.errors import (
    AlreadyCommittedError,
    CommitUnknownError,
    InvalidInputError,
    LanceError,
    OutcomeUnknownError,
)
from lance_core.fragment import FragmentMetadata, discard_fragments
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.convert import convert_batch
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

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFragments:
        if self._plan.is_skipped:
            return WrittenFragments()
        limit_threads_to_task()
        schema, dictionaries = self._plan.schema, self._plan.dictionaries
        batches = (
            convert_batch(encode(batch, schema, dictionaries), schema, batch.num_rows)
            for batch in iterator
            if batch.num_rows
        )
        fragments = write_files(self._plan, batches)
        assert isinstance(fragments, list)
        return WrittenFragments(tuple(fragments))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the fragments of all tasks as one version.

        Does nothing if the change that the plan's key identifies was committed after the plan was
        made. Then, and after an error, removes the files of the tasks, unless they may have been
        committed.
        """
        plan = self._plan
        if plan.is_skipped:
            return
        fragments = _fragments(messages)
        try:
            if any(message is None for message in messages):
                raise InvalidInputError("a task did not report what it wrote")
            lance_core.LanceDataset.commit(
                plan.table.uri,
                _transaction(plan, fragments),
                storage_options=plan.table.options,
                data_storage_version=plan.files.get("data_storage_version"),
                is_committed=plan.key and plan.key.is_committed,
                **plan.commit,
            )
        except AlreadyCommittedError:
            _discard(plan, fragments)
        except (CommitUnknownError, OutcomeUnknownError):
            raise
        except LanceError:
            _discard(plan, fragments)
            raise

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove the files of the tasks of a failed job.

        Spark also calls this after a failure of `commit`, which has already removed the files where
        this is safe; then no message is missing. If a message is missing, `commit` was not called,
        but this method still checks that no version has the transaction.
        """
        plan = self._plan
        was_committing = all(message is not None for message in messages)
        if plan.is_skipped or was_committing or _may_be_committed(plan):
            return
        _discard(plan, _fragments(messages))


def _fragments(messages: Sequence[WriterCommitMessage | None]) -> list[FragmentMetadata]:
    return [
        fragment
        for message in messages
        if isinstance(message, WrittenFragments)
        for fragment in message.fragments
    ]


def _transaction(plan: WritePlan, fragments: list[FragmentMetadata]) -> lance_core.Transaction:
    operation: LanceOperation.BaseOperation
    if isinstance(plan.operation, LanceOperation.Overwrite):
        # Use the fields of the files: blobs have other fields in files than in the rows.
        operation = LanceOperation.Overwrite(plan.operation.new_schema, fragments)
    else:
        operation = LanceOperation.Append(fragments)
    key = None if plan.key is None else plan.key.properties
    properties = properties_of(plan.message, key)
    return lance_core.Transaction(plan.read_version, operation, plan.transaction_uuid, properties)


def _discard(plan: WritePlan, fragments: list[FragmentMetadata]) -> None:
    discard_fragments(fragments, plan.table.uri, storage_options=plan.table.options)


def _may_be_committed(plan: WritePlan) -> bool:
    """True if a version may have this transaction, or if the history cannot be read."""
    try:
        dataset = plan.table.open_if_exists()
        if dataset is None:
            return False
        later = range(plan.read_version + 1, dataset.version + 1)
        transactions = [dataset.read_transaction(number) for number in later]
    except LanceError:
        return True
    return any(one is None or one.uuid == plan.transaction_uuid for one in transactions)
