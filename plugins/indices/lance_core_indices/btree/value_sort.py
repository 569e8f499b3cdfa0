"""`ValueSort`: sort the rows of an index by value, those with nulls first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.hookspecs.indices import (
    ExternalSort,
    IndexBatch,
    MemoryShares,
    RowNumbers,
    Run,
    is_ascending,
    sort_keys,
)

MEMORY_BYTES = 256 << 20
"""The memory budget of a sort."""


class ValueSort:
    """Sorts rows that are added in any order, in bounded memory; rows with nulls come first.

    Equal values keep the order in which they are added.
    """

    def __init__(self, type_: pa.DataType, scratch: Callable[[], Path]) -> None:
        self._kind = type_.value_type if pa.types.is_dictionary(type_) else type_
        self._scratch = scratch
        self._sort = ExternalSort(scratch, MEMORY_BYTES)
        self._nulls: list[RowNumbers] = []
        self._num_nulls = 0
        self._null_runs: list[Run] = []

    def add(self, values: pa.Array, rows: RowNumbers) -> None:
        """Add rows in any order."""
        self._sort.add(self._without_nulls(values, rows))

    def add_sorted(self, batches: Iterator[IndexBatch]) -> None:
        """Add rows that are in order, those with nulls first, before rows of `add` that are equal.

        Only the rows with nulls, and those of the batch after them, are read now. Raises
        `CorruptFileError`, now or when all rows are returned, for rows that are not in order.
        """
        for batch in batches:
            first = self._without_nulls(*batch)
            if first.num_rows:
                self._sort.add_sorted(self._in_order(chain([first], self._rest(batches))))
                return

    def _rest(self, batches: Iterator[IndexBatch]) -> Iterator[pa.RecordBatch]:
        for values, rows in batches:
            if values.null_count:
                raise CorruptFileError("rows with nulls are not the first ones of an index")
            yield self._without_nulls(values, rows)

    def _in_order(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """``batches``, whose first column is checked."""
        end: pa.Array | None = None
        for batch in batches:
            values = batch.column(0)
            edge = [values.slice(0, 1)] if end is None else [end, values.slice(0, 1)]
            if not all(is_ascending(sort_keys(part)) for part in (values, pa.concat_arrays(edge))):
                raise CorruptFileError("the values of an index are not in order")
            if len(values):
                end = pa.concat_arrays([values.slice(len(values) - 1)])  # a copy of one value
                yield batch

    def _without_nulls(self, values: pa.Array, rows: RowNumbers) -> pa.RecordBatch:
        """The rows with values; those with nulls are added."""
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if values.null_count:
            valid = values.is_valid()
            is_valid = to_numpy(valid)
            self._add_nulls(rows[~is_valid])
            values, rows = values.filter(valid), rows[is_valid]
        return pa.RecordBatch.from_arrays([values, from_numpy(rows)], ["values", "ids"])

    def batches(self) -> Iterator[IndexBatch]:
        """All rows in order. Nothing can be added any more."""
        for run in self._null_runs:
            for block in run.blocks():
                yield self._null_batch(_numbers(block.column(0)))
        for rows in self._nulls:
            yield self._null_batch(rows)
        for batch in self._sort.batches():
            yield IndexBatch(batch.column(0), _numbers(batch.column(1)))

    def _add_nulls(self, rows: RowNumbers) -> None:
        self._nulls.append(rows)
        self._num_nulls += len(rows)
        shares = MemoryShares(MEMORY_BYTES)
        if self._num_nulls * rows.itemsize >= shares.run:
            joined = np.concatenate(self._nulls)
            self._nulls, self._num_nulls = [], 0
            batch = pa.RecordBatch.from_arrays([from_numpy(joined)], ["ids"])
            path = self._scratch() / f"nulls-{len(self._null_runs)}.arrow"
            self._null_runs.append(Run.written(path, [batch], shares.block))

    def _null_batch(self, rows: RowNumbers) -> IndexBatch:
        return IndexBatch(pa.nulls(len(rows), self._kind), rows)


def _numbers(rows: pa.Array) -> RowNumbers:
    return to_numpy(rows)
