"""`PartitionedRows`: encoded rows, batch by batch, then partition by partition.

Rows wait in memory, sorted by partition. Above a budget they go to a temporary file, as a run in
which each partition is a slice: a partition is read as one slice of each run, so that memory does
not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.indices import spill_errors

MEMORY = 128 << 20
"""Bytes of rows that wait in memory, by default."""

RowNumbers = npt.NDArray[np.uint64]
Codes = npt.NDArray[Any]


class _Batch(NamedTuple):
    """Rows in memory: those of partition i are ``starts[i]`` to ``starts[i + 1]``."""

    starts: npt.NDArray[np.int64]
    rows: RowNumbers
    codes: Codes

    def slice(self, partition: int) -> tuple[RowNumbers, Codes]:
        some = slice(*self.starts[partition : partition + 2].tolist())
        return self.rows[some], self.codes[some]


class _Run(NamedTuple):
    """Rows in the file: all row numbers from the byte ``rows_at`` on, then all codes."""

    starts: npt.NDArray[np.int64]
    rows_at: int
    codes_at: int


class PartitionedRows:
    """Rows of ``count`` partitions; a context manager, which closes the file.

    ``scratch`` returns a folder for what exceeds ``memory`` bytes. ``lengths``: the rows of each
    partition. ``chosen``: the partitions to write, in this order, at first all. Raises `StoreError`
    if the file cannot be written or read.
    """

    def __init__(self, count: int, scratch: Callable[[], Path], memory: int = MEMORY) -> None:
        self._count = count
        self._scratch = scratch
        self._memory = memory
        self._batches: list[_Batch] = []
        self._bytes = 0
        self._runs: list[_Run] = []
        self._file: BinaryIO | None = None
        self._codes = np.empty(0, np.uint8)  # has the type and the shape of codes
        self.lengths = np.zeros(count, np.int64)
        self.chosen: npt.NDArray[np.intp] = np.arange(count)

    def add(self, partitions: npt.NDArray[Any], rows: RowNumbers, codes: Codes) -> None:
        """Add rows with their partitions and codes."""
        if not len(rows):
            return
        order = np.argsort(partitions, kind="stable")
        sizes = np.bincount(partitions, minlength=self._count)
        self.lengths += sizes
        batch = _Batch(np.append(0, np.cumsum(sizes)), rows[order], codes[order])
        self._batches.append(batch)
        self._codes = codes[:0].copy()
        self._bytes += batch.rows.nbytes + batch.codes.nbytes
        if self._bytes > self._memory:
            self._spill()

    def replace(self, partitions: npt.NDArray[np.intp], more: int) -> None:
        """Do not write ``partitions``, but ``more`` new ones, whose rows are still to be added."""
        remaining = np.setdiff1d(self.chosen, partitions)
        self.chosen = np.append(remaining, np.arange(self._count, self._count + more))
        self._count += more
        self.lengths = np.append(self.lengths, np.zeros(more, np.int64))
        self._batches = [
            batch._replace(starts=_extended(batch.starts, more)) for batch in self._batches
        ]
        self._runs = [run._replace(starts=_extended(run.starts, more)) for run in self._runs]

    def rows_of(self, number: int) -> RowNumbers:
        """The row numbers of a partition, in any order."""
        rows = [self._rows(source, number) for source in self._sources()]
        return np.concatenate(rows) if rows else np.empty(0, np.uint64)

    def partition(self, number: int) -> tuple[RowNumbers, Codes]:
        """The row numbers, ascending, and codes of a partition."""
        parts = list(self._parts(number))
        rows = np.concatenate([part[0] for part in parts])
        codes = np.concatenate([part[1] for part in parts])
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            rows, codes = rows[order], codes[order]
        return rows, codes

    def slices(self, number: int, size: int | None) -> Iterator[tuple[RowNumbers, Codes]]:
        """The same as `partition`, in slices of about ``size`` bytes; None for one slice."""
        bytes_per_row = self._codes.dtype.itemsize * int(np.prod(self._codes.shape[1:]))
        step = None if size is None else max(1, size // max(1, bytes_per_row))
        if step is None or self.lengths[number] <= step:
            yield self.partition(number)
            return
        sources = self._sources()
        rows = [self._rows(source, number) for source in sources]
        ends = np.cumsum([len(own) for own in rows])
        every = np.concatenate(rows)
        order = np.argsort(every, kind="stable")
        for start in range(0, len(order), step):
            chosen = order[start : start + step]
            codes = np.empty((len(chosen), *self._codes.shape[1:]), self._codes.dtype)
            which = np.searchsorted(ends, chosen, side="right")
            for source in np.unique(which).tolist():
                mine = which == source
                offsets = chosen[mine] - (ends[source] - len(rows[source]))
                first, stop = int(offsets.min()), int(offsets.max()) + 1
                codes[mine] = self._codes_of(sources[source], number, first, stop)[offsets - first]
            yield every[chosen], codes

    def _sources(self) -> list[_Run | _Batch]:
        return [*self._runs, *self._batches]

    def _parts(self, number: int) -> Iterator[tuple[RowNumbers, Codes]]:
        for source in self._sources():
            rows = self._rows(source, number)
            yield rows, self._codes_of(source, number, 0, len(rows))

    def _rows(self, source: _Run | _Batch, number: int) -> RowNumbers:
        start, stop = source.starts[number : number + 2].tolist()
        if isinstance(source, _Batch):
            return source.rows[start:stop]
        return self._read(source.rows_at, np.empty(0, np.uint64), start, stop)

    def _codes_of(self, source: _Run | _Batch, number: int, first: int, stop: int) -> Codes:
        """The codes of the rows ``first`` to ``stop`` of a partition."""
        start = int(source.starts[number])
        if isinstance(source, _Batch):
            return source.codes[start + first : start + stop]
        return self._read(source.codes_at, self._codes, start + first, start + stop)

    def _read(self, at: int, like: npt.NDArray[Any], start: int, stop: int) -> npt.NDArray[Any]:
        """The items ``start`` to ``stop``, of the type and shape of those of ``like``."""
        assert self._file is not None
        width = int(np.prod(like.shape[1:]))
        with spill_errors():
            self._file.seek(at + start * width * like.dtype.itemsize)
            items = np.fromfile(self._file, like.dtype, (stop - start) * width)
        return items.reshape(stop - start, *like.shape[1:])

    def _spill(self) -> None:
        """Write all rows in memory as one run."""
        with spill_errors():
            if self._file is None:
                self._file = (Path(self._scratch()) / "codes").open("w+b")
            rows_at = self._file.seek(0, 2)
            for number in range(self._count):
                for batch in self._batches:
                    batch.slice(number)[0].tofile(self._file)
            codes_at = self._file.tell()
            for number in range(self._count):
                for batch in self._batches:
                    np.ascontiguousarray(batch.slice(number)[1]).tofile(self._file)
        starts = np.sum([batch.starts for batch in self._batches], axis=0)
        self._runs.append(_Run(starts, rows_at, codes_at))
        self._batches, self._bytes = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()


def _extended(starts: npt.NDArray[np.int64], more: int) -> npt.NDArray[np.int64]:
    return np.append(starts, np.full(more, starts[-1]))
