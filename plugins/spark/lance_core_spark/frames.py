"""Data frames of tables, for programs: what ``spark.read`` does with options, as arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from lance_core.errors import InvalidTypeError
from lance_core.hookspecs.options import Secret, hide_secrets, plain
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.scan.broadcast import max_broadcast_bytes
from lance_core_spark.scan.unscaled_decimals import can_make_decimals, with_decimals
from lance_core_spark.source import LanceSource


def read(  # noqa: PLR0913 (what is read, of which version, and how)
    spark: SparkSession,
    uri: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    limit: int | None = None,
    version: int | None = None,
    broadcast: bool = False,
    **options: object,
) -> DataFrame:
    """The rows of a table as a data frame, which reads only what is selected here.

    ``columns``: names of columns and meta columns, nested ones by path (``"s.x"``); None means all
    columns, no names mean rows without columns. ``filter``: SQL of lance-core; if the table has
    indices for it, tasks read only the rows that these find. ``limit`` counts rows that match it.
    ``version``: a number. ``broadcast``: in joins Spark sends a copy of the rows to each executor,
    if the estimated bytes of these columns of the whole table are within its setting
    ``spark.sql.autoBroadcastJoinThreshold``; Spark does not know the size by itself. ``options``:
    those of ``spark.read``, such as ``tag="best"``, ``asof=datetime(2026, 1, 1)`` and
    ``with_row_id=True``, and those of the store.

    Raises `InvalidInputError` for a misspelt or malformed option and `UnsupportedFeatureError`;
    errors of the table, such as a column that it does not have, are raised by Spark.
    """
    texts = option_texts(columns, options)
    texts |= _texts({"filter": filter, "limit": limit, "version": version})
    parsed = _parsed(uri, texts)
    # Spark cannot push down filters of decimals that it makes.
    makes_decimals = not parsed.read.push_filters and not parsed.stream.reads_change_feed
    if makes_decimals and can_make_decimals(spark):
        frame = with_decimals(_frame(spark, uri, {**texts, "unscaled_decimals": "true"}))
    else:
        frame = _frame(spark, uri, texts)
    if broadcast:
        size = LanceSource({**texts, "path": os.fspath(uri)}).estimated_bytes()
        return frame.hint("broadcast") if size <= max_broadcast_bytes(spark) else frame
    return frame


def count_rows(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    filter: str | None = None,
    **options: object,
) -> int:
    """The number of rows, of those that match ``filter`` if it is given.

    Without ``filter`` it is read from the manifest, by this process. Otherwise tasks read the
    columns of the filter, unless indices answer it, and Spark gets one number from each.
    ``options``: those of `read`, except ``columns``. Raises `DatasetNotFoundError` and the errors
    of `read`.
    """
    texts = option_texts(None, options)
    if filter is None and not texts.keys() & {"filter", "limit", "fragments"}:
        return LanceSource({**texts, "path": os.fspath(uri)}).count_rows()
    texts |= _texts({"filter": filter, "count_only": True})
    return sum(row["count"] for row in _frame(spark, uri, texts).collect())


def table_changes(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    start: int | str | datetime,
    end: int | str | datetime | None = None,
    *,
    columns: Sequence[str] | None = None,
    **options: object,
) -> DataFrame:
    """The rows that versions inserted, deleted and updated, as a data frame.

    ``start``: the first version, a number or a time; ``end``: the last one, by default the newest.
    Besides the columns of the table there are ``_change_type`` (``insert``, ``delete``,
    ``update_preimage``, ``update_postimage``) and ``_commit_version``. ``columns`` and ``options``:
    those of `read`. The table needs stable row ids.

    Raises the errors of `read`; those of versions that do not exist are raised by Spark.
    """
    texts = option_texts(columns, options)
    texts |= _texts(
        {"read_change_feed": True, **_bound("starting", start), **_bound("ending", end)}
    )
    return _frame(spark, uri, texts)


def lance_schema(
    uri: str | os.PathLike[str], columns: Sequence[str] | None = None, **options: object
) -> StructType:
    """The schema of a table in Spark's types, of ``columns`` only if they are given.

    It suits ``spark.read.format("lance").schema(...)``, which then reads these columns only.
    ``options``: those of `read`. Raises `DatasetNotFoundError`, `InvalidInputError` for a column
    that the table does not have, and the errors of `read`.
    """
    return LanceSource({**option_texts(columns, options), "path": os.fspath(uri)}).schema()


def _frame(
    spark: SparkSession, uri: str | os.PathLike[str], texts: dict[str, str | Secret]
) -> DataFrame:
    _parsed(uri, texts)
    options = {name: plain(text) for name, text in texts.items()}
    return spark.read.format("lance").options(**options).load(os.fspath(uri))


def _parsed(uri: str | os.PathLike[str], texts: dict[str, str | Secret]) -> DataSourceOptions:
    """The options; raises their errors here, not in a process of Spark."""
    return DataSourceOptions.parse({**texts, "path": os.fspath(uri)})


def option_texts(
    columns: Sequence[str] | None, options: dict[str, object]
) -> dict[str, str | Secret]:
    """The arguments of `read` as texts of options.

    ``options`` are removed from their dict: frames of errors show no secret.
    """
    texts = _texts(options)
    options.clear()
    return {**texts, **_columns(columns)}


def _texts(arguments: Mapping[str, object]) -> dict[str, str | Secret]:
    """Arguments as texts of options; those that are None are left out."""
    return hide_secrets({k: _text(value) for k, value in arguments.items() if value is not None})


def _text(value: object) -> str | Secret:
    if isinstance(value, Secret):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _bound(which: str, at: int | str | datetime | None) -> dict[str, object]:
    """The option for a version or a time; none without it."""
    if at is None:
        return {}
    return {f"{which}_{'version' if isinstance(at, int) else 'timestamp'}": at}


def _columns(columns: Sequence[str] | None) -> dict[str, str]:
    if columns is None:
        return {}
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise InvalidTypeError(f"columns are a sequence of names, not {columns!r}")
    quoted = (f"`{name}`" if "," in name and "`" not in name else name for name in columns)
    return {"columns": ", ".join(quoted)}
