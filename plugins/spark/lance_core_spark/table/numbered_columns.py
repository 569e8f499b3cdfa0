"""Columns of tasks under numbers: PySpark's ``mapInArrow`` fails for some characters in names."""

from __future__ import annotations

from collections.abc import Sequence

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructField, StructType

from lance_core_spark.table.expressions import quoted


def numbered(names: Sequence[str]) -> list[Column]:
    """The columns with these names, as ``_0``, ``_1`` and so on."""
    return [sf.col(quoted(name)).alias(f"_{number}") for number, name in enumerate(names)]


def numbered_type(fields: Sequence[StructField]) -> StructType:
    """The type of rows of a task that returns ``fields`` as ``_0``, ``_1`` and so on."""
    return StructType(
        [
            StructField(f"_{number}", field.dataType, field.nullable)
            for number, field in enumerate(fields)
        ]
    )


def renamed(frame: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    """``frame``, whose columns are numbered, with the names and the metadata of ``fields``."""
    return frame.select(
        [
            sf.col(f"_{number}").alias(field.name, metadata=field.metadata or {})
            for number, field in enumerate(fields)
        ]
    )
