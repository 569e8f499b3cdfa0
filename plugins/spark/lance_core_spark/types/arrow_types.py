"""Arrow types for Spark types."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import types as st

from lance_core.errors import UnsupportedFeatureError
from lance_core.schema import format_path

EQUIVALENT: tuple[tuple[pa.DataType, st.DataType], ...] = (
    (pa.null(), st.NullType()),
    (pa.bool_(), st.BooleanType()),
    (pa.int8(), st.ByteType()),
    (pa.int16(), st.ShortType()),
    (pa.int32(), st.IntegerType()),
    (pa.int64(), st.LongType()),
    (pa.float32(), st.FloatType()),
    (pa.float64(), st.DoubleType()),
    (pa.string(), st.StringType()),
    (pa.binary(), st.BinaryType()),
    (pa.date32(), st.DateType()),
    (pa.timestamp("us", "UTC"), st.TimestampType()),
    (pa.timestamp("us"), st.TimestampNTZType()),
    (pa.time64("ns"), st.TimeType()),
    (pa.duration("us"), st.DayTimeIntervalType()),
)
"""Pairs of an Arrow type and the Spark type with the same values."""

_ARROW_OF_SPARK = {spark: arrow for arrow, spark in EQUIVALENT}

_LIST_CHECKS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
)


def is_any_list(arrow: pa.DataType) -> bool:
    """True for lists of any layout."""
    return any(check(arrow) for check in _LIST_CHECKS)


def struct_fields(arrow: pa.DataType) -> list[pa.Field]:
    """The fields of a struct type."""
    return [arrow.field(i) for i in range(arrow.num_fields)]


def arrow_schema(spark: st.StructType) -> pa.Schema:
    """The schema of batches for Spark; raises `UnsupportedFeatureError` naming the column."""
    return pa.schema(arrow_field(column) for column in spark)


def arrow_field(field: st.StructField, parents: tuple[str, ...] = ()) -> pa.Field:
    """The Arrow field, without metadata, for a Spark field, which may be a member of ``parents``.

    Raises like `arrow_type`.
    """
    arrow = arrow_type(field.dataType, (*parents, field.name))
    return pa.field(field.name, arrow, field.nullable)


def arrow_type(
    spark: st.DataType,
    path: tuple[str, ...],
    member: Callable[[st.StructField, tuple[str, ...]], pa.Field] = arrow_field,
) -> pa.DataType:
    """The Arrow type for a Spark type, in batches for Spark and in new columns.

    ``member`` returns the field for a member of a struct and the path of that struct. Raises
    `UnsupportedFeatureError` naming the column at ``path``.
    """
    if isinstance(spark, st.StructType):
        return pa.struct(member(field, path) for field in spark)
    if isinstance(spark, st.ArrayType):
        item = arrow_type(spark.elementType, (*path, "element"), member)
        return pa.list_(pa.field("item", item, spark.containsNull))
    if isinstance(spark, st.MapType):
        key = arrow_type(spark.keyType, (*path, "key"), member)
        value = arrow_type(spark.valueType, (*path, "value"), member)
        return pa.map_(key, pa.field("value", value, spark.valueContainsNull))
    if isinstance(spark, st.DecimalType):
        return pa.decimal128(spark.precision, spark.scale)
    if isinstance(spark, st.DayTimeIntervalType):
        return pa.duration("us")
    if isinstance(spark, st.TimeType):
        return pa.time64("ns")
    arrow = _ARROW_OF_SPARK.get(spark)
    if arrow is None:
        raise UnsupportedFeatureError(
            f"column {format_path(path)}: Lance tables have no type for {spark.simpleString()}"
        )
    return arrow
