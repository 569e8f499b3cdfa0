"""`PartitionCache`: the row numbers and codes of partitions, read when a query needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.concurrency import LruCache
from lance_core.hookspecs.indices import RowNumbers, count_parts
from lance_core_vector.partitions.index_files import ROW_ID

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.hookspecs.indices import IndexFileReader
    from lance_core_vector.partitions.index_files import IvfModel
    from lance_core_vector.quantizers.base import Codes, Quantizer

MAX_CACHED_BYTES = 512 << 20
"""Maximum bytes of cached partitions of an index."""

_READ_BYTES = 64 << 20
"""Bytes of adjacent partitions that are read at once to load all of them."""


class Partition(NamedTuple):
    """A partition: its number, the row number of each vector, and the codes."""

    number: int
    rows: RowNumbers
    codes: Codes

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return int(self.rows.nbytes + sum(one.nbytes for one in self.codes))


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
        lengths = self._model.lengths
        return [
            self._partitions.get(number, lambda number=number: self._read(number))  # type: ignore[misc]
            for number in numbers
            if lengths[number]
        ]

    def load_all(self) -> None:
        """Read as many partitions as are cached."""
        total = 0
        for number, length in enumerate(self._model.lengths.tolist()):
            total += length * (8 + self._quantizer.bytes_per_row)
            if total > MAX_CACHED_BYTES:
                return
            self.get([number])

    def _read(self, number: int) -> Partition:
        count_parts(1)
        start = int(self._model.offsets[number])
        arrays = self._reader.arrays(self._columns, start, start + int(self._model.lengths[number]))
        rows = self._row_numbers(arrays[0])
        return Partition(number, rows, self._quantizer.load(arrays[1:]))

    def _row_numbers(self, values: pa.Array) -> npt.NDArray[Any]:
        if values.null_count:
            raise CorruptFileError("a row number is null", self._reader.path, field=ROW_ID)
        found: npt.NDArray[np.uint64] = values.to_numpy()
        return found
