"""`ExternalSort`: sort rows in bounded memory.

Rows that fit into memory are sorted there. Otherwise they become sorted runs in local files, which
are merged in slices: the smallest of the last keys of all current blocks bounds the rows that can
be handed on, since no later block has smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from lance_core.encodings.arrow.memory_pool import release_all_unused
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.index.runs import (
    Batches,
    MemoryShares,
    Run,
    blocks_of,
    bytes_of,
    merge_runs,
)
from lance_core.index.sort_order import bisect_keys, sort_indices, sort_keys


class ExternalSort:
    """Sorts rows by their first column, a sort key without nulls, in bounded memory.

    Rows with equal keys keep the order in which they are added. At most
    `lance_core.index.runs.MAX_OPEN_RUNS` files and one more are open at the same time. Rows
    that are longer than the budget allows take a few times their own size. Raises `StoreError` if
    the runs cannot be written.
    """

    def __init__(self, scratch: Callable[[], Path], memory_bytes: int) -> None:
        """``scratch``: returns a local folder for the runs, which is empty.

        ``memory_bytes``: the budget, for everything but the rows that a caller holds.
        """
        self._scratch = scratch
        self._shares = MemoryShares(memory_bytes)
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._runs: list[Run] = []
        self._streams: list[Batches] = []

    def add_sorted(self, rows: Batches) -> None:
        """Add rows that are in order, before those of `add` with equal keys.

        No batch is empty. They are read once, while all rows are returned, a batch of each at a
        time.
        """
        self._streams.append(rows)

    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows in any order."""
        for part in blocks_of(rows, self._shares.run):
            size = bytes_of(part)
            if self._pending and self._pending_bytes + size > self._shares.run:
                self._spill()
            self._pending.append(part)
            self._pending_bytes += size

    def batches(self) -> Batches:
        """All rows in order. Nothing can be added any more."""
        if self._streams:
            # A stream needs no memory for a run: small slices cost little in comparison.
            yield from self._merged([*self._streams, self._added()], 4 * self._shares.block)
        else:
            yield from self._added()

    def _added(self) -> Batches:
        """The rows of `add` in order."""
        if not self._runs:
            if self._pending:
                yield from blocks_of(self._sorted_pending(), self._shares.slice)
            return
        self._spill()
        release_all_unused()
        runs, self._runs = self._runs, []
        merged = partial(self._merged, slice_bytes=self._shares.slice)
        yield from merge_runs(runs, merged, self._scratch, self._shares)

    def _sorted_pending(self) -> pa.RecordBatch:
        batches, self._pending, self._pending_bytes = self._pending, [], 0
        return _sorted(batches)

    def _spill(self) -> None:
        path = self._scratch() / f"run-{len(self._runs)}.arrow"
        self._runs.append(Run.written(path, [self._sorted_pending()], self._shares.block))
        # Arrow's pool retains freed memory, up to several times the size of a small budget.
        pa.default_memory_pool().release_unused()

    def _merged(self, runs: Sequence[Batches], slice_bytes: int) -> Batches:
        """All rows of ``runs`` in order, in slices of about so many bytes."""
        parts: list[pa.RecordBatch] = []
        size = 0
        for step, nbytes in _in_order(runs):
            parts += step
            size += nbytes
            if size >= slice_bytes:
                yield _sorted(parts)
                size = 0
                pa.default_memory_pool().release_unused()
        if parts:
            yield _sorted(parts)


class _Cursor:
    """Reads a run once from its start to its end."""

    __slots__ = ("_block", "_blocks", "_keys", "first", "last", "nbytes")

    def __init__(self, blocks: Batches) -> None:
        self._blocks = blocks
        self._block: pa.RecordBatch | None = None
        self.first: Any = None
        """The key of the first row of the current block that was not read."""
        self.last: Any = None
        """The key of the last row of the current block."""
        self.nbytes = 0
        """Bytes of the current block."""

    def fill(self) -> bool:
        """Load the next block if the current one is used up; False after the last one."""
        while self._block is None or not self._block.num_rows:
            self._block = next(self._blocks, None)
            if self._block is None:
                return False
            self.nbytes = bytes_of(self._block)
            self._keys = sort_keys(self._block.column(0))
            self.first, self.last = self._keys[0].as_py(), self._keys[-1].as_py()
        return True

    def read(self, key: Any, *, inclusive: bool) -> pa.RecordBatch | None:
        """The rows of the current block below ``key``; ``inclusive``: or equal to it."""
        assert self._block is not None
        if self.first > key or (self.first == key and not inclusive):
            return None
        count = len(self._keys)
        if self.last > key or (self.last == key and not inclusive):
            count = bisect_keys(self._keys, key, after=inclusive)
        rows = self._block.slice(0, count)
        self._block, self._keys = self._block.slice(count), self._keys.slice(count)
        if len(self._keys):
            self.first = self._keys[0].as_py()
        return rows


def _in_order(runs: Sequence[Batches]) -> Iterator[tuple[list[pa.RecordBatch], int]]:
    """The rows in steps: parts that a stable sort orders, none of which is above a later step.

    Each comes with the bytes of the one block that it ends, on average those of its parts.

    Rows are ordered by key, run and position. The block with the smallest last key, of the first
    run with one, is read to its end: of the runs before it also the rows that are equal to this
    key, of those after it only the smaller ones, since its next block may begin with equal ones.
    """
    cursors = [_Cursor(run) for run in runs]
    while cursors := [cursor for cursor in cursors if cursor.fill()]:
        owner = min(range(len(cursors)), key=lambda number: cursors[number].last)
        bound = cursors[owner].last
        parts = (
            cursor.read(bound, inclusive=number <= owner) for number, cursor in enumerate(cursors)
        )
        nbytes = cursors[owner].nbytes
        yield [part for part in parts if part is not None], nbytes


def _sorted(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of ``batches`` in order; empties the list to release memory early."""
    schema = batches[0].schema
    rows = pa.Table.from_batches(batches)
    batches.clear()
    order = from_numpy(sort_indices(rows.column(0).combine_chunks()))
    columns = [column.combine_chunks() for column in take_rows(rows, order).columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
