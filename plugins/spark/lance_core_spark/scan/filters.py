"""Spark's filters as filter expressions of a scan.

An expression is true for every row for which Spark's filter is true. It may be true for more rows:
Spark applies its filter again. Filters without such an expression are left to Spark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as spark

from lance_core.schema import parse_path
from lance_core_spark.types.arrow_types import struct_fields

Comparison = Callable[[pc.Expression, pa.Scalar], pc.Expression]

_COMPARISONS: dict[type[spark.Filter], Comparison] = {
    spark.EqualTo: lambda column, value: column == value,
    spark.EqualNullSafe: lambda column, value: (column == value) & column.is_valid(),
    spark.GreaterThan: lambda column, value: column > value,
    spark.GreaterThanOrEqual: lambda column, value: column >= value,
    spark.LessThan: lambda column, value: column < value,
    spark.LessThanOrEqual: lambda column, value: column <= value,
}
_UPWARDS = (spark.GreaterThan, spark.GreaterThanOrEqual)
_TEXT_SEARCHES = {
    spark.StringStartsWith: pc.starts_with,
    spark.StringEndsWith: pc.ends_with,
    spark.StringContains: pc.match_substring,
}

_COMPARABLE: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_date32,
    pa.types.is_decimal128,
)


def condition(
    filters: Iterable[spark.Filter],
    schema: pa.Schema,
    is_supported: Callable[[pc.Expression], bool] = lambda _: True,
) -> pc.Expression | None:
    """The conjunction of the filters that have a supported expression; None if none has."""
    known = [
        arrow
        for each in filters
        if (arrow := expression(each, schema)) is not None and is_supported(arrow)
    ]
    return reduce(lambda left, right: left & right, known) if known else None


def expression(filter: spark.Filter, schema: pa.Schema) -> pc.Expression | None:
    """The expression of one filter on a table of ``schema``, or None."""
    if isinstance(filter, spark.Not):
        child = filter.child
        if isinstance(child, spark.In) and None in child.value:
            return None  # A comparison with NULL is never true.
        inner = expression(child, schema)
        return None if inner is None else ~inner
    attribute = getattr(filter, "attribute", None)
    if attribute is None:
        return None
    path = _path(attribute, schema)
    arrow = _type_at(path, schema)
    if arrow is None:
        return None
    column = pc.field(*path)
    if isinstance(filter, spark.IsNull):
        return column.is_null()
    if isinstance(filter, spark.IsNotNull):
        return column.is_valid()
    return _with_value(filter, column, arrow)


def _with_value(
    filter: spark.Filter, column: pc.Expression, arrow: pa.DataType
) -> pc.Expression | None:
    value = getattr(filter, "value", None)
    if isinstance(filter, spark.EqualNullSafe) and value is None:
        return column.is_null()
    if isinstance(filter, spark.In):
        return _in(column, arrow, list(filter.value))
    search = _TEXT_SEARCHES.get(type(filter))
    if search is not None:
        is_text = pa.types.is_string(arrow) or pa.types.is_large_string(arrow)
        return search(column, pattern=value) if is_text and isinstance(value, str) else None
    if isinstance(value, float) and math.isnan(value):
        return _against_nan(filter, column, arrow)
    compare = _COMPARISONS.get(type(filter))
    literal = _literal(value, arrow)
    if compare is None or literal is None:
        return None
    comparison = compare(column, literal)
    if pa.types.is_floating(arrow) and isinstance(filter, _UPWARDS):
        return comparison | pc.is_nan(column)  # In Spark, NaN is the greatest value.
    return comparison


def _against_nan(
    filter: spark.Filter, column: pc.Expression, arrow: pa.DataType
) -> pc.Expression | None:
    """A comparison with NaN: in Spark, NaN equals NaN and is greater than all other values."""
    if not (pa.types.is_float32(arrow) or pa.types.is_float64(arrow)):
        return None
    if isinstance(filter, spark.EqualTo | spark.GreaterThanOrEqual):
        return pc.is_nan(column)
    if isinstance(filter, spark.EqualNullSafe):
        return pc.is_nan(column) & column.is_valid()
    return ~pc.is_nan(column) if isinstance(filter, spark.LessThan) else None


def _in(column: pc.Expression, arrow: pa.DataType, values: list[object]) -> pc.Expression | None:
    known = [value for value in values if value is not None]
    numbers = [v for v in known if not (isinstance(v, float) and math.isnan(v))]
    literals = [_literal(value, arrow) for value in numbers]
    if any(literal is None for literal in literals):
        return None
    options = pa.array([literal.as_py() for literal in literals if literal is not None], arrow)
    if pa.types.is_floating(arrow):
        # Arrow's is_in distinguishes 0.0 and -0.0, Spark does not.
        zeros = [0.0, -0.0] if 0.0 in numbers else []
        options = pa.concat_arrays([options, pa.array(zeros, arrow)])
        is_option = column.isin(options)
        return is_option | pc.is_nan(column) if len(numbers) < len(known) else is_option
    return column.isin(options)


def _literal(value: object, arrow: pa.DataType) -> pa.Scalar | None:
    """``value`` as a scalar of the column's type, None if no value of this type equals it."""
    is_timestamp = pa.types.is_timestamp(arrow) and arrow.unit == "us"
    if value is None or not (is_timestamp or any(check(arrow) for check in _COMPARABLE)):
        return None
    if pa.types.is_integer(arrow):
        if isinstance(value, Decimal):  # Spark reads uint64 as decimal
            value = int(value) if value == int(value) else None
        if isinstance(value, bool) or not isinstance(value, int):
            return None
    try:
        return pa.scalar(value, arrow)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _path(attribute: tuple[str, ...], schema: pa.Schema) -> tuple[str, ...]:
    """The path of a Spark column; a column of the scan may be a nested field by its dotted name."""
    if attribute[0] in schema.names:
        return tuple(attribute)
    return (*parse_path(attribute[0]), *attribute[1:])


def _type_at(path: tuple[str, ...], schema: pa.Schema) -> pa.DataType | None:
    fields = list(schema)
    member_type: pa.DataType | None = None
    for name in path:
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return None
        member_type = field.type
        fields = struct_fields(member_type) if pa.types.is_struct(member_type) else []
    return None if isinstance(member_type, pa.BaseExtensionType) else member_type
