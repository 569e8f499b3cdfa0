"""The change feed: rows with the kind of their change and the version that made it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_spark.types.arrow_types import arrow_schema
from lance_core_spark.types.convert import convert_batch, split_batch

CHANGE_TYPE, COMMIT_VERSION = "_change_type", "_commit_version"
"""The columns that a change feed adds."""

INSERT, DELETE = "insert", "delete"
BEFORE, AFTER = "update_preimage", "update_postimage"
"""The values of `CHANGE_TYPE`, as in Delta."""

_COLUMNS = (
    StructField(CHANGE_TYPE, StringType(), False),
    StructField(COMMIT_VERSION, LongType(), False),
)


def with_change_columns(schema: StructType) -> StructType:
    """``schema`` and the columns of a change feed; raises `InvalidInputError` if it has one."""
    for column in _COLUMNS:
        if column.name in schema.names:
            raise InvalidInputError(
                f"the table has a column {column.name!r}, which a change feed computes: select "
                "the other ones with the option 'columns'"
            )
    return StructType([*schema.fields, *_COLUMNS])


def stored_columns(schema: StructType) -> StructType:
    """``schema`` without the columns of a change feed."""
    added = [column.name for column in _COLUMNS]
    return StructType([column for column in schema if column.name not in added])


def with_changes(
    batch: pa.RecordBatch, schema: StructType, change: str, version: int
) -> pa.RecordBatch:
    """The columns ``schema`` of ``batch``, with the same change for all rows.

    Columns that an older version lacks are null.
    """
    rows = batch.num_rows
    added = {
        CHANGE_TYPE: lambda: pa.repeat(pa.scalar(change), rows),
        COMMIT_VERSION: lambda: pa.repeat(pa.scalar(version, pa.int64()), rows),
    }
    known = set(batch.schema.names)
    columns = [
        added[name]() if name in added else batch.column(name) if name in known else pa.nulls(rows)
        for name in schema.names
    ]
    return convert_batch(columns, arrow_schema(schema), rows)


def changed_rows(dataset: lance_core.LanceDataset, schema: StructType) -> Iterator[pa.RecordBatch]:
    """The rows that the open version deleted, inserted and updated, as batches of ``schema``.

    Deleted rows have their values of the version before, updated rows come with both.
    """
    version = dataset.version
    delta = dataset.delta(begin_version=version - 1, end_version=version)
    readers = (
        (DELETE, delta.get_deleted_rows),
        (BEFORE, delta.get_updated_rows_before),
        (INSERT, delta.get_inserted_rows),
        (AFTER, delta.get_updated_rows),
    )
    for change, read in readers:
        for rows in read():
            for batch in split_batch(rows):
                yield with_changes(batch, schema, change, version)
