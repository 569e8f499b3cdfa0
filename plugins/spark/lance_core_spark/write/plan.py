"""The plan of a write: the fields of its rows, and the operation of its commit.

The driver makes the plan before the first task starts, and runs all checks that need no rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

import lance_core
from lance_core import LanceOperation
from lance_core.engines import as_filter
from lance_core.errors import (
    DatasetExistsError,
    InvalidInputError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.fragment import FragmentMetadata, write_fragments
from lance_core.plugins import open_store
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.options.stream_options import LOOK_BACK
from lance_core_spark.options.write_options import LanceWriteOptions
from lance_core_spark.table_ref import TableRef, TableVersion, keep_open, open_version
from lance_core_spark.write.idempotent_commit import CommitKey
from lance_core_spark.write.legacy_dictionaries import LEGACY_VERSIONS, table_dictionaries
from lance_core_spark.write.schema import check_same_columns, new_schema, table_schema

TXN_APP_ID = "lance_core.txn_app_id"
TXN_VERSION = "lance_core.txn_version"
"""Transaction properties with the application and the version of a write."""


@dataclass(frozen=True, slots=True)
class WritePlan:
    """The plan of a write, complete before its first task.

    ``schema``: the schema of the rows in data files. ``mode``: see `lance_core.write_dataset`.
    ``base``: the version that the write is based on, None if there is no table. ``options``: as the
    user gave them. ``dictionaries``: the allowed values by column. ``condition_schema``: the
    columns that ``replace_where`` may use. ``operation``: the operation to commit, without its
    fragments; None skips the write because the table or the change exists. ``key``: the identity of
    the change, so that it is committed once. ``transaction_uuid`` is part of the plan, so that
    committing the transaction twice creates one version.
    """

    table: TableRef
    schema: pa.Schema
    mode: str
    base: TableVersion | None = None
    options: LanceWriteOptions = field(default_factory=LanceWriteOptions)
    dictionaries: Mapping[str, pa.Array] = field(default_factory=dict)
    condition_schema: pa.Schema | None = None
    operation: LanceOperation.BaseOperation | None = None
    key: CommitKey | None = None
    transaction_uuid: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def is_skipped(self) -> bool:
        return self.operation is None

    @property
    def read_version(self) -> int:
        return 0 if self.base is None else self.base.number


def plan_write(
    options: DataSourceOptions,
    schema: StructType,
    overwrite: bool,
    base: lance_core.LanceDataset | None,
) -> WritePlan:
    """The plan for writing rows of ``schema``, based on ``base`` (None if there is no table).

    Raises `SchemaMismatchError` naming the column, `UnsupportedFeatureError` for types that cannot
    be stored, `InvalidInputError` for options that do not fit, and `DatasetExistsError`.
    """
    table, write = options.table, options.write
    replaces = write.replace_where is not None
    _check_options(write, overwrite)
    key = None if write.transaction is None else transaction_key(*write.transaction)
    if base is not None and key is not None and key.find(base, write.look_back or LOOK_BACK):
        return WritePlan(table, pa.schema([]), "append")
    if base is not None and write.if_exists == "error":
        raise DatasetExistsError(f"there is a table at {table} already")
    mode = "overwrite" if overwrite and not replaces else "append"
    if base is None:
        mode = "overwrite" if overwrite else "create"
    dictionaries: Mapping[str, pa.Array] = {}
    if base is None or mode == "overwrite":
        version = write.files.get("data_storage_version", base and base.data_storage_version)
        stored = new_schema(schema, write, version in LEGACY_VERSIONS)
        if base is not None and not write.overwrite_schema:
            check_same_columns(schema, base)
    else:
        stored = table_schema(schema, base, write)
        dictionaries = table_dictionaries(base, stored)
    plan = WritePlan(
        table,
        stored,
        mode,
        None if base is None else keep_open(table, base),
        write,
        dictionaries,
        _condition_schema(write, stored if base is None else base.schema),
        key=key,
    )
    if base is not None and write.if_exists == "ignore":
        return plan
    # Without rows, this only checks the schema and the options.
    checked = planned_transaction(plan, base)
    _check_folder(table)
    operation = checked.operation
    if isinstance(operation, LanceOperation.Merge):
        # The commit adds the fragments of its base; tasks need not carry them.
        operation = replace(operation, fragments=[])
    return replace(plan, operation=operation)


def _check_folder(table: TableRef) -> None:
    """Raise `StoreError` if the folder of a local table cannot be written, before a task does.

    A store that sends requests sends none here: it begins an object with its first bytes.
    """
    try:
        open_store(table.uri, table.options).open_writer(f"data/{uuid.uuid4().hex}").abort()
    except StoreError as error:
        raise StoreError(f"{table} cannot be written: {error}") from error


def _check_options(write: LanceWriteOptions, overwrite: bool) -> None:
    if write.replace_where is not None and not overwrite:
        raise InvalidInputError("the option 'replace_where' needs the mode 'overwrite'")
    if write.merge_schema and overwrite and write.replace_where is None:
        raise InvalidInputError(
            "'merge_schema' is for the mode 'append' and for the option 'replace_where': an "
            "overwrite replaces the schema"
        )


def _condition_schema(write: LanceWriteOptions, schema: pa.Schema) -> pa.Schema | None:
    """The columns for ``replace_where``; raises `InvalidInputError` if they do not fit it."""
    if write.replace_where is None:
        return None
    try:
        as_filter(write.replace_where, schema)
    except (InvalidInputError, UnsupportedFeatureError) as error:
        raise type(error)(f"option 'replace_where': {error}") from error
    return schema


def transaction_key(app_id: str, version: int) -> CommitKey:
    """The identity of the change that an application made as its ``version``."""
    return CommitKey(TXN_APP_ID, app_id, TXN_VERSION, version)


def planned_transaction(
    plan: WritePlan, base: lance_core.LanceDataset | None
) -> lance_core.Transaction:
    """The transaction of the plan without rows, on ``base``."""
    target = plan.table.uri if base is None else base
    made = _write(plan, [], target, plan.mode, return_transaction=True)
    assert isinstance(made, lance_core.Transaction)
    return made


def write_files(plan: WritePlan, batches: Iterator[pa.RecordBatch]) -> list[FragmentMetadata]:
    """Write batches of the plan's schema in a task."""
    target: str | lance_core.LanceDataset = plan.table.uri
    if plan.options.merge_schema and plan.base is not None:
        # The ids of new fields are those after the fields of this version.
        target = open_version(plan.table, plan.base)
    # If another writer makes the table in the meantime, the commit says what that means.
    made = _write(plan, batches, target, "overwrite" if plan.base is None else plan.mode)
    assert isinstance(made, list)
    return made


def _write(
    plan: WritePlan,
    batches: Iterator[pa.RecordBatch] | list[pa.RecordBatch],
    target: str | lance_core.LanceDataset,
    mode: str,
    return_transaction: bool = False,
) -> list[FragmentMetadata] | lance_core.Transaction:
    merges = plan.options.merge_schema and plan.base is not None
    files: dict[str, Any] = {**plan.options.files, "merge_schema": merges}
    return write_fragments(
        pa.RecordBatchReader.from_batches(plan.schema, batches),
        target,
        return_transaction=return_transaction,
        mode=mode,
        storage_options=plan.table.options,
        **files,
    )
