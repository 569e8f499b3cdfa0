"""`PartitionCache`: the row numbers and codes of partitions, read when a query needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.concurrency import LruCache, ThreadPool, cached_property
from lance_core.hookspecs.indices import RowNumbers, count_parts
from lance_core_vector.partitions.index_files import ROW_ID, row_numbers

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexFileReader
    from lance_core_vector.partitions.index_files import IvfModel
    from lance_core_vector.quantizers.base import Codes, Quantizer

MAX_CACHED_BYTES = 512 << 20
"""Maximum bytes of cached partitions of an index."""

_NARROW_BYTES = 4 << 20
"""Bytes of columns of one number a row up to which all of their rows are read at once."""

AT_ONCE = 16
"""Partitions that are read at the same time: most of the time is waiting for a store."""

READERS = ThreadPool("partitions", AT_ONCE)


class Partition(NamedTuple):
    """A partition: its number, the row number of each vector, and the codes."""

    number: int
    rows: RowNumbers
    codes: Codes

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return int(self.rows.nbytes + sum(array.nbytes for array in self.codes))


class PartitionCache:
    """The partitions of an index that were used last; thread-safe."""

    def __init__(self, reader: IndexFileReader, model: IvfModel, quantizer: Quantizer) -> None:
        self._reader = reader
        self._model = model
        self._quantizer = quantizer
        self._columns = [ROW_ID, *quantizer.columns]
        self._partitions: LruCache[int, Partition] = LruCache(
            MAX_CACHED_BYTES, lambda partition: partition.nbytes + 256, made_once=True
        )

    @property
    def nbytes(self) -> int:
        """The most bytes that cached partitions take."""
        rows = int(self._model.lengths.sum())
        return min(MAX_CACHED_BYTES, rows * (8 + self._quantizer.bytes_per_row))

    def get(self, numbers: Sequence[int]) -> list[Partition]:
        """The partitions with these numbers that have rows. Raises `CorruptFileError`."""
        present = [number for number in numbers if self._model.lengths[number]]
        missing = [number for number in present if number not in self._partitions]
        if missing:
            count_parts(len(missing))
            if not self._reader.are_adjacent(self._columns, *self._range(missing[0])):
                self._get(missing[0])  # reads what all need: once, not in each thread
            return list(READERS.in_order(self._get, present, AT_ONCE))
        return [self._get(number) for number in present]

    def _get(self, number: int) -> Partition:
        return self._partitions.get(number, lambda: self._read(number))

    @cached_property
    def _narrow(self) -> dict[str, pa.Array]:
        """The columns of one number a row, all of them where that takes one short request.

        A partition has a small part of each; its codes then take one request. For files of other
        writers: here all columns of a partition are adjacent.
        """
        types = {ROW_ID: pa.uint64(), **self._quantizer.columns}
        names = [
            name for name, data_type in types.items() if not pa.types.is_fixed_size_list(data_type)
        ]
        size = sum(types[name].bit_width // 8 for name in names) * self._reader.num_rows
        if size > _NARROW_BYTES:
            return {}
        return dict(zip(names, self._reader.arrays(names), strict=True))

    def load_all(self) -> None:
        """Read as many partitions as are cached."""
        sizes = np.cumsum(self._model.lengths * (8 + self._quantizer.bytes_per_row))
        self.get(range(int(np.searchsorted(sizes, MAX_CACHED_BYTES, side="right"))))

    def _read(self, number: int) -> Partition:
        start, stop = self._range(number)
        columns = self._reader.adjacent_arrays(self._columns, start, stop)
        if columns is None:
            arrays = {name: own.slice(start, stop - start) for name, own in self._narrow.items()}
            others = [name for name in self._columns if name not in arrays]
            arrays |= zip(others, self._reader.arrays(others, start, stop), strict=True)
            columns = [arrays[name] for name in self._columns]
        rows, *codes = columns
        numbers = row_numbers(rows, self._reader.path)
        return Partition(number, numbers, self._quantizer.load(codes))

    def _range(self, number: int) -> tuple[int, int]:
        """The first row of a partition in the file, and the one after the last."""
        start = int(self._model.offsets[number])
        return start, start + int(self._model.lengths[number])
