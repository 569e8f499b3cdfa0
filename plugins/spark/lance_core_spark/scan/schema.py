"""The columns of a read: stored columns, and meta columns that the reader computes."""

from __future__ import annotations

import pyarrow as pa
from pyarrow.types import is_decimal
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

import lance_core
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core_spark.options.read_options import META_COLUMNS, LanceReadOptions
from lance_core_spark.scan.unscaled_decimals import unscaled_column
from lance_core_spark.types.blobs import has_blobs, with_blob_metadata
from lance_core_spark.types.spark_types import is_compatible, spark_field

FRAGMENT_ID = META_COLUMNS["with_fragment_id"]
ROW_ADDRESS = META_COLUMNS["with_row_address"]
_VERSIONS = {
    META_COLUMNS["with_row_created_at_version"],
    META_COLUMNS["with_row_last_updated_at_version"],
}


def read_schema(dataset: lance_core.LanceDataset, options: LanceReadOptions) -> StructType:
    """The schema of a read for which Spark requests no columns."""
    stored = _stored_columns(dataset, options)
    names = list(stored) if options.columns is None else list(options.columns)
    names += [name for name in options.meta_columns if name not in names]
    columns = {name: _column(name, stored) for name in names}
    if options.unscaled_decimals:
        decimals = (name for name in names if name in stored and is_decimal(stored[name].type))
        columns |= {name: unscaled_column(columns[name]) for name in decimals}
    return StructType([columns[name] for name in names])


def check_filter(dataset: lance_core.LanceDataset, options: LanceReadOptions) -> None:
    """Raise an error for an invalid option ``filter``, before a task evaluates it."""
    if options.filter is None:
        return
    try:
        dataset.scanner([], options.filter)
    except (InvalidInputError, UnsupportedFeatureError) as error:
        raise type(error)(f"option 'filter': {error}") from None


def _stored_columns(
    dataset: lance_core.LanceDataset, options: LanceReadOptions
) -> dict[str, pa.Field]:
    schema, names = dataset.schema, options.columns
    known = set(schema.names)
    if names is not None:
        names = tuple(n for n in names if n in known or n not in META_COLUMNS.values())
    # A scanner imports the modules that read files, which a planning process does not need.
    if options.blob_handling is None and set(names or ()) <= known:
        fields = {name: schema.field(name) for name in (schema.names if names is None else names)}
        if not any(has_blobs(field) for field in fields.values()):
            return fields
    scanner = dataset.scanner(
        None if names is None else list(names), blob_handling=options.blob_handling
    )
    return {
        field.name: with_blob_metadata(field, field.name, schema)
        for field in scanner.projected_schema
    }


def check_schema(
    schema: StructType, dataset: lance_core.LanceDataset, options: LanceReadOptions
) -> None:
    """Raise `InvalidInputError` for a column of ``schema`` with another type in the table."""
    requested = LanceReadOptions(
        columns=tuple(schema.names),
        blob_handling=options.blob_handling,
        unscaled_decimals=options.unscaled_decimals,
    )
    for column, stored in zip(schema, read_schema(dataset, requested), strict=True):
        if not is_compatible(StructType([column]), StructType([stored])):
            raise InvalidInputError(
                f"column {column.name!r} was requested as {_describe(column)}; the table has it "
                f"as {_describe(stored)}"
            )


def _column(name: str, stored: dict[str, pa.Field]) -> StructField:
    if name in META_COLUMNS.values() and name not in stored:
        spark = IntegerType() if name == FRAGMENT_ID else LongType()
        return StructField(name, spark, name in _VERSIONS)
    return spark_field(stored[name])


def _describe(column: StructField) -> str:
    return column.dataType.simpleString() + ("" if column.nullable else " not null")
