"""Join a data frame with the rows of a table that have its keys, which tasks look up.

So a few keys read a few rows of a large table, where a join of Spark reads the whole table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

import lance_core
from lance_core.engines import as_filter
from lance_core.errors import ColumnNotFoundError, InvalidInputError, InvalidTypeError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.options import Secret, hide_secrets, hint, shortened
from lance_core_spark.brief_errors import brief_rows
from lance_core_spark.table.joined_columns import check_names, position_of, table_fields
from lance_core_spark.table.numbered_columns import numbered, numbered_type, renamed
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.arrow_types import arrow_schema
from lance_core_spark.types.convert import convert_batch, split_batch
from lance_core_spark.types.spark_types import spark_field

MAX_ROWS = 1 << 17
MAX_BYTES = 64 << 20
"""Rows of the data frame, and their bytes, whose keys are looked up at once: without an index each
lookup reads the keys of the table."""

JOINS = ("inner", "left", "semi", "anti")

_KEY_TYPES = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_date32,
    pa.types.is_decimal128,
    lambda type_: pa.types.is_timestamp(type_) and type_.unit != "ns",
)
"""Types whose equal values Spark and Arrow agree on, and of which Spark has every value."""


def lookup_join(  # noqa: PLR0913 (those of the two sides of a join)
    frame: DataFrame,
    uri: str | os.PathLike[str],
    on: str,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    how: str = "inner",
    prefix: str = "",
    filter: str | None = None,
    version: int | None = None,
    storage_options: Mapping[str, str | Secret] | None = None,
) -> DataFrame:
    """The rows of ``frame`` with the rows of a table that have the same key.

    ``on`` has the keys of ``frame``, and ``key`` (by default of the same name) those of the table.
    ``columns``: those of the table, by default all but ``key``; in the result, their names begin
    with ``prefix``. ``how``: ``inner``, ``left`` (rows of ``frame`` without a match have nulls),
    ``semi`` (rows of ``frame`` with a match) or ``anti`` (those without one); the last two return
    no columns of the table. A null key has no match. ``filter``: SQL of lance-core; only rows of
    the table that satisfy it match. ``version``: by default the newest.

    Each task looks up the keys of its rows, many at once: in a scalar index of ``key``, if the
    table has one; without one it reads the keys of the table, and other columns where they match.

    Raises `ColumnNotFoundError`, `InvalidTypeError` for keys of different types, or of a type that
    is not exact (such as floating-point numbers), and `InvalidInputError` for other names of joins
    and equal names.
    """
    storage_options = hide_secrets(storage_options)
    if how not in JOINS:
        raise InvalidInputError(f"how must be one of {', '.join(JOINS)}, not {how!r}")
    table = TableRef.of(os.fspath(uri), storage_options or {})
    dataset = table.open(version)
    key = on if key is None else key
    position = position_of(frame, on)
    keys = _key_type(frame, on, dataset, key)
    if how not in ("inner", "left"):
        columns = []
    elif columns is None:
        columns = [name for name in dataset.schema.names if name != key]
    stored = dataset.scanner([*columns], filter=filter).projected_schema  # Checks both.
    right = table_fields(stored, prefix)
    check_names(frame, right)
    fields = [*frame.schema, *right]
    returned = numbered_type(fields)
    task = LookupTask(
        table,
        TableVersion.of(dataset),
        how,
        position,
        key,
        keys,
        tuple(stored.names),
        arrow_schema(returned),
        filter,
    )
    return renamed(frame.select(numbered(frame.columns)).mapInArrow(task, returned), fields)


def _key_type(frame: DataFrame, on: str, dataset: lance_core.LanceDataset, key: str) -> pa.DataType:
    """The stored type of the keys."""
    names = dataset.schema.names
    if key not in names:
        raise ColumnNotFoundError(f"the table has no column {shortened(key)}{hint(key, names)}")
    field = dataset.schema.field(key)
    if not any(check(field.type) for check in _KEY_TYPES):
        raise InvalidTypeError(f"column {shortened(key)} has {field.type}, which cannot be a key")
    ours, theirs = spark_field(field).dataType, frame.schema[on].dataType
    if ours != theirs:
        raise InvalidTypeError(
            f"the keys of the data frame are {theirs.simpleString()}, those of the table "
            f"{ours.simpleString()}: cast the column {shortened(on)}"
        )
    return field.type


@dataclass(frozen=True, slots=True)
class LookupTask:
    """The function of a task. Its rows are those of the data frame.

    Their keys are column ``position``, of the type ``keys`` in the table; ``columns`` are those of
    the table that are returned. ``filter`` is applied to the rows that have the keys.
    """

    table: TableRef
    version: TableVersion
    how: str
    position: int
    key: str
    keys: pa.DataType
    columns: tuple[str, ...]
    schema: pa.Schema
    filter: str | None = None

    @brief_rows
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads_to_task()
        for rows in _gathered(batches):
            for start in range(0, rows.num_rows, MAX_ROWS):
                yield from self._joined(rows.slice(start, MAX_ROWS))

    def _joined(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        values = stored_keys(rows.column(self.position), self.keys)
        matches = self._matches(values.drop_null().unique())
        left, right = _pairs(values, matches[self.key])
        has_match = np.zeros(rows.num_rows, np.bool_)
        has_match[left] = True
        if self.how == "left":
            lonely = np.flatnonzero(~has_match)
            left = np.concatenate([left, lonely])
            right = pa.concat_arrays([right, pa.nulls(len(lonely), pa.int64())])
        elif self.how != "inner":
            left = np.flatnonzero(has_match if self.how == "semi" else ~has_match)
        columns = [
            *rows.take(pa.array(left)).columns,
            *(matches[name].combine_chunks().take(right) for name in self.columns),
        ]
        yield from split_batch(convert_batch(columns, self.schema, len(left)))

    def _matches(self, keys: pa.Array) -> pa.Table:
        """The rows of the table that have one of ``keys`` and satisfy the filter."""
        dataset = open_version(self.table, self.version)
        names = [self.key, *self.columns]
        condition = None if self.filter is None else as_filter(self.filter, dataset.schema)
        if condition is not None:
            names += [path[0] for path in condition.columns]
        matches = dataset.to_table(list(dict.fromkeys(names)), filter=pc.field(self.key).isin(keys))
        return matches if condition is None else matches.filter(pa.array(condition.mask(matches)))


def stored_keys(keys: pa.Array, stored: pa.DataType) -> pa.Array:
    """Keys of Spark in the type of the table; null, which has no match, for those outside of it."""
    cast = keys.cast(stored, safe=False)
    is_same = pc.equal(cast.cast(keys.type, safe=False), keys)
    return pc.if_else(is_same, cast, pa.scalar(None, stored))


def _pairs(left: pa.Array, right: pa.ChunkedArray) -> tuple[np.ndarray[Any, Any], pa.Array]:
    """The positions of equal keys on both sides, by position on the left; nulls equal nothing."""
    sides = [
        pa.table({"key": keys, side: from_numpy(np.arange(len(keys)))})
        for side, keys in (("left", left), ("right", right))
    ]
    pairs = sides[0].join(sides[1], "key", join_type="inner", use_threads=False)
    pairs = pairs.sort_by([("left", "ascending"), ("right", "ascending")])
    return pairs["left"].to_numpy(), pairs["right"].combine_chunks()


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``batches`` in larger ones, of up to about `MAX_ROWS` rows and `MAX_BYTES`."""
    parts: list[pa.RecordBatch] = []
    for batch in batches:
        parts.append(batch)
        is_full = sum(part.num_rows for part in parts) >= MAX_ROWS
        if is_full or sum(part.nbytes for part in parts) >= MAX_BYTES:
            yield pa.concat_batches(parts)
            parts = []
    if parts:
        yield pa.concat_batches(parts)
