"""`ExternalSort`: sort rows by value in bounded memory.

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
import pyarrow.compute as pc

from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.index.base import IndexBatch, RowNumbers
from lance_core.index.scalar.sort_order import (
    bisect_keys,
    sort_indices,
    sort_key_indices,
    sort_keys,
)

RUN_BYTES = 128 << 20
"""Bytes of values and row numbers that are sorted in memory. Sorting needs about four times this:
the batches, one array of them, the order, and the sorted array."""

BLOCK_BYTES = 2 << 20
"""Bytes of a block, the unit in which runs are written and read."""

_SLICE_BLOCKS = 16
"""Blocks of a slice of the merge; besides, a slice has parts of one block of each run."""


class ExternalSort:
    """Sorts rows that are added in any order; rows with nulls come first.

    Equal values keep the order in which they are added.
    """

    def __init__(self, kind: pa.DataType, scratch: Callable[[], Path]) -> None:
        self._kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        self._scratch = scratch
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._nulls: list[RowNumbers] = []
        self._num_nulls = 0
        self._null_runs: list[_Run] = []
        self._runs: list[_Run] = []
        self._num_files = 0

    def add(self, values: pa.Array, rows: RowNumbers) -> None:
        """Add rows in any order."""
        batch = self._valid_rows(values, rows)
        self._pending.append(batch)
        self._pending_bytes += batch.nbytes
        if self._pending_bytes >= RUN_BYTES:
            self._spill(_blocks(self._sorted_pending()))

    def batches(self) -> Iterator[IndexBatch]:
        """All rows in order. Nothing can be added any more."""
        for run in self._null_runs:
            for block in run.blocks():
                yield self._null_batch(_numbers(block.column(0)))
        for rows in self._nulls:
            yield self._null_batch(rows)
        if self._pending:
            run = self._sorted_pending()
            if not self._runs:
                yield from map(_index_batch, _blocks(run))
                return
            self._spill(_blocks(run))
            del run
        if self._runs:
            yield from map(_index_batch, _merged(self._runs))

    def _valid_rows(self, values: pa.Array, rows: RowNumbers) -> pa.RecordBatch:
        """The rows with values; keeps the others."""
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if values.null_count:
            valid = values.is_valid()
            is_valid = valid.to_numpy(zero_copy_only=False)
            self._add_nulls(rows[~is_valid])
            values, rows = values.filter(valid), rows[is_valid]
        return pa.RecordBatch.from_arrays([values, from_numpy(rows)], ["values", "ids"])

    def _add_nulls(self, rows: RowNumbers) -> None:
        self._nulls.append(rows)
        self._num_nulls += len(rows)
        if self._num_nulls * rows.itemsize >= RUN_BYTES:
            joined = np.concatenate(self._nulls)
            self._nulls, self._num_nulls = [], 0
            batch = pa.RecordBatch.from_arrays([from_numpy(joined)], ["ids"])
            self._null_runs.append(_Run.written(self._next_path(), _blocks(batch)))

    def _null_batch(self, rows: RowNumbers) -> IndexBatch:
        return IndexBatch(pa.nulls(len(rows), self._kind), rows)

    def _sorted_pending(self) -> pa.RecordBatch:
        batches, self._pending, self._pending_bytes = self._pending, [], 0
        return _sorted(batches)

    def _spill(self, blocks: Iterable[pa.RecordBatch]) -> None:
        run = _Run.written(self._next_path(), blocks)
        if run.num_blocks:
            self._runs.append(run)

    def _next_path(self) -> Path:
        self._num_files += 1
        return self._scratch() / f"run-{self._num_files}.arrow"


class _Run:
    """Rows in an Arrow IPC file: blocks, and the position of the first row of each."""

    def __init__(self, path: Path, starts: list[int], firsts: list[pa.Array]) -> None:
        self._path = path
        self.starts = starts
        self.firsts = firsts

    @classmethod
    def written(cls, path: Path, blocks: Iterable[pa.RecordBatch]) -> _Run:
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

    def __init__(self, run: _Run) -> None:
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


def _merged(runs: list[_Run]) -> Iterator[pa.RecordBatch]:
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
    values = pa.concat_arrays([batch.column(0) for batch in batches])
    rows = np.concatenate([_numbers(batch.column(1)) for batch in batches])
    batches.clear()
    order = sort_indices(values)
    return pa.RecordBatch.from_arrays(
        [pc.take(values, from_numpy(order), boundscheck=False), from_numpy(rows[order])],
        schema=schema,
    )


def _blocks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices of about `BLOCK_BYTES`."""
    if batch.num_rows:
        rows = max(1, BLOCK_BYTES * batch.num_rows // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _index_batch(batch: pa.RecordBatch) -> IndexBatch:
    return IndexBatch(batch.column(0), _numbers(batch.column(1)))


def _numbers(rows: pa.Array) -> RowNumbers:
    return np.asarray(rows.to_numpy())
