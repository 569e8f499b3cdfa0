"""Reading: planned on the driver, run by tasks.

Spark's filters narrow a scan only where that was asked for. Spark (4.3) keeps one reader for each
data frame that was loaded, and the last filters it pushed stay in it:
``f.where(a).union(f.where(b))`` would read the rows of ``b`` twice, and ``f.count()`` afterwards
would count only those. None but the user knows that a frame is used with one condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_spark import partitions as planning
from lance_core_spark.address import TableAddress, TableVersion, open_version
from lance_core_spark.blobs import marked
from lance_core_spark.convert import convert_batch, in_pieces
from lance_core_spark.filters import expression
from lance_core_spark.options import META_COLUMNS, ReadOptions
from lance_core_spark.task import keep_to_share
from lance_core_spark.types import arrow_type, fits, spark_field

FRAGMENT_ID = META_COLUMNS["with_fragment_id"]
ROW_ADDRESS = META_COLUMNS["with_row_address"]
_META_TYPES = {FRAGMENT_ID: IntegerType()}


def table_schema(dataset: lance_core.LanceDataset, options: ReadOptions) -> StructType:
    """The columns that a read without a schema of its own returns."""
    scanner = dataset.scanner(
        None if options.columns is None else _stored(options.columns, dataset),
        blob_handling=options.blob_handling,
    )
    projected = scanner.projected_schema
    stored = {field.name: marked(field, field.name, dataset.schema) for field in projected}
    names = list(stored) if options.columns is None else list(options.columns)
    names += [name for name in options.meta if name not in names]
    return StructType([_column(name, stored) for name in names])


def _column(name: str, stored: dict[str, pa.Field]) -> StructField:
    if name in META_COLUMNS.values() and name not in stored:
        return StructField(name, _META_TYPES.get(name, LongType()), False)
    return spark_field(stored[name])


def _stored(names: tuple[str, ...], dataset: lance_core.LanceDataset) -> list[str]:
    """Those of the names that are not meta columns."""
    own = dataset.schema.names
    return [name for name in names if name in own or name not in META_COLUMNS.values()]


class _PushFilters:
    """Receives Spark's filters in place of a method.

    Spark refuses to read with a class that overrides ``pushFilters`` while push-down is switched
    off, which it is by default. It tells an override by its ``__func__``.
    """

    def __init__(self, push: Callable[[list[Filter]], None]) -> None:
        self._push = push
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters: list[Filter]) -> list[Filter]:
        self._push(filters)
        return filters  # All of them: Spark checks the rows again.


class LanceReader(DataSourceReader):
    """Reads the columns of ``schema`` from one version of a table. Raises `InvalidInputError`."""

    def __init__(
        self, address: TableAddress, version: TableVersion, schema: StructType, options: ReadOptions
    ) -> None:
        self._address = address
        self._version = version
        self._options = options
        self._condition: pc.Expression | None = None
        self._check(schema)
        self._schema = pa.schema(
            pa.field(f.name, arrow_type(f.dataType, (f.name,)), f.nullable) for f in schema
        )
        self._batch_rows = options.batch_size or planning.BATCH_ROWS

    def _check(self, schema: StructType) -> None:
        dataset = self._dataset()
        asked = ReadOptions(columns=tuple(schema.names), blob_handling=self._options.blob_handling)
        for field, found in zip(schema, table_schema(dataset, asked), strict=True):
            if not fits(StructType([field]), StructType([found])):
                raise InvalidInputError(
                    f"column {field.name!r} was asked for as {_described(field)}; the table has "
                    f"it as {_described(found)}"
                )

    @property
    def pushFilters(self) -> _PushFilters:  # noqa: N802
        """What Spark calls with its filters; see `_PushFilters`."""
        return _PushFilters(self._receive)

    def _receive(self, filters: list[Filter]) -> None:
        """Narrow the scan by the filters, if that was asked for.

        Not if the read has a limit, which counts rows before Spark's filters, nor if it has a
        filter of its own, to which only text could be added.
        """
        options = self._options
        if not options.push_filters or options.limit is not None or options.filter is not None:
            return
        dataset = self._dataset()
        for each in filters:
            found = expression(each, dataset.schema)
            if found is not None and _is_possible(dataset, found):
                both = found if self._condition is None else self._condition & found
                self._condition = both

    def partitions(self) -> list[InputPartition]:
        fragments = self._dataset().get_fragments()
        sizes = planning.Sizes.of(fragments)
        if self._options.batch_size is None:
            self._batch_rows = planning.batch_rows(sizes)
        rows = self._options.rows_per_partition or planning.partition_rows(sizes)
        if self._options.limit is not None:
            rows = max(1, sizes.rows)  # one task, which stops when it has enough
        return list(planning.partitions(fragments, rows))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, planning.LancePartition)
        keep_to_share()
        names = self._schema.names
        needed = [ROW_ADDRESS if name == self._computed else name for name in names]
        scanner = self._dataset().scanner(
            list(dict.fromkeys(needed)),
            filter=self._condition if self._options.filter is None else self._options.filter,
            limit=self._options.limit,
            batch_size=self._batch_rows,
            row_ranges=partition.ranges,
            blob_handling=self._options.blob_handling,
        )
        for batch in scanner.to_batches():
            for piece in in_pieces(batch):
                columns = [self._values(piece, name) for name in names]
                yield convert_batch(columns, self._schema, piece.num_rows)

    def _values(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        if name != self._computed:
            return batch.column(name)
        return pc.shift_right(batch.column(ROW_ADDRESS), pa.scalar(32, pa.uint64()))

    @property
    def _computed(self) -> str | None:
        """The fragment id's name, unless a stored column has it."""
        return None if FRAGMENT_ID in self._dataset().schema.names else FRAGMENT_ID

    def _dataset(self) -> lance_core.LanceDataset:
        return open_version(self._address, self._version)


def _described(field: StructField) -> str:
    return field.dataType.simpleString() + ("" if field.nullable else " not null")


def _is_possible(dataset: lance_core.LanceDataset, condition: pc.Expression) -> bool:
    try:
        dataset.scanner([], filter=condition)
    except InvalidInputError:
        return False  # Arrow has no such comparison; Spark makes it
    return True
