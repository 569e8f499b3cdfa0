"""A table cut into pieces for Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

import lance_core

ROWS = 1 << 18
BYTES = 64 << 20
"""A partition holds no more rows, and about no more stored bytes, if nothing else is asked for."""

BATCH_ROWS = 1 << 16
BATCH_BYTES = 16 << 20
FEWEST_BATCH_ROWS = 64

RowRange = tuple[int, int, int]
"""Fragment id, first physical row, physical row after the last."""


@dataclass(frozen=True)
class LancePartition(InputPartition):
    """What one task reads: ranges of rows, in this order."""

    ranges: tuple[RowRange, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows a table has, deleted ones included, and how many bytes their files have."""

    rows: int
    bytes: int

    @classmethod
    def of(cls, fragments: Sequence[lance_core.LanceFragment]) -> Sizes:
        """The sum over ``fragments``. A file whose size is not known counts as empty."""
        rows = stored = 0
        for fragment in fragments:
            metadata = fragment.metadata
            rows += metadata.physical_rows
            stored += sum(file.file_size_bytes or 0 for file in metadata.files)
        return cls(rows, stored)

    def rows_in(self, size: int) -> int:
        """How many rows have about ``size`` bytes, at least one."""
        return max(1, size * max(self.rows, 1) // max(self.bytes, 1))


def batch_rows(sizes: Sizes) -> int:
    """The most rows of a batch, if nothing else is asked for."""
    return max(FEWEST_BATCH_ROWS, min(BATCH_ROWS, sizes.rows_in(BATCH_BYTES)))


def partition_rows(sizes: Sizes) -> int:
    """The most rows of a partition, if nothing else is asked for."""
    return max(1, min(ROWS, sizes.rows_in(BYTES)))


def partitions(
    fragments: Sequence[lance_core.LanceFragment], most_rows: int
) -> list[LancePartition]:
    """Every physical row of ``fragments`` once, in order, no more than ``most_rows`` together.

    Large fragments are cut into even pieces, small neighbours share a partition. There is always
    one partition, be it an empty one.
    """
    done: list[LancePartition] = []
    open_ranges: list[RowRange] = []
    open_rows = 0
    for piece in _pieces(fragments, most_rows):
        rows = piece[2] - piece[1]
        if open_ranges and open_rows + rows > most_rows:
            done.append(LancePartition(tuple(open_ranges)))
            open_ranges, open_rows = [], 0
        open_ranges.append(piece)
        open_rows += rows
    if open_ranges or not done:
        done.append(LancePartition(tuple(open_ranges)))
    return done


def _pieces(fragments: Sequence[lance_core.LanceFragment], most_rows: int) -> Iterator[RowRange]:
    for fragment in fragments:
        rows = fragment.physical_rows
        if rows <= fragment.num_deletions:
            continue
        count = -(-rows // most_rows)
        for i in range(count):
            yield fragment.fragment_id, rows * i // count, rows * (i + 1) // count
