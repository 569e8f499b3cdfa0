"""`ExternalSort`: sort rows in bounded memory.

Rows that fit into memory are sorted there. Otherwise they become sorted *runs* in local files,
which are merged in slices: block starts of all runs, which are known, cut the order of all rows
into slices of a bounded number of rows, and each slice is read from all runs and sorted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.index.scalar.sort_order import (
    bisect_keys,
    sort_indices,
    sort_key_indices,
    sort_keys,
)

BLOCK_BYTES = 2 << 20
"""Bytes of a block, the unit in which runs are written and read."""

_SLICE_BLOCKS = 16
"""Blocks of a slice of the merge; besides, a slice has parts of one block of each run."""


class ExternalSort:
    """Sorts rows by their first column, a sort key without nulls, in bounded memory.

    ``run_bytes``: bytes of rows that are sorted in memory. Sorting needs about four times this: the
    batches, one array of each column, the order, and the sorted arrays. Rows with equal keys keep
    the order in which they are added.
    """

    def __init__(self, scratch: Callable[[], Path], run_bytes: int) -> None:
        """``scratch``: returns a local folder for the runs."""
        self._scratch = scratch
        self._run_bytes = run_bytes
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._runs: list[Run] = []

    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows in any order."""
        self._pending.append(rows)
        self._pending_bytes += rows.nbytes
        if self._pending_bytes >= self._run_bytes:
            self._spill(blocks_of(self._sorted_pending()))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows in order. Nothing can be added any more."""
        if self._pending:
            run = self._sorted_pending()
            if not self._runs:
                yield from blocks_of(run)
                return
            self._spill(blocks_of(run))
            del run
        if self._runs:
            yield from _merged(self._runs)

    def _sorted_pending(self) -> pa.RecordBatch:
        batches, self._pending, self._pending_bytes = self._pending, [], 0
        return _sorted(batches)

    def _spill(self, blocks: Iterable[pa.RecordBatch]) -> None:
        run = Run.written(self._scratch() / f"run-{len(self._runs)}.arrow", blocks)
        if run.num_blocks:
            self._runs.append(run)


class Run:
    """Rows in an Arrow IPC file: blocks, and the position of the first row of each."""

    def __init__(self, path: Path, starts: list[int], firsts: list[pa.Array]) -> None:
        self._path = path
        self.starts = starts
        self.firsts = firsts

    @classmethod
    def written(cls, path: Path, blocks: Iterable[pa.RecordBatch]) -> Run:
        """A new file with ``blocks``."""
        starts, firsts, writer = [0], [], None
        try:
            for block in blocks:
                if not block.num_rows:
                    continue
                if writer is None:
                    writer = pa.ipc.new_file(str(path), block.schema)
                writer.write_batch(block)
                starts.append(starts[-1] + block.num_rows)
                # A copy, so that the block does not stay in memory.
                firsts.append(pa.concat_arrays([block.column(0).slice(0, 1), block.column(0)[:0]]))
        finally:
            if writer is not None:
                writer.close()
        return cls(path, starts, firsts)

    @property
    def num_blocks(self) -> int:
        return len(self.firsts)

    def open(self) -> pa.ipc.RecordBatchFileReader:
        return pa.ipc.open_file(pa.OSFile(str(self._path)))

    def blocks(self) -> Iterator[pa.RecordBatch]:
        if self.num_blocks:
            reader = self.open()
            yield from map(reader.get_batch, range(self.num_blocks))


class _Cursor:
    """Reads a run once from its start to its end."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._reader = run.open()
        self._firsts = sort_keys(pa.concat_arrays(run.firsts))
        self._position = 0
        self._number = -1
        self._block: pa.RecordBatch | None = None
        self._keys: pa.Array | None = None

    def stop(self, key: Any, *, after: bool) -> int:
        """The position of the first row whose key is not below ``key``; ``after``: is above it."""
        number = max(0, bisect_keys(self._firsts, key, after=after) - 1)
        block = self._load(number)
        if self._keys is None:
            self._keys = sort_keys(block.column(0))
        return self.run.starts[number] + bisect_keys(self._keys, key, after=after)

    def read(self, stop: int) -> list[pa.RecordBatch]:
        """The rows up to ``stop`` that were not read before."""
        found, starts = [], self.run.starts
        while self._position < stop:
            number = bisect_right(starts, self._position) - 1
            offset = self._position - starts[number]
            end = min(stop, starts[number + 1])
            found.append(self._load(number).slice(offset, end - self._position))
            self._position = end
        return found

    def _load(self, number: int) -> pa.RecordBatch:
        if number != self._number or self._block is None:
            self._number, self._keys = number, None
            self._block = self._reader.get_batch(number)
        return self._block


def _merged(runs: list[Run]) -> Iterator[pa.RecordBatch]:
    """All rows of ``runs`` in order, in slices.

    Rows are ordered by key, run and position, which is total: however often a value occurs, the
    starts of blocks cut its rows, too.
    """
    if len(runs) <= 1:
        for run in runs:
            yield from run.blocks()
        return
    cursors = [_Cursor(run) for run in runs]
    keys = sort_keys(pa.concat_arrays([first for run in runs for first in run.firsts]))
    owners = np.repeat(np.arange(len(runs)), [run.num_blocks for run in runs])
    starts = np.concatenate([run.starts[:-1] for run in runs])
    for cut in sort_key_indices(keys)[_SLICE_BLOCKS::_SLICE_BLOCKS].tolist():
        key, owner = keys[cut].as_py(), int(owners[cut])
        parts: list[pa.RecordBatch] = []
        for number, cursor in enumerate(cursors):
            if number == owner:
                parts += cursor.read(int(starts[cut]))
            else:
                parts += cursor.read(cursor.stop(key, after=number < owner))
        yield _sorted(parts)
    yield _sorted([part for cursor in cursors for part in cursor.read(cursor.run.starts[-1])])


def _sorted(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of ``batches`` in order; empties the list to release memory early."""
    schema = batches[0].schema
    rows = pa.Table.from_batches(batches)
    batches.clear()
    order = from_numpy(sort_indices(rows.column(0).combine_chunks()))
    columns = [column.combine_chunks() for column in take_rows(rows, order).columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def blocks_of(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices of about `BLOCK_BYTES`."""
    if batch.num_rows:
        rows = max(1, BLOCK_BYTES * batch.num_rows // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)
