"""The columns of a join of a data frame with a table: their names, and those of the table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField

from lance_core.errors import ColumnNotFoundError, InvalidInputError
from lance_core.hookspecs.options import shortened
from lance_core_spark.types.spark_types import spark_field


def position_of(frame: DataFrame, column: str) -> int:
    """The position of a column; raises `ColumnNotFoundError` if there is none of this name."""
    if column not in frame.columns:
        raise ColumnNotFoundError(f"the data frame has no column {shortened(column)}")
    return frame.columns.index(column)


def table_fields(
    stored: Iterable[pa.Field], prefix: str, unprefixed: Collection[str] = ()
) -> list[StructField]:
    """The columns of the table in the result: named with ``prefix``, and all may be null.

    Those that are ``unprefixed`` keep their names.
    """
    fields = []
    for field in stored:
        column = spark_field(field)
        name = field.name if field.name in unprefixed else prefix + field.name
        fields.append(StructField(name, column.dataType, nullable=True, metadata=column.metadata))
    return fields


def check_names(frame: DataFrame, right: Sequence[StructField]) -> None:
    """Raise `InvalidInputError` for names that both sides have."""
    same = [field.name for field in right if field.name in frame.columns]
    if same:
        raise InvalidInputError(
            f"both sides have the columns {', '.join(map(shortened, same))}: choose `columns` of "
            "the table, or give them a `prefix`"
        )
