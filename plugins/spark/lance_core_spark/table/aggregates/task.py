"""What a task of an aggregate does: it groups the rows of its part of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core_spark.brief_errors import brief_rows
from lance_core_spark.table.aggregates.states import Grouping
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.convert import convert_batch, split_batch

if TYPE_CHECKING:
    from lance_core.dataset import LanceScanner
    from lance_core_spark.scan.partitions import LancePartition

MAX_GROUP_BYTES = 32 << 20
"""Bytes of the groups that a task keeps; beyond it they are sent to Spark, which combines them."""

MIN_COMBINED_BYTES = 4 << 20
"""Bytes of new groups from which on they are combined with those of former batches."""


@dataclass(frozen=True, slots=True)
class AggregateTask:
    """The function of a task: it gets the numbers of partitions and returns partial results.

    ``columns``: SQL for the names of the columns that are scanned, of the types ``scanned``, which
    are those of Spark. ``groupings`` have the positions of their keys and states among the columns
    of the result, ``schema``, in ``positions``; the other columns of their rows are null.
    """

    table: TableRef
    version: TableVersion
    filter: str | None
    columns: dict[str, str]
    scanned: pa.Schema
    partitions: Sequence[LancePartition]
    batch_rows: int
    groupings: tuple[Grouping, ...]
    positions: tuple[tuple[int, ...], ...]
    schema: pa.Schema

    @brief_rows
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads_to_task()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._results(self._scanner(self.partitions[number]))

    def _scanner(self, partition: LancePartition) -> LanceScanner:
        return open_version(self.table, self.version).scanner(
            self.columns,
            filter=self.filter,
            batch_size=self.batch_rows,
            row_ranges=partition.ranges if partition.splits is None else None,
            splits=partition.splits,
        )

    def _results(self, scanner: LanceScanner) -> Iterator[pa.RecordBatch]:
        if not self.columns:  # Only rows are counted, which need not be read.
            rows = scanner.count_rows()
            count = pa.array([rows], pa.int64())
            yield pa.RecordBatch.from_arrays([count] * len(self.schema), schema=self.schema)
            return
        groups = [Groups(grouping) for grouping in self.groupings]
        for scanned in scanner.to_batches():
            columns = convert_batch(scanned.columns, self.scanned, scanned.num_rows).columns
            for number, each in enumerate(groups):
                for part in each.add(columns, scanned.num_rows):
                    yield from self._rows(part, number)
        for number, each in enumerate(groups):
            for part in each.rest():
                yield from self._rows(part, number)

    def _rows(self, part: pa.RecordBatch, number: int) -> Iterator[pa.RecordBatch]:
        """``part`` of a grouping as rows of the result."""
        columns = dict(zip(self.positions[number], part.columns, strict=True))
        arrays = [
            columns[position] if position in columns else pa.nulls(part.num_rows, column.type)
            for position, column in enumerate(self.schema)
        ]
        yield from split_batch(pa.RecordBatch.from_arrays(arrays, schema=self.schema))


@dataclass(frozen=True, slots=True)
class KnownRow:
    """The function of a task that has nothing to read: it returns ``row`` for its one number."""

    row: pa.RecordBatch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield self.row


@dataclass(slots=True)
class Groups:
    """The groups of the batches of a task, of at most about `MAX_GROUP_BYTES`."""

    grouping: Grouping
    _parts: list[pa.RecordBatch] = field(default_factory=list)
    _bytes: int = 0
    _combined_bytes: int = 0

    def add(self, columns: Sequence[pa.Array], num_rows: int) -> Iterator[pa.RecordBatch]:
        """Add the rows of a batch; yields all groups if they become too large, and forgets them.

        Groups are combined when those of new batches are as large as the combined ones, so that
        each is combined few times.
        """
        part = self.grouping.group(columns, num_rows)
        self._parts.append(part)
        self._bytes += part.nbytes
        if self._bytes - self._combined_bytes < max(self._combined_bytes, MIN_COMBINED_BYTES):
            return
        combined = self.grouping.combine(self._parts)
        self._parts, self._bytes = [combined], combined.nbytes
        self._combined_bytes = combined.nbytes
        if combined.nbytes > MAX_GROUP_BYTES:
            yield from self.rest()
            self._parts, self._bytes, self._combined_bytes = [], 0, 0

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The groups that were not yielded before."""
        if self._parts:
            yield self.grouping.combine(self._parts)
