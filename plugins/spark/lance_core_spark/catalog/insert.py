"""INSERT: the rows of a query into a table, cast as Spark casts them to store them."""

from __future__ import annotations

from collections.abc import Sequence

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from lance_core.errors import SchemaMismatchError
from lance_core_spark.table.expressions import assigned, quoted, resolve_paths
from lance_core_spark.table.target import Target, column_types


def insert_by_position(
    target: Target, rows: DataFrame, names: Sequence[str] | None, overwrites: bool
) -> None:
    """Append ``rows``, or replace all rows, by the order of columns.

    ``names``: the columns to insert, by default all; others are null. Raises `SchemaMismatchError`
    for another number of columns, and the errors of `insert_by_name`.
    """
    names = target.table.open().schema.names if names is None else names
    if len(names) != len(rows.columns):
        raise SchemaMismatchError(
            f"INSERT: the query has {len(rows.columns)} columns, and {len(names)} are inserted"
        )
    # Columns of a query may have the same name.
    insert_by_name(target, rows.toDF(*names), overwrites)


def insert_by_name(target: Target, rows: DataFrame, overwrites: bool) -> None:
    """Append ``rows``, or replace all rows, by the names of columns.

    Raises `InvalidInputError` for unknown columns and `SchemaMismatchError` for values that Spark
    does not cast to the type of their column.
    """
    types = column_types(target.table.open().schema)
    paths = resolve_paths(map(quoted, rows.columns), types, None, "INSERT")
    values = {path: sf.col(name) for path, name in paths.items()}
    cast = assigned(rows, values, types, "INSERT")
    writer = rows.select([value.alias(name) for name, value in cast.items()]).write.format("lance")
    writer = writer.options(**target.table.source_options)
    if overwrites:  # The columns that are not inserted stay, and are null.
        writer = writer.option("replace_where", "true")
    writer.mode("overwrite" if overwrites else "append").save(target.table.uri)
