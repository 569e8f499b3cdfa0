"""Spark types for stored columns.

Spark has fewer types than Arrow. If Spark's type would be written as another Arrow type than the
stored one, the metadata of the Spark column contains the stored field (`ARROW_FIELD_KEY`), so that
a column that is read and written again keeps its type.
"""

from __future__ import annotations

import base64
import json

import pyarrow as pa
from pyspark.sql import types as st

from lance_core.errors import UnsupportedFeatureError
from lance_core.schema import format_path, schema_to_json
from lance_core_spark.types.arrow_types import EQUIVALENT, arrow_field, is_any_list, struct_fields

ARROW_FIELD_KEY = "lance.field"
"""The key of the stored field in a Spark column's metadata, as JSON in pylance's form.

A field without a JSON form is an Arrow schema in base64, after `ARROW_PREFIX`.
"""

ARROW_PREFIX = "arrow:"

_SPARK_OF_ARROW: dict[pa.DataType, st.DataType] = {
    **dict(EQUIVALENT),
    pa.uint8(): st.ShortType(),
    pa.uint16(): st.IntegerType(),
    pa.uint32(): st.LongType(),
    pa.uint64(): st.DecimalType(20, 0),
    pa.float16(): st.FloatType(),
    pa.large_string(): st.StringType(),
    pa.string_view(): st.StringType(),
    pa.large_binary(): st.BinaryType(),
    pa.binary_view(): st.BinaryType(),
    pa.date64(): st.DateType(),
}

MAX_DECIMAL_DIGITS = 38
"""The highest precision of Spark's decimals."""


def spark_field(field: pa.Field, parents: tuple[str, ...] = ()) -> st.StructField:
    """The Spark column of a stored field. Raises `UnsupportedFeatureError` naming the column."""
    path = (*parents, field.name)
    spark = spark_type(field.type, path)
    return st.StructField(field.name, spark, field.nullable, _field_metadata(field, spark))


def spark_type(arrow: pa.DataType, path: tuple[str, ...]) -> st.DataType:
    """The Spark type that values of an Arrow type are read as; ``path`` is for errors."""
    if isinstance(arrow, pa.BaseExtensionType):
        return spark_type(arrow.storage_type, path)
    if pa.types.is_dictionary(arrow):
        return spark_type(arrow.value_type, path)
    if pa.types.is_struct(arrow):
        return st.StructType([spark_field(member, path) for member in struct_fields(arrow)])
    if is_any_list(arrow):
        item = arrow.value_field
        return st.ArrayType(spark_type(item.type, (*path, "element")), item.nullable)
    if pa.types.is_map(arrow):
        key = spark_type(arrow.key_type, (*path, "key"))
        value = spark_type(arrow.item_type, (*path, "value"))
        return st.MapType(key, value, arrow.item_field.nullable)
    return _leaf_type(arrow, path)


def _leaf_type(arrow: pa.DataType, path: tuple[str, ...]) -> st.DataType:
    known = _SPARK_OF_ARROW.get(arrow)
    if known is not None:
        return known
    if pa.types.is_fixed_size_binary(arrow):
        return st.BinaryType()
    if pa.types.is_timestamp(arrow):
        return st.TimestampNTZType() if arrow.tz is None else st.TimestampType()
    if pa.types.is_time(arrow):
        return st.TimeType()
    if pa.types.is_duration(arrow):
        return st.DayTimeIntervalType()
    if pa.types.is_decimal(arrow) and 0 <= arrow.scale <= arrow.precision <= MAX_DECIMAL_DIGITS:
        return st.DecimalType(arrow.precision, arrow.scale)
    raise UnsupportedFeatureError(
        f"column {format_path(path)}: Spark has no type for {str(arrow)[:200]}; leave the column "
        "out with the option 'columns' or with .schema(...)"
    )


def _field_metadata(field: pa.Field, spark: st.DataType) -> dict[str, str]:
    """Metadata of the Spark column from which `stored_field` restores ``field``."""
    default = arrow_field(st.StructField(field.name, spark, field.nullable))
    if default.equals(field, check_metadata=True):
        return {}
    schema = pa.schema([field])
    try:
        return {ARROW_FIELD_KEY: json.dumps(schema_to_json(schema))}
    except UnsupportedFeatureError:
        # A map, also a nested one, has no JSON form.
        return {ARROW_FIELD_KEY: ARROW_PREFIX + base64.b64encode(schema.serialize()).decode()}


def is_compatible(requested: st.DataType, stored: st.DataType, check_nulls: bool = True) -> bool:
    """True if values of the type ``stored`` can be returned as ``requested``.

    The types must be equal, except that structs may omit children; children are matched by name.
    With ``check_nulls``, the requested type must be nullable where the stored type is.
    """
    if isinstance(requested, st.StructType) and isinstance(stored, st.StructType):
        known = {member.name: member for member in stored}
        return all(
            member.name in known
            and (member.nullable or not check_nulls or not known[member.name].nullable)
            and is_compatible(member.dataType, known[member.name].dataType, check_nulls)
            for member in requested
        )
    if isinstance(requested, st.ArrayType) and isinstance(stored, st.ArrayType):
        nulls_fit = requested.containsNull or not check_nulls or not stored.containsNull
        return nulls_fit and is_compatible(requested.elementType, stored.elementType, check_nulls)
    if isinstance(requested, st.MapType) and isinstance(stored, st.MapType):
        nulls_fit = requested.valueContainsNull or not check_nulls or not stored.valueContainsNull
        return (
            nulls_fit
            and is_compatible(requested.keyType, stored.keyType, check_nulls)
            and is_compatible(requested.valueType, stored.valueType, check_nulls)
        )
    return requested == stored
