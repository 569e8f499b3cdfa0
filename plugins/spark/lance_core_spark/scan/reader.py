"""The reader of a table: the driver plans its partitions, tasks read them.

The scan applies Spark's filters only if the option ``pushDownFilters`` is set. Spark (4.3) has one
reader for each loaded data frame, and the reader keeps the last filters that Spark pushed:
``f.where(a).union(f.where(b))`` would read the rows of ``b`` twice, and a later ``f.count()`` would
count only those. Only the user knows if a data frame is used with a single condition.

If the table has indices, the driver searches those for the filter of the scan; tasks read only the
rows that it finds, and search no index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

import lance_core
from lance_core.errors import InvalidInputError
from lance_core.hookspecs.concurrency import num_processors
from lance_core_spark.brief_errors import brief, brief_rows
from lance_core_spark.options.read_options import LanceReadOptions
from lance_core_spark.scan import partitions as planning
from lance_core_spark.scan.row_bytes import row_bytes
from lance_core_spark.scan.schema import FRAGMENT_ID, ROW_ADDRESS, check_schema
from lance_core_spark.scan.unscaled_decimals import unscaled_columns
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.arrow_types import arrow_schema
from lance_core_spark.types.convert import convert_batch, split_batch

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from lance_core.dataset import LanceScanner, ScanSplit

COUNT_SCHEMA = StructType().add("count", "long", False)


class _PushFilters:
    """A callable object that receives Spark's filters instead of a method.

    While push-down is switched off, which is the default, Spark refuses a class that overrides
    ``pushFilters``. It detects an override by the method's ``__func__``, which this object lacks.
    """

    def __init__(self, push: Callable[[list[Filter]], None]) -> None:
        self._push = push
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters: list[Filter]) -> list[Filter]:
        self._push(filters)
        return filters  # Return all filters, so that Spark checks the rows again.


class LanceReader(DataSourceReader):
    """Reads the columns of ``schema`` from one version of a table. Raises `InvalidInputError`."""

    def __init__(
        self, table: TableRef, version: TableVersion, schema: StructType, options: LanceReadOptions
    ) -> None:
        self._table = table
        self._version = version
        self._options = options
        self._pushed: pc.Expression | None = None
        check_schema(schema, self._dataset(), options)
        self._schema = arrow_schema(schema)
        self._batch_rows = options.batch_size or planning.MAX_BATCH_ROWS

    @property
    def pushFilters(self) -> _PushFilters:  # noqa: N802
        """The callable that Spark passes its filters to; see `_PushFilters`."""
        return _PushFilters(self._receive)

    def _receive(self, filters: list[Filter]) -> None:
        """Add the filters to the scan if the options allow it.

        They are not added if there is a limit, which counts rows before Spark's filters, or a
        filter in the options, which is SQL text and cannot be combined with an expression.
        """
        options = self._options
        if not options.push_filters or options.limit is not None or options.filter is not None:
            return
        from lance_core_spark.scan.filters import condition  # Imports all functions of Arrow.

        dataset = self._dataset()
        pushed = condition(filters, dataset.schema, partial(_is_supported, dataset))
        if pushed is not None:
            self._pushed = pushed if self._pushed is None else self._pushed & pushed

    @property
    def batch_rows(self) -> int:
        """The maximum rows of a batch, which `partitions` computes from the size of rows."""
        return self._batch_rows

    @brief
    def partitions(self) -> list[InputPartition]:
        splits = self._splits()
        if splits is None:
            return list(self._cut(self._fragments()))
        return [partition.of(splits) for partition in self._cut(self._sizes(splits))]

    def _cut(self, fragments: list[planning.FragmentSize]) -> list[planning.LancePartition]:
        if self._options.batch_size is None:
            self._batch_rows = planning.batch_rows(fragments, self._filter is not None)
        if self._options.limit is not None:
            return planning.equal_partitions(fragments, 1)  # One task stops at the limit.
        if self._options.rows_per_partition is not None:
            return planning.small_partitions(fragments, self._options.rows_per_partition)
        min_count = self._options.min_partitions
        count = planning.partition_count(fragments, num_processors(), min_count)
        return planning.equal_partitions(fragments, count)

    def _splits(self) -> list[ScanSplit] | None:
        """The rows that indices leave to read; None without a filter or without indices."""
        dataset = self._dataset()
        # `has_index` would raise for a damaged index section, which scans ignore with a warning.
        if self._filter is None or dataset.snapshot.file.index_section is None:
            return None
        handling = self._options.blob_handling
        splits = dataset.scanner([], filter=self._filter, blob_handling=handling).splits()
        chosen = self._options.fragments
        return [split for split in splits if chosen is None or split.fragment_id in chosen]

    def _sizes(self, splits: list[ScanSplit]) -> list[planning.FragmentSize]:
        """The rows of splits, with their positions as ids."""
        dataset = self._dataset()
        fragments = [lance_core.LanceFragment(dataset, split.fragment_id) for split in splits]
        sizes = self._row_bytes(fragments)
        return [
            planning.FragmentSize(index, split.num_rows, size)
            for index, (split, size) in enumerate(zip(splits, sizes, strict=True))
        ]

    def _fragments(self) -> list[planning.FragmentSize]:
        """The fragments with live rows."""
        dataset = self._dataset()
        fragments = [f for f in dataset.get_fragments() if f.physical_rows > f.num_deletions]
        if self._options.fragments is not None:
            chosen = set(self._options.fragments)
            fragments = [fragment for fragment in fragments if fragment.fragment_id in chosen]
        return [
            planning.FragmentSize(fragment.fragment_id, fragment.physical_rows, size)
            for fragment, size in zip(fragments, self._row_bytes(fragments), strict=True)
        ]

    def _row_bytes(self, fragments: list[lance_core.LanceFragment]) -> list[float]:
        """The estimated bytes of a row of each fragment that is read."""
        schema = self._dataset().schema
        names, condition = set(self._schema.names), self._options.filter or ""
        filtered = [f for f in schema if f.name in condition and f.name not in names]
        return row_bytes(fragments, schema, [*self._schema, *filtered])

    @brief_rows
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        names = self._schema.names
        # The reader computes the fragment id unless a stored column has its name.
        computed = {FRAGMENT_ID} - set(self._dataset().schema.names)
        scanned = [ROW_ADDRESS if name in computed else name for name in names]
        scanner = self._scanner(partition, list(dict.fromkeys(scanned)))
        for scanned_batch in scanner.to_batches():
            for batch in split_batch(scanned_batch):
                columns = [
                    _fragment_ids(batch) if name in computed else batch.column(name)
                    for name in names
                ]
                columns = unscaled_columns(columns, self._schema)
                yield convert_batch(columns, self._schema, batch.num_rows)

    def _scanner(self, partition: InputPartition, columns: list[str]) -> LanceScanner:
        assert isinstance(partition, planning.LancePartition)
        limit_threads_to_task()
        return self._dataset().scanner(
            columns,
            filter=self._filter,
            limit=self._options.limit,
            batch_size=self._batch_rows,
            row_ranges=partition.ranges if partition.splits is None else None,
            splits=partition.splits,
            blob_handling=self._options.blob_handling,
        )

    @property
    def _filter(self) -> str | pc.Expression | None:
        return self._pushed if self._options.filter is None else self._options.filter

    def _dataset(self) -> lance_core.LanceDataset:
        return open_version(self._table, self._version)


class RowCountReader(LanceReader):
    """Counts rows: each task delivers one row with the number of rows of its partition."""

    def __init__(
        self, table: TableRef, version: TableVersion, schema: StructType, options: LanceReadOptions
    ) -> None:
        if schema.fieldNames() != COUNT_SCHEMA.fieldNames():
            raise InvalidInputError("a read with the option 'count_only' has one column, 'count'")
        super().__init__(table, version, StructType([]), options)

    @brief_rows
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        rows = self._scanner(partition, []).count_rows()
        field = pa.field("count", pa.int64(), COUNT_SCHEMA["count"].nullable)
        yield pa.RecordBatch.from_arrays([pa.array([rows])], schema=pa.schema([field]))


def _fragment_ids(batch: pa.RecordBatch) -> pa.Array:
    import pyarrow.compute as pc

    return pc.shift_right(batch.column(ROW_ADDRESS), pa.scalar(32, pa.uint64()))


def _is_supported(dataset: lance_core.LanceDataset, pushed: pc.Expression) -> bool:
    try:
        dataset.scanner([], filter=pushed)
    except InvalidInputError:
        return False  # Arrow cannot compare these types, so Spark applies the filter.
    return True
