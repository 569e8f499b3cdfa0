"""Decoding without I/O: a decoder asks for byte ranges and is later given the buffers.

A decoder is a generator. It yields lists of `ByteRange` (offsets from the start of the data file),
is sent one `pyarrow.Buffer` per range, and finally returns its result. What drives it decides how
the bytes are fetched; `run_interleaved` lets many decoders share each round, so that a scan of many
columns costs as many rounds as its deepest column, not the sum.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ByteRange

T = TypeVar("T")

Decoding = Generator[Sequence[ByteRange], Sequence[pa.Buffer], T]
"""A running decoder with result T."""

Int64Array = npt.NDArray[np.int64]

Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
"""Where values start and stop, one more than there are values."""


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows ``start`` (inclusive) to ``stop`` (exclusive)."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def first(self) -> int:
        return self.start

    @property
    def last(self) -> int:
        """One below ``start`` if there are none."""
        return self.stop - 1

    def moved(self, by: int) -> RowRange:
        """Rows whose numbers are higher by as much."""
        return RowRange(self.start + by, self.stop + by) if by else self


@dataclass(frozen=True, slots=True, eq=False)
class RowIndices:
    """Single rows: strictly ascending row numbers, at least one."""

    values: Int64Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def numbers(self) -> Int64Array:
        """The row numbers, which rows in another order have, too."""
        return self.values

    @property
    def first(self) -> int:
        return int(self.values[0])

    @property
    def last(self) -> int:
        return int(self.values[-1])

    def moved(self, by: int) -> RowIndices:
        """Rows whose numbers are higher by as much."""
        return RowIndices(self.values + by) if by else self


Rows = RowRange | RowIndices
"""Which rows of a page, a column or a file are wanted; results keep ascending order."""


def packed_rows(values: Int64Array) -> Rows:
    """Rows by strictly ascending numbers: a range if they follow each other, also if none."""
    if not len(values):
        return RowRange(0, 0)
    first, last = int(values[0]), int(values[-1])
    if last - first + 1 == len(values):
        return RowRange(first, last + 1)
    return RowIndices(values)


def run_interleaved(decodings: Sequence[Decoding[T]]) -> Decoding[list[T]]:
    """Run decoders side by side; each round asks for the ranges of all that are still running."""
    if len(decodings) == 1:
        return [(yield from decodings[0])]
    results: dict[int, T] = {}
    waiting: list[tuple[int, Decoding[T], Sequence[ByteRange]]] = []
    for number, decoding in enumerate(decodings):
        try:
            waiting.append((number, decoding, next(decoding)))
        except StopIteration as done:
            results[number] = done.value
    while waiting:
        buffers = yield [r for _, _, ranges in waiting for r in ranges]
        position = 0
        still: list[tuple[int, Decoding[T], Sequence[ByteRange]]] = []
        for number, decoding, ranges in waiting:
            mine = buffers[position : position + len(ranges)]
            position += len(ranges)
            try:
                still.append((number, decoding, decoding.send(mine)))
            except StopIteration as done:
                results[number] = done.value
        waiting = still
    return [results[number] for number in range(len(decodings))]


def decode_in_memory(decoding: Decoding[T], data: pa.Buffer) -> T:
    """Run a decoder whose ranges all lie in ``data``; offsets count from its start."""
    try:
        ranges = next(decoding)
        while True:
            ranges = decoding.send([data.slice(r.start, r.stop - r.start) for r in ranges])
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # StopIteration is not generic


ValuePositions = slice | Int64Array
"""Which values are selected: a range, or ascending positions."""
