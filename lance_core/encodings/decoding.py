"""Decoders without I/O: a decoder requests byte ranges and then receives their buffers.

A decoder is a generator. It yields lists of `ByteRange` (offsets from the start of the data file),
receives one `pyarrow.Buffer` per range, and returns its result. The caller decides how to fetch the
bytes. `run_interleaved` merges the requests of many decoders, so that a scan of many columns needs
as many rounds as its deepest column instead of the sum over all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.byte_ranges import ByteRange, concatenated
from lance_core.lazy_dataclass import dataclass

T = TypeVar("T")

# Generators, so that no decoder does I/O, and a round of many columns is one request:
# docs/design/0001-decoders-without-io.md.
Decoding = Generator[Sequence[ByteRange], Sequence[pa.Buffer], T]
"""A running decoder with result T."""

Int64Array = npt.NDArray[np.int64]
"""Counts, sizes or positions."""

Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
"""Offsets of n values: n + 1 ascending numbers; value i is between number i and i + 1."""


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows ``start`` (inclusive) to ``stop`` (exclusive)."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def numbers(self) -> Int64Array:
        """The row numbers."""
        return np.arange(self.start, self.stop)

    @property
    def first(self) -> int:
        return self.start

    @property
    def last(self) -> int:
        """The last row; ``start - 1`` if the range is empty."""
        return self.stop - 1

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last row."""
        return self.start, self.stop - 1

    def moved(self, by: int) -> RowRange:
        """The range with ``by`` added to each row number."""
        return RowRange(self.start + by, self.stop + by) if by else self


@dataclass(frozen=True, slots=True, eq=False)
class RowIndices:
    """Single rows: strictly ascending row numbers, at least one."""

    values: Int64Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def numbers(self) -> Int64Array:
        """The row numbers. The name is the same as in `OrderedRows`."""
        return self.values

    @property
    def first(self) -> int:
        return int(self.values[0])

    @property
    def last(self) -> int:
        return int(self.values[-1])

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last row."""
        return int(self.values[0]), int(self.values[-1])

    def moved(self, by: int) -> RowIndices:
        """The rows with ``by`` added to each row number."""
        return RowIndices(self.values + by) if by else self


Rows = RowRange | RowIndices
"""The rows of a page, column or file to read; results are in ascending order."""


def packed_rows(values: Int64Array) -> Rows:
    """Rows with strictly ascending numbers: a range if they are consecutive or empty."""
    if not len(values):
        return RowRange(0, 0)
    first, last = int(values[0]), int(values[-1])
    if last - first + 1 == len(values):
        return RowRange(first, last + 1)
    return RowIndices(values)


_Round = list[tuple[int, Decoding[Any], Sequence[ByteRange]]]
"""The decoders that have not finished: the index of each, and the ranges that it waits for."""

_RANGES = itemgetter(2)


def run_interleaved(decodings: Sequence[Decoding[T]]) -> Decoding[list[T]]:
    """Run decoders concurrently; each round requests the ranges of all unfinished decoders."""
    if len(decodings) == 1:
        return [(yield from decodings[0])]
    results: list[Any] = [None] * len(decodings)
    waiting: _Round = []
    for number, decoding in enumerate(decodings):
        try:
            waiting.append((number, decoding, next(decoding)))
        except StopIteration as done:
            results[number] = done.value
    while waiting:
        buffers = yield concatenated(list(map(_RANGES, waiting)))
        position = 0
        still: _Round = []
        for number, decoding, ranges in waiting:
            own = buffers[position : position + len(ranges)]
            position += len(ranges)
            try:
                still.append((number, decoding, decoding.send(own)))
            except StopIteration as done:
                results[number] = done.value
        waiting = still
    return results


def run_decoding(
    decoding: Decoding[T], fetch: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]
) -> T:
    """Run a decoder to its end; ``fetch`` returns the buffers of the requested ranges."""
    try:
        ranges = next(decoding)
        while True:
            ranges = decoding.send(fetch(ranges))
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # StopIteration is not generic


def decode_in_memory(decoding: Decoding[T], data: pa.Buffer) -> T:
    """Run a decoder whose ranges all lie in ``data``; offsets count from its start."""
    return run_decoding(
        decoding, lambda ranges: [data.slice(r.start, r.stop - r.start) for r in ranges]
    )


ValuePositions = slice | Int64Array
"""The values to select: a range, or ascending positions."""

ValueMatches = tuple[Int64Array, Int64Array]
"""Ascending positions of values that are in an index, and the number that each has there."""
