"""The fields that the rows of a data frame get in a table."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import types as st

import lance_core
from lance_core.errors import SchemaMismatchError
from lance_core.hookspecs.options import did_you_mean
from lance_core_spark.options.column_options import with_column_options
from lance_core_spark.options.write_options import LanceWriteOptions
from lance_core_spark.types.arrow_types import is_any_list, struct_fields
from lance_core_spark.types.assignment import check_assignable
from lance_core_spark.types.blobs import check_no_descriptions, with_bytes
from lance_core_spark.types.spark_types import is_compatible, spark_field
from lance_core_spark.types.stored_fields import stored_field
from lance_core_spark.write.legacy_dictionaries import without_dictionaries


def new_schema(schema: st.StructType, write: LanceWriteOptions, is_legacy: bool) -> pa.Schema:
    """The schema of a new table for ``schema``; raises the errors of `stored_field`."""
    schema = with_column_options(schema, write.columns)
    stored = pa.schema([stored_field(column) for column in schema])
    check_no_descriptions(stored)
    return pa.schema([without_dictionaries(field) for field in stored]) if is_legacy else stored


def check_same_columns(schema: st.StructType, base: lance_core.LanceDataset) -> None:
    """Raise `SchemaMismatchError` unless ``schema`` has the table's columns with their types."""
    columns = {column.name: column.dataType for column in schema}
    for stored in base.schema:
        expected = spark_field(with_bytes(stored)).dataType
        new = columns.pop(stored.name, None)
        if new is None or not is_compatible(new, expected, check_nulls=False):
            raise SchemaMismatchError(
                f"the option 'overwrite_schema' is false: column {stored.name!r} must be "
                f"{expected.simpleString()}"
            )
    if columns:
        raise SchemaMismatchError(
            f"the option 'overwrite_schema' is false: the table has no column {min(columns)!r}"
        )


def table_schema(
    schema: st.StructType, base: lance_core.LanceDataset, write: LanceWriteOptions
) -> pa.Schema:
    """The table's fields for the columns of ``schema``, in the order of ``schema``.

    With ``merge_schema``, also new fields. Raises `SchemaMismatchError` for a column that the table
    lacks or has with a type that its values do not fit.
    """
    schema = with_column_options(schema, write.columns)
    fields = {field.name: field for field in base.schema}
    return pa.schema([_table_field(column, fields, write) for column in schema])


def _table_field(
    column: st.StructField, fields: Mapping[str, pa.Field], write: LanceWriteOptions
) -> pa.Field:
    stored = fields.get(column.name)
    if stored is None:
        similar = [name for name in fields if name.lower() == column.name.lower()]
        if similar:
            hint = f"; it has {similar[0]!r}, and case matters"
            raise SchemaMismatchError(f"the table has no column {column.name!r}{hint}")
        if write.merge_schema:
            return _new_field(column)
        more = did_you_mean(column.name, fields)
        raise SchemaMismatchError(
            f"the table has no column {column.name!r}{more}; the option 'merge_schema' adds columns"
        )
    if is_compatible(column.dataType, spark_field(stored).dataType, check_nulls=False):
        return stored
    if write.merge_schema:
        stored = _with_new_members(stored, column)
    try:
        spark_type_of_table = spark_field(with_bytes(stored)).dataType
        check_assignable(column.dataType, spark_type_of_table, (column.name,), write.checked_casts)
    except SchemaMismatchError:
        check_no_descriptions(pa.schema([stored_field(column)]))
        raise
    return stored


def _new_field(column: st.StructField) -> pa.Field:
    """A field for a column that the table lacks; its former rows have null in it."""
    field = stored_field(column)
    check_no_descriptions(pa.schema([field]))
    return field.with_nullable(True)


def _with_new_members(stored: pa.Field, column: st.StructField) -> pa.Field:
    """``stored`` with the members that only the structs in ``column`` have."""
    return stored.with_type(_type_with_members(stored.type, column.dataType))


def _type_with_members(stored: pa.DataType, spark: st.DataType) -> pa.DataType:
    if isinstance(spark, st.StructType) and pa.types.is_struct(stored):
        members = {member.name: member for member in spark}
        known = [
            _with_new_members(member, members[member.name]) if member.name in members else member
            for member in struct_fields(stored)
        ]
        names = {member.name for member in known}
        new = [_new_field(member) for name, member in members.items() if name not in names]
        return pa.struct([*known, *new])
    if isinstance(spark, st.ArrayType) and is_any_list(stored):
        item = stored.value_field
        item = item.with_type(_type_with_members(item.type, spark.elementType))
        if pa.types.is_fixed_size_list(stored):
            return pa.list_(item, stored.list_size)
        return pa.large_list(item) if pa.types.is_large_list(stored) else pa.list_(item)
    return stored
