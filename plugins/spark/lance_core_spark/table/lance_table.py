"""`LanceTable`: a table for maintenance with Spark, as ``DeltaTable`` is for tables of Delta."""

from __future__ import annotations

import os
from typing import Unpack

from pyspark.sql import SparkSession

from lance_core.optimize import CompactionMetrics, CompactionOptions
from lance_core.progress import FragmentWriteProgress
from lance_core.store.secret import Secret, hide_secrets
from lance_core_spark.options.option_reader import OptionReader
from lance_core_spark.table.compact import compact
from lance_core_spark.table_ref import TableRef


class LanceTable:
    """A table and the Spark session that works on it; `for_path` makes one."""

    def __init__(self, spark: SparkSession, table: TableRef) -> None:
        self._spark = spark
        self._table = table

    @classmethod
    def for_path(
        cls, spark: SparkSession, uri: str | os.PathLike[str], **options: str | Secret
    ) -> LanceTable:
        """The table at ``uri``; nothing is read yet.

        ``options``: those of the store, named as for ``spark.read``. Raises `InvalidInputError` for
        other options.
        """
        options = hide_secrets(options)
        reader = OptionReader({**options, "path": os.fspath(uri)})
        storage = reader.storage(reader.uri())
        reader.finish()
        return cls(spark, TableRef.of(os.fspath(uri), storage))

    def __repr__(self) -> str:
        return f"LanceTable({self._table})"

    def optimize(
        self,
        *,
        max_attempts: int = 3,
        progress: FragmentWriteProgress | None = None,
        **options: Unpack[CompactionOptions],
    ) -> CompactionMetrics:
        """Merge small fragments and remove deleted rows; see `compact`."""
        return compact(
            self._spark,
            self._table.uri,
            storage_options=self._table.options,
            max_attempts=max_attempts,
            progress=progress,
            **options,
        )
