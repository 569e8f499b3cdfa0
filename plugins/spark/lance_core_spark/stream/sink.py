"""The sink of a streaming query: each micro-batch is one version, exactly once.

A query that is restarted runs its last micro-batch again if Spark does not know that it was
committed. The transaction of a micro-batch records the id of the query and the number of the batch,
under the names that the connector for the JVM uses, so that a batch is committed only once. Spark
keeps the id of a query in its checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core_spark.brief_errors import brief
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.options.write_options import IF_EXISTS
from lance_core_spark.write.idempotent_commit import CommitKey
from lance_core_spark.write.plan import WritePlan, plan_write
from lance_core_spark.write.writer import LanceWriter, WrittenFragments, discard_written

QUERY_ID = "lance.streaming.queryId"
EPOCH_ID = "lance.streaming.epochId"
"""The transaction properties of a micro-batch: the query's id, and the number of the batch."""

_SPARK_QUERY_ID = "sql.streaming.queryId"
"""The local property of a task with the id of its query."""


def batch_key(query_id: str, batch_id: int) -> CommitKey:
    """The identity of a micro-batch."""
    return CommitKey(QUERY_ID, query_id, EPOCH_ID, batch_id)


@dataclass(frozen=True)
class WrittenBatch(WrittenFragments):
    """The message of a task: its fragments, the version of the plan, and the id of the query.

    The writer that commits is another instance than the one that Spark sends to the tasks.
    """

    read_version: int = 0
    query_id: str | None = None


class LanceStreamWriter(DataSourceStreamArrowWriter):
    """Appends the rows of micro-batches to a table, or replaces its content (``overwrite``).

    Spark makes an instance for the tasks of a micro-batch, and another one to commit it. Raises
    `InvalidInputError` and the errors of `plan_write`.
    """

    def __init__(self, options: DataSourceOptions, schema: StructType, overwrite: bool) -> None:
        if options.write.if_exists != IF_EXISTS[0]:
            raise InvalidInputError(
                "option 'if_exists' is not supported by streams, which always write to the table: "
                "remove it"
            )
        if options.write.transaction is not None:
            raise InvalidInputError(
                "options 'txn_app_id' and 'txn_version' are for one write; micro-batches have the "
                "id of their query and their own numbers"
            )
        if options.read.branch is not None:
            raise UnsupportedFeatureError("the option 'branch' is for reads only")
        if options.write.replace_where is not None:
            raise InvalidInputError(
                "option 'replace_where' is not supported by streams, which append or replace all "
                "rows: remove it"
            )
        self._options = options
        self._schema = schema
        self._overwrite = overwrite
        self._plan = plan_write(options, schema, overwrite, options.table.open_if_exists())

    @brief
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenBatch:
        context = TaskContext.get()
        query_id = None if context is None else context.getLocalProperty(_SPARK_QUERY_ID)
        written = LanceWriter(self._plan).write(iterator)
        return WrittenBatch(written.fragments, self._plan.read_version, query_id)

    @brief
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Commit a micro-batch, unless it is committed already; then remove its files.

        An append without rows commits nothing.
        """
        batches = [message for message in messages if isinstance(message, WrittenBatch)]
        stream = self._options.stream
        query_id = stream.query_id or next(
            (written.query_id for written in batches if written.query_id), None
        )
        if query_id is None:
            raise InvalidInputError(
                "Spark does not tell the tasks the id of their query: set the option "
                "'streamingQueryId' to a text that only this query uses"
            )
        key, newest = batch_key(query_id, batchId), self._options.table.open_if_exists()
        if newest is not None and key.find(newest, stream.look_back):
            discard_written(self._options.table, messages)
            return
        plan = self._plan_of(batches)
        if plan.mode != "append" or any(written.fragments for written in batches):
            LanceWriter(replace(plan, key=key)).commit(messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Remove the files of a failed micro-batch.

        Spark also calls this after a failure of `commit`, which has removed the files where this is
        safe; then no message is missing.
        """
        if any(message is None for message in messages):
            discard_written(self._options.table, messages)

    def _plan_of(self, batches: Sequence[WrittenBatch]) -> WritePlan:
        """The plan of the tasks: the table may have newer versions than the one they read."""
        version = batches[0].read_version if batches else self._plan.read_version
        if version == self._plan.read_version:
            return self._plan
        base = self._options.table.open(version) if version else None
        return plan_write(self._options, self._schema, self._overwrite, base)
