"""Writing: tasks write fragments, the driver makes one commit of them all.

A task names its files anew each time it runs, so attempts that fail or run twice leave files that
no version names. The transaction has its identity before the first task starts: committing it twice
makes one version.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructField, StructType

import lance_core
from lance_core import LanceOperation
from lance_core.dataset.values.transaction import properties_of
from lance_core.errors import (
    CommitUnknownError,
    DatasetExistsError,
    InvalidInputError,
    LanceError,
    OutcomeUnknownError,
    SchemaMismatchError,
)
from lance_core.fragment import FragmentMetadata, discard_fragments, write_fragments
from lance_core_spark.address import TableAddress
from lance_core_spark.blobs import as_bytes, refuse_descriptions
from lance_core_spark.convert import convert_batch
from lance_core_spark.dictionaries import ONE_FOR_ALL, as_values, dictionaries_of, encode
from lance_core_spark.options import Options
from lance_core_spark.task import keep_to_share
from lance_core_spark.types import fits, spark_field, stored_field


@dataclass(frozen=True)
class WrittenFragments(WriterCommitMessage):
    """What one task has written."""

    fragments: tuple[FragmentMetadata, ...] = ()


@dataclass(frozen=True, slots=True)
class WritePlan:
    """All that is known of a write before its first task.

    ``read_version``: the version that the write builds on, 0 if there is no table. ``mode`` as of
    `lance_core.write_dataset`. ``schema``: of the rows that are handed to the writer of files.
    ``dictionaries``: the values that columns of these names must have.
    ``operation``: what the commit does, without its fragments; None if ``is_skipped``: the rows are
    thrown away, for there is a table and the user wanted it left alone.
    """

    address: TableAddress
    schema: pa.Schema
    mode: str
    read_version: int = 0
    files: Mapping[str, int | str] = field(default_factory=dict)
    commit: Mapping[str, Any] = field(default_factory=dict)
    message: str | None = None
    dictionaries: Mapping[str, pa.Array] = field(default_factory=dict)
    operation: LanceOperation.BaseOperation | None = None
    transaction_uuid: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def is_skipped(self) -> bool:
        return self.operation is None


def plan_write(
    options: Options, schema: StructType, overwrite: bool, base: lance_core.LanceDataset | None
) -> WritePlan:
    """Decide how rows of ``schema`` are written, and check all that can be checked without them.

    ``base``: the version to build on, None if there is no table yet. Raises `SchemaMismatchError`
    naming the column, `UnsupportedFeatureError` for types that cannot be stored, and
    `DatasetExistsError`.
    """
    address, asked = options.address, options.write
    if base is not None and asked.if_exists == "error":
        raise DatasetExistsError(f"there is a table at {address} already")
    mode = "create" if base is None else "overwrite" if overwrite else "append"
    if base is None or mode == "overwrite":
        version = asked.files.get("data_storage_version", base and base.data_storage_version)
        stored, dictionaries = _new_schema(schema, version in ONE_FOR_ALL), {}
    else:
        stored = _matched(schema, base)
        dictionaries = dictionaries_of(base, stored)
    plan = WritePlan(
        address,
        stored,
        mode,
        0 if base is None else base.version,
        asked.files,
        asked.commit,
        asked.message,
        dictionaries,
    )
    if base is not None and asked.if_exists == "ignore":
        return plan
    # Without rows, only the checks are made.
    checked = _write(plan, [], return_transaction=True, base=base)
    assert isinstance(checked, lance_core.Transaction)
    return replace(plan, operation=checked.operation)


def _new_schema(schema: StructType, without_dictionaries: bool) -> pa.Schema:
    made = pa.schema([stored_field(column) for column in schema])
    refuse_descriptions(made)
    return pa.schema([as_values(field) for field in made]) if without_dictionaries else made


def _matched(schema: StructType, base: lance_core.LanceDataset) -> pa.Schema:
    """The table's own fields for the columns of ``schema``, in the order of the latter."""
    fields = {field.name: field for field in base.schema}
    return pa.schema([_match(column, fields) for column in schema])


def _match(column: StructField, fields: Mapping[str, pa.Field]) -> pa.Field:
    found = fields.get(column.name)
    if found is None:
        alike = [name for name in fields if name.lower() == column.name.lower()]
        hint = f"; it has {alike[0]!r}, and case matters" if alike else ""
        raise SchemaMismatchError(f"the table has no column {column.name!r}{hint}")
    plain = as_bytes(found)
    wanted = spark_field(plain).dataType
    forms = (wanted, spark_field(found).dataType)
    if not any(fits(column.dataType, form, widening=False) for form in forms):
        refuse_descriptions(pa.schema([stored_field(column)]))
        raise SchemaMismatchError(
            f"column {column.name!r} is {column.dataType.simpleString()}, the table has it as "
            f"{wanted.simpleString()}: cast it before writing"
        )
    return found


def _write(
    plan: WritePlan,
    batches: Iterator[pa.RecordBatch] | list[pa.RecordBatch],
    return_transaction: bool = False,
    base: lance_core.LanceDataset | None = None,
) -> list[FragmentMetadata] | lance_core.Transaction:
    """Write batches of the plan's schema, on top of ``base`` or of the newest version."""
    return write_fragments(
        pa.RecordBatchReader.from_batches(plan.schema, batches),
        plan.address.uri if base is None else base,
        return_transaction=return_transaction,
        mode=plan.mode,
        storage_options=plan.address.options,
        **plan.files,  # type: ignore[arg-type] # `Options` knows which type each has
    )


class LanceWriter(DataSourceArrowWriter):
    """Writes rows of a plan. Spark makes copies: for each task, to commit, and to abort."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFragments:
        if self._plan.is_skipped:
            return WrittenFragments()
        keep_to_share()
        schema, known = self._plan.schema, self._plan.dictionaries
        batches = (
            convert_batch(encode(batch, schema, known), schema, batch.num_rows)
            for batch in iterator
            if batch.num_rows
        )
        written = _write(self._plan, batches)
        assert isinstance(written, list)
        return WrittenFragments(tuple(written))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the fragments of all tasks one version.

        After an error, what the tasks wrote is removed, unless it may have been committed all the
        same.
        """
        plan = self._plan
        if plan.is_skipped:
            return
        fragments = _fragments(messages)
        try:
            if any(message is None for message in messages):
                raise InvalidInputError("a task has not said what it wrote")
            lance_core.LanceDataset.commit(
                plan.address.uri,
                _transaction(plan, fragments),
                storage_options=plan.address.options,
                data_storage_version=plan.files.get("data_storage_version"),
                **plan.commit,
            )
        except (CommitUnknownError, OutcomeUnknownError):
            raise
        except LanceError:
            _discard(plan, fragments)
            raise

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove what the tasks of a failed job wrote.

        Spark also calls this after `commit` failed, which has cleaned up already where that is
        safe; then no task's message is missing. If one is, `commit` was not called; that the
        transaction is in no version is made sure of nevertheless.
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
        # The fields as files have them: blobs have other ones than the rows.
        operation = LanceOperation.Overwrite(plan.operation.new_schema, fragments)
    else:
        operation = LanceOperation.Append(fragments)
    properties = properties_of(plan.message, None)
    return lance_core.Transaction(plan.read_version, operation, plan.transaction_uuid, properties)


def _discard(plan: WritePlan, fragments: list[FragmentMetadata]) -> None:
    discard_fragments(fragments, plan.address.uri, storage_options=plan.address.options)


def _may_be_committed(plan: WritePlan) -> bool:
    """Whether a version may be this transaction; True if that cannot be told."""
    try:
        dataset = plan.address.find()
        if dataset is None:
            return False
        later = range(plan.read_version + 1, dataset.version + 1)
        made_by = [dataset.read_transaction(number) for number in later]
    except LanceError:
        return True
    return any(found is None or found.uuid == plan.transaction_uuid for found in made_by)
