"""`sql`: statements that change registered tables, which Spark does not have for Python sources."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core_spark.catalog.insert import insert_by_name, insert_by_position
from lance_core_spark.catalog.registered import refresh_table, registered_target
from lance_core_spark.catalog.tokens import Tokens
from lance_core_spark.table.expressions import quoted
from lance_core_spark.table.lance_table import LanceTable
from lance_core_spark.table.merge_builder import LanceMergeBuilder

Item = TypeVar("Item")


def sql(spark: SparkSession, text: str) -> DataFrame:
    """Run a statement of SQL, also one that changes a registered table; see `register_table`.

    These are MERGE INTO, UPDATE, DELETE FROM, INSERT INTO and OVERWRITE, OPTIMIZE, VACUUM, RESTORE,
    DESCRIBE HISTORY and DESCRIBE DETAIL, as Delta has them; a table may also be named by its path,
    as ``lance.`/data/t.lance```. The result says what they did. Their conditions, values and
    queries are SQL of Spark. ``spark.sql`` runs other statements, and those about other tables.

    Raises `InvalidInputError` for malformed statements, and the errors of `LanceTable`.
    """
    tokens = Tokens(text)
    run = next((run for words, run in _STATEMENTS.items() if tokens.accept(*words)), None)
    result = None if run is None else run(spark, tokens)
    return spark.sql(text) if result is None else result


def _merge(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    evolves = tokens.accept("WITH", "SCHEMA", "EVOLUTION")
    tokens.expect("INTO")
    name = tokens.name()
    table = _aliased(spark, name, tokens, "USING")
    if table is None:
        return None
    tokens.expect("USING")
    source = _source(spark, tokens)
    tokens.expect("ON")
    merge = table.merge(source, tokens.until("WHEN"))
    if evolves:
        merge = merge.withSchemaEvolution()
    while not tokens.is_at_end:
        tokens.expect("WHEN")
        merge = _with_clause(merge, tokens)
    counts = merge.execute()
    if evolves:
        refresh_table(spark, name)
    inserted, updated = counts["num_inserted_rows"], counts["num_updated_rows"]
    deleted = counts["num_deleted_rows"]
    return _result(
        spark,
        num_affected_rows=inserted + updated + deleted,
        num_inserted_rows=inserted,
        num_updated_rows=updated,
        num_deleted_rows=deleted,
    )


def _source(spark: SparkSession, tokens: Tokens) -> DataFrame:
    if tokens.accept("("):
        frame, name = spark.sql(tokens.until()), None
        tokens.expect(")")
    else:
        parts = tokens.name()
        frame, name = spark.table(".".join(map(quoted, parts))), parts[-1]
    alias = tokens.alias("ON") or name
    return frame if alias is None else frame.alias(alias)


def _with_clause(merge: LanceMergeBuilder, tokens: Tokens) -> LanceMergeBuilder:
    """``merge`` with the clause whose WHEN has been read."""
    if tokens.accept("MATCHED"):
        rows = "Matched"
    else:
        tokens.expect("NOT", "MATCHED")
        rows = "NotMatchedBySource" if tokens.accept("BY", "SOURCE") else "NotMatched"
        if rows == "NotMatched":
            tokens.accept("BY", "TARGET")
    condition = tokens.until("THEN") if tokens.accept("AND") else None
    tokens.expect("THEN")
    if rows == "NotMatched":
        tokens.expect("INSERT")
        if tokens.accept("*"):
            return merge.whenNotMatchedInsertAll(condition)
        names = [_path(name) for name in _names(tokens)]
        tokens.expect("VALUES")
        values = _in_parentheses(tokens, lambda: tokens.until(","))
        if len(names) != len(values):
            raise InvalidInputError(f"SQL: INSERT has {len(names)} columns, {len(values)} values")
        return merge.whenNotMatchedInsert(condition, dict(zip(names, values, strict=True)))
    of_source = rows == "NotMatchedBySource"
    if tokens.accept("DELETE"):
        delete = merge.whenNotMatchedBySourceDelete if of_source else merge.whenMatchedDelete
        return delete(condition)
    tokens.expect("UPDATE", "SET")
    if not of_source and tokens.accept("*"):
        return merge.whenMatchedUpdateAll(condition)
    update = merge.whenNotMatchedBySourceUpdate if of_source else merge.whenMatchedUpdate
    return update(condition, _assignments(tokens, "WHEN"))


def _update(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    table = _aliased(spark, tokens.name(), tokens, "SET")
    if table is None:
        return None
    tokens.expect("SET")
    values = _assignments(tokens, "WHERE")
    condition = tokens.until() if tokens.accept("WHERE") else None
    tokens.expect_end()
    return _result(spark, num_affected_rows=table.update(condition, values))


def _delete(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    table = _aliased(spark, tokens.name(), tokens, "WHERE")
    if table is None:
        return None
    condition = tokens.until() if tokens.accept("WHERE") else None
    tokens.expect_end()
    return _result(spark, num_affected_rows=table.delete(condition))


def _insert(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    overwrites = tokens.accept("OVERWRITE")
    if not overwrites:
        tokens.expect("INTO")
    tokens.accept("TABLE")
    target = registered_target(spark, tokens.name())
    if target is None:
        return None
    by_name = tokens.accept("BY", "NAME")
    has_names = tokens.is_next("(") and not tokens.is_next("(", "SELECT")
    names = [_path(name) for name in _names(tokens)] if has_names else None
    rows = spark.sql(tokens.until())
    tokens.expect_end()
    if by_name:
        insert_by_name(target, rows, overwrites)
    else:
        insert_by_position(target, rows, names, overwrites)
    return _result(spark)


def _optimize(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    table = _table(spark, tokens.name())
    if table is None:
        return None
    if not tokens.is_at_end:
        raise UnsupportedFeatureError(
            "OPTIMIZE has no conditions and no ZORDER: to find few rows by a column, index it with "
            "LanceTable.createIndex"
        )
    metrics = table.optimize()
    return _result(
        spark,
        num_files_added=metrics.files_added,
        num_files_removed=metrics.files_removed,
        num_fragments_added=metrics.fragments_added,
        num_fragments_removed=metrics.fragments_removed,
    )


def _vacuum(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    table = _table(spark, tokens.name())
    if table is None:
        return None
    hours = tokens.number() if tokens.accept("RETAIN") else None
    if hours is not None:
        tokens.expect("HOURS")
    tokens.expect_end()
    stats = table.vacuum(hours)
    return _result(
        spark, num_versions_removed=stats.old_versions, bytes_removed=stats.bytes_removed
    )


def _restore(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    tokens.accept("TABLE")
    name = tokens.name()
    table = _table(spark, name)
    if table is None:
        return None
    tokens.expect("TO")
    if tokens.accept("VERSION", "AS", "OF"):
        table.restoreToVersion(tokens.number())
    elif tokens.accept("TAG"):
        table.restoreToTag(tokens.string())
    else:
        tokens.expect("TIMESTAMP", "AS", "OF")
        table.restoreToTimestamp(tokens.string())
    tokens.expect_end()
    refresh_table(spark, name)
    return _result(spark)


def _history(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    table = _table(spark, tokens.name())
    if table is None:
        return None
    limit = tokens.number() if tokens.accept("LIMIT") else None
    tokens.expect_end()
    return table.history(limit)


def _detail(spark: SparkSession, tokens: Tokens) -> DataFrame | None:
    table = _table(spark, tokens.name())
    tokens.expect_end()
    return None if table is None else table.detail()


_Run = Callable[[SparkSession, Tokens], DataFrame | None]

_STATEMENTS: dict[tuple[str, ...], _Run] = {
    ("MERGE",): _merge,
    ("UPDATE",): _update,
    ("DELETE", "FROM"): _delete,
    ("INSERT",): _insert,
    ("OPTIMIZE",): _optimize,
    ("VACUUM",): _vacuum,
    ("RESTORE",): _restore,
    ("DESCRIBE", "HISTORY"): _history,
    ("DESC", "HISTORY"): _history,
    ("DESCRIBE", "DETAIL"): _detail,
    ("DESC", "DETAIL"): _detail,
}
"""What runs a statement by its first words; None if it is not about a registered table."""


def _aliased(
    spark: SparkSession, name: tuple[str, ...], tokens: Tokens, keyword: str
) -> LanceTable | None:
    """A registered table under the alias that follows its name, by default its name."""
    alias = tokens.alias(keyword)
    table = _table(spark, name)
    return None if table is None else table.alias(alias or name[-1])


def _table(spark: SparkSession, name: tuple[str, ...]) -> LanceTable | None:
    target = registered_target(spark, name)
    return None if target is None else LanceTable(target)


def _assignments(tokens: Tokens, end: str) -> dict[str, str]:
    values: dict[str, str] = {}
    while True:
        name = _path(tokens.name())
        tokens.expect("=")
        values[name] = tokens.until(",", end)
        if not tokens.accept(","):
            return values


def _names(tokens: Tokens) -> list[tuple[str, ...]]:
    return _in_parentheses(tokens, tokens.name)


def _in_parentheses(tokens: Tokens, read: Callable[[], Item]) -> list[Item]:
    tokens.expect("(")
    items = [read()]
    while tokens.accept(","):
        items.append(read())
    tokens.expect(")")
    return items


def _path(parts: tuple[str, ...]) -> str:
    return ".".join(part if re.fullmatch(r"\w+", part) else quoted(part) for part in parts)


def _result(spark: SparkSession, **counts: int) -> DataFrame:
    """One row with ``counts``, no row without any."""
    schema = st.StructType([st.StructField(name, st.LongType(), False) for name in counts])
    return spark.createDataFrame([tuple(counts.values())] if counts else [], schema)
