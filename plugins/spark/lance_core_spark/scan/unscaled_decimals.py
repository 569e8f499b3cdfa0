"""Decimals that go to Spark as whole numbers, of which it makes decimals again.

Spark turns each Arrow decimal into a ``BigDecimal``, which takes longer than all else that is done
with it. From a whole number of 64 bits it makes a decimal of up to 18 digits without one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as st

DECIMAL_KEY = "lance.decimal"
"""The key of the decimal type in the metadata of a column of whole numbers."""

MAX_DIGITS = 18
"""The most digits of a decimal that always fits into 64 bits."""


def unscaled_column(column: st.StructField) -> st.StructField:
    """A column of whole numbers for one of decimals; that of long ones stays as it is."""
    type_ = column.dataType
    assert isinstance(type_, st.DecimalType)
    if type_.precision > MAX_DIGITS:
        return column
    metadata = {**column.metadata, DECIMAL_KEY: type_.simpleString()}
    return st.StructField(column.name, st.LongType(), column.nullable, metadata)


def unscaled_columns(columns: Sequence[pa.Array], schema: pa.Schema) -> list[pa.Array]:
    """``columns``, with whole numbers for the decimals that are integers in ``schema``."""
    return [
        _unscaled(column)
        if pa.types.is_decimal(column.type) and pa.types.is_int64(field.type)
        else column
        for column, field in zip(columns, schema, strict=True)
    ]


def _unscaled(values: pa.Array) -> pa.Array:
    """Decimals of at most `MAX_DIGITS` digits without their points, as integers of 64 bits."""
    if not len(values):
        return pa.array([], pa.int64())
    decimals = values.cast(pa.decimal128(values.type.precision, values.type.scale))
    validity, data = decimals.buffers()
    end = decimals.offset + len(decimals)
    # The low word of a decimal of 128 bits is all of it: the high one only repeats its sign.
    words = np.frombuffer(data, np.int64, 2 * end)[::2].copy()
    buffers = [validity, pa.py_buffer(words)]
    return pa.Array.from_buffers(pa.int64(), len(decimals), buffers, offset=decimals.offset)


def can_make_decimals(spark: SparkSession) -> bool:
    """True if the session runs in this process and has the expression that makes decimals."""
    return _make_decimal(spark) is not None


def with_decimals(frame: DataFrame) -> DataFrame:
    """``frame`` with decimals instead of the columns that `unscaled_column` has made."""
    fields = frame.schema.fields
    if not any(DECIMAL_KEY in field.metadata for field in fields):
        return frame
    make = _make_decimal(frame.sparkSession)
    assert make is not None
    from pyspark.sql.functions import col

    def column(field: st.StructField) -> Column:
        values = col("`" + field.name.replace("`", "``") + "`")
        metadata = dict(field.metadata)
        text = metadata.pop(DECIMAL_KEY, None)
        if text is None:
            return values
        type_ = st.DataType.fromDDL(text)
        assert isinstance(type_, st.DecimalType)
        return make(values, type_).alias(field.name, metadata=metadata)

    return frame.select(*map(column, fields))


def _make_decimal(spark: SparkSession) -> Callable[[Column, st.DecimalType], Column] | None:
    """The expression of Spark, which has no name in SQL; None with Spark Connect."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        return None
    from pyspark.sql.classic.column import Column as ClassicColumn

    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
    decimal = jvm.org.apache.spark.sql.catalyst.expressions.MakeDecimal
    if any(type(each).__name__ != "JavaClass" for each in (expressions, decimal)):
        return None  # The names of other versions of Spark are packages.

    def make(values: Column, type_: st.DecimalType) -> Column:
        child = expressions.expression(values._jc)  # noqa: SLF001  # no public way
        made = decimal(child, type_.precision, type_.scale, False)
        return ClassicColumn(expressions.column(made))

    return make
