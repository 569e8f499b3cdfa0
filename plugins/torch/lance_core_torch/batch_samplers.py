"""Samplers whose shares are ranges of rows, or every so manieth row that passes a filter."""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
import pyarrow as pa

from lance_core import LanceDataset
from lance_core.errors import InvalidInputError
from lance_core_torch.batches import rebatched
from lance_core_torch.samplers import Columns, Sampler, Shard

_RESERVOIR = 256
"""Batches of a filtered scan that wait to be yielded in random order: 32 Ki rows by default."""


class ShardedBatchSampler(Shard, Sampler):
    """Reads every ``world_size``-th batch of consecutive rows, optionally in random order.

    With a filter, each process reads all rows that pass, and yields every ``world_size``-th one;
    their random order is then that of a reservoir of 256 batches.
    """

    def __call__(
        self,
        dataset: LanceDataset,
        *args: Any,
        batch_size: int = 128,
        columns: Columns | None = None,
        filter: str | None = None,
        batch_readahead: int = 16,
        with_row_id: bool = False,
        **kwargs: Any,
    ) -> Iterable[pa.RecordBatch]:
        """Batches of ``batch_size`` rows; the last one may have fewer.

        Without a filter, ``batch_readahead`` of them are read together.
        """
        if filter is not None:
            return self._filtered(dataset, batch_size, columns, filter, with_row_id)
        if with_row_id:
            warnings.warn("ShardedBatchSampler has no row ids without a filter", stacklevel=2)
        return self._ranges(dataset, batch_size, columns, batch_readahead)

    def _ranges(
        self, dataset: LanceDataset, batch_size: int, columns: Columns | None, together: int
    ) -> Iterator[pa.RecordBatch]:
        total = dataset.count_rows()
        starts = list(range(self._rank * batch_size, total, self._world_size * batch_size))
        if self._randomize:
            self._random().shuffle(starts)
        for first in range(0, len(starts), max(together, 1)):
            begins = starts[first : first + max(together, 1)]
            ends = [min(begin + batch_size, total) for begin in begins]
            rows = np.concatenate(list(map(np.arange, begins, ends)))
            (read,) = dataset.take(rows, columns).combine_chunks().to_batches()
            position = 0
            for begin, end in zip(begins, ends, strict=True):
                yield read.slice(position, end - begin)
                position += end - begin

    def _filtered(
        self,
        dataset: LanceDataset,
        batch_size: int,
        columns: Columns | None,
        filter: str,
        with_row_id: bool,
    ) -> Iterator[pa.RecordBatch]:
        scanner = dataset.scanner(columns, filter=filter, with_row_id=with_row_id)
        batches = rebatched(self._every(scanner.to_batches()), batch_size)
        return self._shuffled(batches) if self._randomize else batches

    def _every(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Every ``world_size``-th row, from the row number ``rank`` on."""
        skipped = self._rank
        for batch in batches:
            rows = range(skipped, batch.num_rows, self._world_size)
            skipped = rows.start + len(rows) * self._world_size - batch.num_rows
            if rows:
                yield batch.take(pa.array(rows, pa.int64()))

    def _shuffled(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = self._random()
        waiting: list[tuple[int, int, pa.RecordBatch]] = []
        for turn, batch in enumerate(batches):
            entry = (numbers.randint(0, 2 * _RESERVOIR - 1), turn, batch)
            if len(waiting) < _RESERVOIR:
                heapq.heappush(waiting, entry)
            else:
                yield heapq.heappushpop(waiting, entry)[-1]
        yield from (batch for *_, batch in waiting)


class ShardedFixedBatchSampler(ShardedBatchSampler):
    """Yields lists of row positions: the ``batch_sampler`` of a `DataLoader` of map-style data.

    Each process has consecutive rows, ``total_num_rows / world_size`` of them; lists have
    ``batch_size`` positions, the last one of a process may have fewer.
    """

    def __init__(
        self,
        rank: int,
        world_size: int,
        randomize: bool = False,
        seed: int = 0,
        batch_size: int = 0,
        total_num_rows: int = 0,
    ) -> None:
        """Raises `InvalidInputError` for rows without a batch size above 0."""
        super().__init__(rank, world_size, randomize, seed)
        if total_num_rows and batch_size < 1:
            raise InvalidInputError(f"batch_size must be at least 1, not {batch_size}")
        per_rank = math.ceil(total_num_rows / world_size)
        first = min(rank * per_rank, total_num_rows)
        self._rows = range(first, min(first + per_rank, total_num_rows))
        self._batch_size = batch_size

    def __len__(self) -> int:
        """The number of lists."""
        return math.ceil(len(self._rows) / self._batch_size) if self._rows else 0

    def __iter__(self) -> Iterator[list[int]]:
        """The lists, in the random order of the epoch if there is one."""
        starts = list(range(0, len(self._rows), self._batch_size or 1))
        if self._randomize:
            self._random().shuffle(starts)
        return (list(self._rows[start : start + self._batch_size]) for start in starts)

    @classmethod
    def from_torch(  # type: ignore[override]  # the arguments are pylance's
        cls, batch_size: int, total_num_rows: int, randomize: bool = False, seed: int = 0
    ) -> Self:
        """The share of this process of `torch.distributed`, which must be initialized."""
        import torch.distributed

        rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        return cls(rank, world_size, randomize, seed, batch_size, total_num_rows)
