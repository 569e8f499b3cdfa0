"""The partitions of a read: the rows and the batch size of each Spark task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

import lance_core

MAX_PARTITION_ROWS = 1 << 18
PARTITION_BYTES = 64 << 20
"""Default maximum rows and stored bytes of a partition; both limits apply."""

MAX_BATCH_ROWS = 1 << 16
BATCH_BYTES = 16 << 20
"""Default maximum rows and stored bytes of a batch; both limits apply."""

MIN_BATCH_ROWS = 64

RowRange = tuple[int, int, int]
"""Fragment id, first physical row, end of the physical rows (exclusive)."""


@dataclass(frozen=True)
class LancePartition(InputPartition):
    """The row ranges that one task reads, in order."""

    ranges: tuple[RowRange, ...]


@dataclass(frozen=True, slots=True)
class TableSize:
    """The rows of a table, including deleted ones, and the bytes of their files."""

    rows: int
    bytes: int

    @classmethod
    def of(cls, fragments: Sequence[lance_core.LanceFragment]) -> TableSize:
        """The sum over ``fragments``. A file of unknown size counts as empty."""
        rows = stored = 0
        for fragment in fragments:
            metadata = fragment.metadata
            rows += metadata.physical_rows
            stored += sum(file.file_size_bytes or 0 for file in metadata.files)
        return cls(rows, stored)

    def rows_in(self, size: int) -> int:
        """The number of rows that take about ``size`` bytes, at least one."""
        return max(1, size * max(self.rows, 1) // max(self.bytes, 1))


def batch_rows(size: TableSize) -> int:
    """The default maximum rows of a batch."""
    return max(MIN_BATCH_ROWS, min(MAX_BATCH_ROWS, size.rows_in(BATCH_BYTES)))


def partition_rows(size: TableSize) -> int:
    """The default maximum rows of a partition."""
    return max(1, min(MAX_PARTITION_ROWS, size.rows_in(PARTITION_BYTES)))


def partitions(
    fragments: Sequence[lance_core.LanceFragment], max_rows: int
) -> list[LancePartition]:
    """Partitions with all physical rows of ``fragments``, in order, at most ``max_rows`` in each.

    Large fragments are split into equal ranges; small adjacent fragments share a partition. There
    is at least one partition, which may be empty.
    """
    planned: list[LancePartition] = []
    current: list[RowRange] = []
    current_rows = 0
    for row_range in _row_ranges(fragments, max_rows):
        rows = row_range[2] - row_range[1]
        if current and current_rows + rows > max_rows:
            planned.append(LancePartition(tuple(current)))
            current, current_rows = [], 0
        current.append(row_range)
        current_rows += rows
    if current or not planned:
        planned.append(LancePartition(tuple(current)))
    return planned


def _row_ranges(fragments: Sequence[lance_core.LanceFragment], max_rows: int) -> Iterator[RowRange]:
    for fragment in fragments:
        rows = fragment.physical_rows
        if rows <= fragment.num_deletions:
            continue
        count = -(-rows // max_rows)
        for i in range(count):
            yield fragment.fragment_id, rows * i // count, rows * (i + 1) // count
