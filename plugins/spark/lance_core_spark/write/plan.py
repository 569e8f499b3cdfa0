"""The plan of a write: the fields of its rows, and the operation of its commit.

The driver makes the plan before the first task starts, and runs all checks that need no rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

import lance_core
from lance_core import LanceOperation
from lance_core.errors import DatasetExistsError, SchemaMismatchError
from lance_core.fragment import FragmentMetadata, write_fragments
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.table_ref import TableRef
from lance_core_spark.types.blobs import check_no_descriptions, with_bytes
from lance_core_spark.types.spark_types import is_compatible, spark_field
from lance_core_spark.types.stored_fields import stored_field
from lance_core_spark.write.idempotent_commit import CommitKey
from lance_core_spark.write.legacy_dictionaries import (
    LEGACY_VERSIONS,
    table_dictionaries,
    without_dictionaries,
)


@dataclass(frozen=True, slots=True)
class WritePlan:
    """The plan of a write, complete before its first task.

    ``mode``: see `lance_core.write_dataset`. ``schema``: the schema of the rows in data files.
    ``read_version``: the version that the write is based on, 0 if there is no table.
    ``dictionaries``: the allowed values by column. ``operation``: the operation to commit, without
    its fragments; None skips the write because the table exists. ``transaction_uuid`` is part of
    the plan, so that committing the transaction twice creates one version. ``key``: identifies a
    change that other plans may have committed, see `CommitKey`.
    """

    table: TableRef
    schema: pa.Schema
    mode: str
    read_version: int = 0
    files: Mapping[str, int | str] = field(default_factory=dict)
    commit: Mapping[str, Any] = field(default_factory=dict)
    message: str | None = None
    dictionaries: Mapping[str, pa.Array] = field(default_factory=dict)
    operation: LanceOperation.BaseOperation | None = None
    transaction_uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    key: CommitKey | None = None

    @property
    def is_skipped(self) -> bool:
        return self.operation is None


def plan_write(
    options: DataSourceOptions,
    schema: StructType,
    overwrite: bool,
    base: lance_core.LanceDataset | None,
) -> WritePlan:
    """The plan for writing rows of ``schema``, based on ``base`` (None if there is no table).

    Raises `SchemaMismatchError` naming the column, `UnsupportedFeatureError` for types that cannot
    be stored, and `DatasetExistsError`.
    """
    table, write = options.table, options.write
    if base is not None and write.if_exists == "error":
        raise DatasetExistsError(f"there is a table at {table} already")
    mode = "create" if base is None else "overwrite" if overwrite else "append"
    if base is None or mode == "overwrite":
        version = write.files.get("data_storage_version", base and base.data_storage_version)
        stored, dictionaries = _new_schema(schema, version in LEGACY_VERSIONS), {}
    else:
        stored = _table_fields(schema, base)
        dictionaries = table_dictionaries(base, stored)
    plan = WritePlan(
        table,
        stored,
        mode,
        0 if base is None else base.version,
        write.files,
        write.commit,
        write.message,
        dictionaries,
    )
    if base is not None and write.if_exists == "ignore":
        return plan
    # Without rows, this only checks the schema and the options.
    checked = write_files(plan, [], return_transaction=True, base=base)
    assert isinstance(checked, lance_core.Transaction)
    return replace(plan, operation=checked.operation)


def write_files(
    plan: WritePlan,
    batches: Iterator[pa.RecordBatch] | list[pa.RecordBatch],
    return_transaction: bool = False,
    base: lance_core.LanceDataset | None = None,
) -> list[FragmentMetadata] | lance_core.Transaction:
    """Write batches of the plan's schema, based on ``base`` or on the newest version."""
    return write_fragments(
        pa.RecordBatchReader.from_batches(plan.schema, batches),
        plan.table.uri if base is None else base,
        return_transaction=return_transaction,
        mode=plan.mode,
        storage_options=plan.table.options,
        **plan.files,  # type: ignore[arg-type] # the options are parsed to the right types
    )


def _new_schema(schema: StructType, is_legacy: bool) -> pa.Schema:
    stored = pa.schema([stored_field(column) for column in schema])
    check_no_descriptions(stored)
    return pa.schema([without_dictionaries(field) for field in stored]) if is_legacy else stored


def _table_fields(schema: StructType, base: lance_core.LanceDataset) -> pa.Schema:
    """The table's fields for the columns of ``schema``, in the order of ``schema``."""
    fields = {field.name: field for field in base.schema}
    return pa.schema([_table_field(column, fields) for column in schema])


def _table_field(column: StructField, fields: Mapping[str, pa.Field]) -> pa.Field:
    stored = fields.get(column.name)
    if stored is None:
        similar = [name for name in fields if name.lower() == column.name.lower()]
        hint = f"; it has {similar[0]!r}, and case matters" if similar else ""
        raise SchemaMismatchError(f"the table has no column {column.name!r}{hint}")
    wanted = spark_field(with_bytes(stored)).dataType
    accepted = (wanted, spark_field(stored).dataType)
    if not any(is_compatible(column.dataType, spark, check_nulls=False) for spark in accepted):
        check_no_descriptions(pa.schema([stored_field(column)]))
        raise SchemaMismatchError(
            f"column {column.name!r} is {column.dataType.simpleString()}, the table has it as "
            f"{wanted.simpleString()}: cast it before writing"
        )
    return stored
