"""Lance tables for PySpark. Spark imports `pyspark_lance`; reads and writes need no other import.

To write in other threads than the main one, import this package first.

`read`, `count_rows` and `lance_schema` read tables with arguments instead of options, and
`table_changes` the rows that versions changed.
`aggregate` aggregates a table in the tasks that read it. `create_table` writes a data frame as a
table. `create_index` indexes a column. `compact` and `LanceTable` compact tables. `lookup_join`
joins a data frame with the rows that have its keys, `nearest_join` one of vectors with the nearest
rows. `search` returns the rows that match a text query best. `upsert_batches` upserts the batches
of a stream. `register_table` gives a table a name in Spark's catalog, and `sql` changes it by
statements.
"""

import importlib
from typing import TYPE_CHECKING

import lance_core_spark.thread_sessions  # noqa: F401  # lets data frames be written in any thread

if TYPE_CHECKING:
    from lance_core_spark.catalog.registered import register_table, unregister_table
    from lance_core_spark.catalog.statements import sql
    from lance_core_spark.frames import count_rows, lance_schema, read, table_changes
    from lance_core_spark.source import LanceSource
    from lance_core_spark.stream.upsert import upsert_batches
    from lance_core_spark.table.aggregate import aggregate
    from lance_core_spark.table.compact import compact
    from lance_core_spark.table.create_index import create_index
    from lance_core_spark.table.lance_table import LanceTable
    from lance_core_spark.table.lookup_join import lookup_join
    from lance_core_spark.table.nearest_join import nearest_join
    from lance_core_spark.table.search import search
    from lance_core_spark.write.create_table import create_table

__all__ = [
    "LanceSource",
    "LanceTable",
    "aggregate",
    "compact",
    "count_rows",
    "create_index",
    "create_table",
    "lance_schema",
    "lookup_join",
    "nearest_join",
    "read",
    "register_table",
    "search",
    "sql",
    "table_changes",
    "unregister_table",
    "upsert_batches",
]


def __getattr__(name: str) -> object:
    """Import a public name on first access: Spark's planning processes need few of the modules."""
    modules = {
        "LanceSource": "source",
        "LanceTable": "table.lance_table",
        "aggregate": "table.aggregate",
        "compact": "table.compact",
        "count_rows": "frames",
        "create_index": "table.create_index",
        "create_table": "write.create_table",
        "lance_schema": "frames",
        "lookup_join": "table.lookup_join",
        "nearest_join": "table.nearest_join",
        "read": "frames",
        "register_table": "catalog.registered",
        "search": "table.search",
        "sql": "catalog.statements",
        "table_changes": "frames",
        "unregister_table": "catalog.registered",
        "upsert_batches": "stream.upsert",
    }
    if name not in modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"lance_core_spark.{modules[name]}"), name)


def __dir__() -> list[str]:
    return __all__
