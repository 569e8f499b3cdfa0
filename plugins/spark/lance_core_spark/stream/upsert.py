"""Upserts of micro-batches: rows with known keys replace the table's rows, others are inserted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

import lance_core
from lance_core.engines import key_columns
from lance_core.errors import (
    AlreadyCommittedError,
    InvalidInputError,
    MergeError,
    RetryableCommitConflictError,
)
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.options.stream_options import LOOK_BACK
from lance_core_spark.stream.sink import batch_key
from lance_core_spark.table_ref import TableRef
from lance_core_spark.types.convert import convert_batch
from lance_core_spark.write.plan import plan_write

MAX_ATTEMPTS = 10
"""Maximum times that a batch is merged while other writers change the same rows."""


def upsert_batches(
    uri: str | os.PathLike[str],
    on: str | Iterable[str] | None = None,
    *,
    query_id: str,
    storage_options: Mapping[str, str | Secret] | None = None,
    look_back: int = LOOK_BACK,
) -> UpsertBatches:
    """A function for ``foreachBatch`` that upserts each micro-batch into a table exactly once.

    A row of a batch replaces the table's row with the same values in the columns ``on``, by default
    the table's primary key; a row without one is inserted. ``query_id``: a text that only this
    query uses and that it keeps when it restarts from its checkpoint; a query with a new checkpoint
    needs a new one. ``look_back``: number of versions in which a repeated batch is recognised.

    The driver collects the rows of a batch and merges them. Raises `DatasetNotFoundError` if there
    is no table, `InvalidInputError` for keys that it does not have; the function raises the errors
    of `MergeInsertBuilder.execute`, `SchemaMismatchError` for columns that do not fit, and
    `MergeError` for a batch with several rows of one key.
    """
    if not isinstance(query_id, str) or not query_id.strip():
        raise InvalidInputError(f"query_id must be a text that only one query uses: {query_id!r}")
    if not isinstance(look_back, int) or look_back < 1:
        raise InvalidInputError(f"look_back must be a number of at least 1, not {look_back!r}")
    table = TableRef.of(os.fspath(uri), hide_secrets(storage_options or {}))
    keys = None if on is None else (on,) if isinstance(on, str) else tuple(on)
    table.open().merge_insert(keys)  # checks the keys
    return UpsertBatches(table, keys, query_id, look_back)


@dataclass(frozen=True, slots=True)
class UpsertBatches:
    """Upserts micro-batches; see `upsert_batches`."""

    table: TableRef
    on: tuple[str, ...] | None
    query_id: str
    look_back: int

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Upsert the rows of ``batch``, unless the batch is committed already."""
        key = batch_key(self.query_id, batch_id)
        dataset = self.table.open()
        if key.find(dataset, self.look_back):
            return
        rows = self._rows(batch, dataset)
        for attempt in range(MAX_ATTEMPTS):
            merge = dataset.merge_insert(self.on).when_matched_update_all()
            merge.when_not_matched_insert_all()
            merge.transaction_properties(key.properties, key.is_committed)
            try:
                merge.execute(rows)
                return
            except AlreadyCommittedError:
                return
            except RetryableCommitConflictError:
                if attempt == MAX_ATTEMPTS - 1:
                    raise
            # The merge only checks the versions after the one that it is computed from.
            dataset = self.table.open()
            if key.find(dataset, self.look_back):
                return

    def _rows(self, batch: DataFrame, dataset: lance_core.LanceDataset) -> pa.Table:
        """The rows of ``batch`` with the types of the table."""
        storage = {f"storage.{name}": value for name, value in self.table.options.items()}
        options = DataSourceOptions.parse({"path": self.table.uri, **storage})
        schema = plan_write(options, batch.schema, False, dataset).schema
        rows = pa.Table.from_batches(
            [
                convert_batch(part.columns, schema, part.num_rows)
                for part in batch.toArrow().to_batches()
            ],
            schema,
        )
        names = key_columns(dataset, self.on)
        if set(names) <= set(rows.column_names):  # Otherwise the merge raises an error.
            _check_keys(rows, names)
        return rows


def _check_keys(rows: pa.Table, names: Sequence[str]) -> None:
    """Raise `MergeError` if several rows have one key; a key with a null matches no row."""
    keys = rows.select(names).drop_null()
    counted = keys.group_by(names).aggregate([([], "count_all")])
    repeated = counted.filter(pc.greater(counted["count_all"], 1))
    if repeated.num_rows:
        example = {name: repeated[name][0].as_py() for name in names}
        raise MergeError(
            f"the batch has several rows with the key {str(example)[:300]}, and "
            f"{repeated.num_rows} such keys: keep one row of each key before the upsert"
        )
