"""Tables in Spark's catalog: a view, and a table without content that the view reads through.

Spark (4.3) keeps the columns of a catalog table with a Python data source, and passes no path to
it, but it passes the options of ``stub WITH (path = …)``. So a view with such options reads a
table, and its properties say which.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret
from lance_core_spark.catalog.tokens import Tokens
from lance_core_spark.frames import option_texts
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.source import LanceSource
from lance_core_spark.table.expressions import quoted
from lance_core_spark.table.target import Target
from lance_core_spark.table_ref import TableRef

STUB = "__lance"
"""The end of the name of the table that a view reads through."""

URI, OPTIONS = "lance.uri", "lance.options"
"""The properties of a view: the table, and the options of its reads as JSON."""


def register_table(
    spark: SparkSession,
    name: str,
    uri: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    **options: object,
) -> None:
    """Give a table a name in Spark's catalog, or register it again with its present columns.

    ``name``: such as ``db.events``. ``columns`` and ``options``: those of `read`, which are kept in
    the catalog; with ``version`` or ``tag`` the name stands for this version, otherwise for the
    newest one. Queries of `sql` and of ``spark.sql`` then read the table by its name, and
    statements of `sql` change it. The catalog gets a view of this name, and a table named
    ``<name>__lance``.

    A query reads the columns that the table had when it was registered: `sql` registers it again
    after statements that change them.

    Raises `DatasetNotFoundError` without a table, `InvalidInputError` for a malformed name, for a
    name of something else, and for secrets: every user of the catalog can read them.
    """
    parts = _parts(name)
    path = TableRef.of(os.fspath(uri), {}).uri
    texts = {}
    for key, value in option_texts(columns, options).items():
        if isinstance(value, Secret):
            raise InvalidInputError(f"the catalog keeps no secrets: leave out the option {key!r}")
        texts[key] = value
    schema = _schema(path, texts)
    if _properties(spark, parts) is None and spark.catalog.tableExists(_sql(parts)):
        raise InvalidInputError(
            f"the catalog has another table or view {_sql(parts)}: drop it first"
        )
    _register(spark, parts, path, texts, schema)


def _schema(path: str, texts: dict[str, str]) -> StructType:
    """The present columns of the table at ``path`` that are read with the options ``texts``."""
    return LanceSource({**texts, "path": path}).schema()


def _register(
    spark: SparkSession, parts: Sequence[str], path: str, texts: dict[str, str], schema: StructType
) -> None:
    """Register the table at ``path`` with the options ``texts`` of its reads, and its columns."""
    stub = _stub(parts)
    spark.sql(f"DROP TABLE IF EXISTS {_sql(stub)}").collect()
    spark.catalog.createTable(_sql(stub), source="lance", schema=schema)
    properties = _pairs({URI: path, OPTIONS: json.dumps(texts)})
    view, options = _sql(parts), _pairs({**texts, "path": path})
    query = f"SELECT * FROM {_sql(stub)} WITH ({options})"  # noqa: S608 (quoted)
    spark.sql(f"CREATE OR REPLACE VIEW {view} TBLPROPERTIES ({properties}) AS {query}").collect()


def unregister_table(spark: SparkSession, name: str) -> None:
    """Remove a name from Spark's catalog; the table stays.

    Raises `InvalidInputError` for a name that `register_table` has not given.
    """
    parts = _parts(name)
    if _properties(spark, parts) is None:
        raise InvalidInputError(f"the catalog has no registered table {name!r}")
    spark.sql(f"DROP VIEW {_sql(parts)}").collect()
    spark.sql(f"DROP TABLE IF EXISTS {_sql(_stub(parts))}").collect()


def refresh_table(spark: SparkSession, parts: Sequence[str]) -> None:
    """Register a table again if it is registered, with its present columns."""
    properties = _properties(spark, parts)
    if properties is not None:
        path, texts = properties[URI], json.loads(properties[OPTIONS])
        _register(spark, parts, path, texts, _schema(path, texts))


def registered_target(spark: SparkSession, parts: Sequence[str]) -> Target | None:
    """The registered table of a name, or of ``lance.`path```; None for other tables.

    Raises `InvalidInputError` for a name of an older version: it cannot be changed.
    """
    if len(parts) == 2 and parts[0].lower() == "lance":
        return Target(spark, TableRef.of(parts[1], {}))
    properties = _properties(spark, parts)
    if properties is None:
        return None
    uri, texts = properties[URI], json.loads(properties[OPTIONS])
    options = DataSourceOptions.parse({**texts, "path": uri})
    read = options.read
    if (read.version, read.asof, read.tag, read.branch) != (None, None, None, None):
        raise InvalidInputError(f"{_sql(parts)} is a version of {uri}, which cannot be changed")
    return Target(spark, options.table)


def _properties(spark: SparkSession, parts: Sequence[str]) -> dict[str, str] | None:
    """The properties of the view of a registered table; None for other names."""
    if not spark.catalog.tableExists(_sql(parts)):
        return None
    try:
        rows = spark.sql(f"SHOW TBLPROPERTIES {_sql(parts)}").collect()
    except AnalysisException:  # of a table whose data source is not installed
        return None
    properties = {row["key"]: row["value"] for row in rows}
    return properties if URI in properties else None


def _parts(name: str) -> tuple[str, ...]:
    tokens = Tokens(name)
    parts = tokens.name()
    tokens.expect_end()
    return parts


def _stub(parts: Sequence[str]) -> tuple[str, ...]:
    return (*parts[:-1], parts[-1] + STUB)


def _sql(parts: Sequence[str]) -> str:
    return ".".join(map(quoted, parts))


def _pairs(texts: dict[str, str]) -> str:
    return ", ".join(f"{_literal(name)} = {_literal(text)}" for name, text in texts.items())


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
