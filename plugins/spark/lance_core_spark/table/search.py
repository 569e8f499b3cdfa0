"""Search the texts of a table: a task ranks its rows, and returns the best ones."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core_spark.brief_errors import brief_rows
from lance_core_spark.table.numbered_columns import numbered_type, renamed
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.arrow_types import arrow_schema
from lance_core_spark.types.convert import convert_batch, split_batch
from lance_core_spark.types.spark_types import spark_field

SCORE = "_score"


def search(  # noqa: PLR0913 (those of a search)
    spark: SparkSession,
    uri: str | os.PathLike[str],
    query: Any,
    k: int | None = 10,
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    version: int | None = None,
    storage_options: Mapping[str, str | Secret] | None = None,
) -> DataFrame:
    """The ``k`` rows of a table that match a text query best, best first, with their ``_score``.

    ``query``: a text, which is searched in all columns with a text index, or one of the queries of
    `lance_core.query`. ``k``: None for all rows that match. ``columns``: by default all.
    ``filter``: SQL of lance-core, which chooses rows before they are ranked. ``version``: by
    default the newest.

    One task searches the table, since scores depend on all of its rows; the data frame has one
    partition. Raises `InvalidInputError` for wrong arguments, and `PluginNotFoundError` without the
    extra ``text``.
    """
    storage_options = hide_secrets(storage_options)
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise InvalidInputError(f"k must be a whole number from 1 on, or None, not {k!r}")
    table = TableRef.of(os.fspath(uri), storage_options or {})
    dataset = table.open(version)
    chosen = None if columns is None else [name for name in columns if name != SCORE]
    # Checks the query, and that there is the plugin.
    scanner = dataset.scanner(chosen, filter=filter, full_text_query=query, limit=k)
    stored = list(scanner.projected_schema)
    fields = [spark_field(field) for field in stored]
    returned = numbered_type(fields)
    task = SearchTask(
        table,
        TableVersion.of(dataset),
        query,
        k,
        filter,
        tuple(field.name for field in stored if field.name != SCORE),
        tuple(field.name for field in stored),
        arrow_schema(returned),
    )
    return renamed(spark.range(0, 1, 1, 1).mapInArrow(task, returned), fields)


@dataclass(frozen=True, slots=True)
class SearchTask:
    """The function of the task, which gets one row.

    ``columns`` are read, and ``returned`` are the names of the result in order.
    """

    table: TableRef
    version: TableVersion
    query: Any
    k: int | None
    filter: str | None
    columns: tuple[str, ...]
    returned: tuple[str, ...]
    schema: pa.Schema

    @brief_rows
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads_to_task()
        for _ in batches:
            dataset = open_version(self.table, self.version)
            answer = dataset.to_table(
                list(self.columns), filter=self.filter, full_text_query=self.query, limit=self.k
            )
            columns = [answer[name].combine_chunks() for name in self.returned]
            yield from split_batch(convert_batch(columns, self.schema, answer.num_rows))
