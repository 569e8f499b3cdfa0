"""Join a data frame of vectors with the nearest rows of a table: tasks search it in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

import lance_core
from lance_core.errors import ColumnNotFoundError, InvalidTypeError
from lance_core.hookspecs.options import Secret, hide_secrets, shortened
from lance_core_spark.brief_errors import brief_rows
from lance_core_spark.table.joined_columns import check_names, position_of, table_fields
from lance_core_spark.table.numbered_columns import numbered, numbered_type, renamed
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.arrow_types import arrow_schema
from lance_core_spark.types.convert import convert, convert_batch, split_batch

MAX_QUERIES = 1000
"""Vectors that are searched at once: their distances from a block of rows stay in memory."""

DISTANCE = "_distance"
QUERY_INDEX = "query_index"


def nearest_join(  # noqa: PLR0913 (those of a search, and of the two sides of a join)
    left: DataFrame,
    uri: str | os.PathLike[str],
    column: str,
    k: int = 10,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    prefix: str = "",
    filter: str | None = None,
    version: int | None = None,
    storage_options: Mapping[str, str | Secret] | None = None,
    **nearest: Any,
) -> DataFrame:
    """Each row of ``left`` with the ``k`` nearest rows of a table, nearest first.

    ``column`` has the vectors of the table, and ``on`` (by default of the same name) those of
    ``left``: arrays of numbers of the same length. ``columns``: those of the table, by default all
    but ``column``; in the result, their names begin with ``prefix``, and ``_distance`` follows
    them. Rows of ``left`` with a null there, or a null or NaN within, are left out. ``filter``: SQL
    of lance-core about rows of the table; it is applied before they are ranked. ``version``: by
    default the newest. ``nearest``: options of searches, such as ``metric``, ``nprobes`` and
    ``refine_factor``, see `LanceDataset.scanner`.

    Each task of ``left`` searches the whole table for its rows, by an index if it has one; without
    an index it reads all vectors once for each thousand rows.

    Raises `ColumnNotFoundError`, `InvalidTypeError` for columns without vectors,
    `InvalidInputError` for equal names and wrong options, and `PluginNotFoundError` without the
    extra ``vector``.
    """
    storage_options = hide_secrets(storage_options)
    table = TableRef.of(os.fspath(uri), storage_options or {})
    dataset = table.open(version)
    options = {**nearest, "column": column, "k": k}
    vectors = _vectors(dataset, column)
    chosen = [name for name in dataset.schema.names if name != column]
    chosen = chosen if columns is None else list(columns)
    # Checks the options, and that there is the plugin.
    query = np.ones((1, vectors.list_size), np.uint8 if _is_bytes(vectors) else np.float32)
    scanner = dataset.scanner(chosen, filter=filter, nearest={**options, "q": query})
    stored = [field for field in scanner.projected_schema if field.name != QUERY_INDEX]
    right = table_fields(stored, prefix, unprefixed=(DISTANCE,))
    position = position_of(left, column if on is None else on)
    check_names(left, right)
    fields = [*left.schema, *right]
    returned = numbered_type(fields)
    task = NearestTask(
        table,
        TableVersion.of(dataset),
        options,
        filter,
        vectors,
        position,
        tuple(chosen),
        tuple(field.name for field in stored),
        arrow_schema(returned),
    )
    joined = left.select(numbered(left.columns)).mapInArrow(task, returned)
    return renamed(joined, fields)


def _vectors(dataset: lance_core.LanceDataset, column: str) -> pa.DataType:
    """The type of the vectors of ``column`` as queries have it.

    Raises `ColumnNotFoundError`, and `InvalidTypeError` unless it has one vector a row.
    """
    if column not in dataset.schema.names:
        raise ColumnNotFoundError(f"the table has no column {shortened(column)}")
    type_ = dataset.schema.field(column).type
    if isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    item = type_.value_type if pa.types.is_fixed_size_list(type_) else pa.null()
    if not pa.types.is_floating(item) and item != pa.uint8():
        raise InvalidTypeError(f"column {shortened(column)} has no vectors but {type_}")
    # Queries of float16 vectors keep the numbers that they have.
    return pa.list_(pa.float32() if item == pa.float16() else item, type_.list_size)


def _is_bytes(vectors: pa.DataType) -> bool:
    return bool(vectors.value_type == pa.uint8())


@dataclass(frozen=True, slots=True)
class NearestTask:
    """The function of a task. Its rows are those of the left side.

    ``vectors``: the type of queries, which are column ``position`` of the rows. ``columns`` are
    read, and ``returned`` are their names in the result of a search, with the distance.
    """

    table: TableRef
    version: TableVersion
    options: dict[str, Any]
    filter: str | None
    vectors: pa.DataType
    position: int
    columns: tuple[str, ...]
    returned: tuple[str, ...]
    schema: pa.Schema

    @brief_rows
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads_to_task()
        for batch in batches:
            for start in range(0, batch.num_rows, MAX_QUERIES):
                yield from self._joined(batch.slice(start, MAX_QUERIES))

    def _joined(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        rows, queries = self._queries(batch)
        if not len(rows):
            return
        dataset = open_version(self.table, self.version)
        near = dataset.to_table(
            list(self.columns), filter=self.filter, nearest={**self.options, "q": queries}
        )
        owners = pa.array(rows).take(near[QUERY_INDEX].combine_chunks())
        columns = [
            *batch.take(owners).columns,
            *(near[name].combine_chunks() for name in self.returned),
        ]
        yield from split_batch(convert_batch(columns, self.schema, near.num_rows))

    def _queries(self, batch: pa.RecordBatch) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The numbers of the rows with a vector, and these vectors."""
        vectors = batch.column(self.position)
        width = self.vectors.list_size
        flat = convert(vectors.drop_null(), self.vectors, ("on",)).flatten()
        is_whole = flat.is_valid().to_numpy(zero_copy_only=False).reshape(-1, width).all(axis=1)
        numbers = flat.fill_null(0).to_numpy(zero_copy_only=False).reshape(-1, width)
        if numbers.dtype.kind == "f":
            is_whole &= np.isfinite(numbers).all(axis=1)
        rows = np.flatnonzero(vectors.is_valid().to_numpy(zero_copy_only=False))
        return rows[is_whole], numbers[is_whole]
