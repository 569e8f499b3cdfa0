"""The columns of a read: stored ones, and meta columns that the reader computes."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_spark.options.read_options import META_COLUMNS, LanceReadOptions
from lance_core_spark.types.blobs import with_blob_metadata
from lance_core_spark.types.spark_types import is_compatible, spark_field

FRAGMENT_ID = META_COLUMNS["with_fragment_id"]
ROW_ADDRESS = META_COLUMNS["with_row_address"]
_META_TYPES = {FRAGMENT_ID: IntegerType()}


def read_schema(dataset: lance_core.LanceDataset, options: LanceReadOptions) -> StructType:
    """The columns that a read returns if Spark names none."""
    scanner = dataset.scanner(
        None if options.columns is None else _without_meta_columns(options.columns, dataset),
        blob_handling=options.blob_handling,
    )
    stored = {
        field.name: with_blob_metadata(field, field.name, dataset.schema)
        for field in scanner.projected_schema
    }
    names = list(stored) if options.columns is None else list(options.columns)
    names += [name for name in options.meta_columns if name not in names]
    return StructType([_column(name, stored) for name in names])


def check_schema(
    schema: StructType, dataset: lance_core.LanceDataset, options: LanceReadOptions
) -> None:
    """Raise `InvalidInputError` for a column of ``schema`` that the table has as another type."""
    requested = LanceReadOptions(columns=tuple(schema.names), blob_handling=options.blob_handling)
    for column, stored in zip(schema, read_schema(dataset, requested), strict=True):
        if not is_compatible(StructType([column]), StructType([stored])):
            raise InvalidInputError(
                f"column {column.name!r} was requested as {_describe(column)}; the table has it "
                f"as {_describe(stored)}"
            )


def _column(name: str, stored: dict[str, pa.Field]) -> StructField:
    if name in META_COLUMNS.values() and name not in stored:
        return StructField(name, _META_TYPES.get(name, LongType()), False)
    return spark_field(stored[name])


def _without_meta_columns(names: tuple[str, ...], dataset: lance_core.LanceDataset) -> list[str]:
    stored = dataset.schema.names
    return [name for name in names if name in stored or name not in META_COLUMNS.values()]


def _describe(column: StructField) -> str:
    return column.dataType.simpleString() + ("" if column.nullable else " not null")
