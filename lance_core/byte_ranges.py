"""Ranges of bytes, one by one or as arrays, so that many of them need no Python object each.

A decoder may request `RangeArrays` instead of a list of ranges, and a reader of files may return
`BufferSlices` instead of a list of buffers. Both are sequences, so code for few ranges works with
either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

BytesLike: TypeAlias = pa.Buffer | bytes | bytearray | memoryview
"""One piece of data in memory."""

_Int64s: TypeAlias = npt.NDArray[np.int64]

JoinSlices: TypeAlias = Callable[
    [Sequence[pa.Buffer], _Int64s, _Int64s, _Int64s], npt.NDArray[np.uint8]
]
"""The kernel `lance_core.encodings.kernels.Kernels.join_slices`."""


CopyRanges: TypeAlias = Callable[[Sequence[tuple[int, int, int, int]], int, bytearray], None]
"""The kernel `lance_core.encodings.kernels.Kernels.copy_ranges`."""


class ByteRange(NamedTuple):
    """Bytes ``start`` (inclusive) to ``stop`` (exclusive) of an object, ``0 <= start <= stop``."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        return self.stop - self.start


byte_range: Callable[[tuple[int, int]], ByteRange] = partial(tuple.__new__, ByteRange)
"""The range of a pair, without a call of a Python function."""


def byte_ranges(starts: Iterable[int], stops: Iterable[int]) -> list[ByteRange]:
    """The ranges from ``starts[i]`` to ``stops[i]``, without a Python call for each."""
    return list(map(byte_range, zip(starts, stops, strict=True)))


class RangeArrays(Sequence[ByteRange]):
    """The ranges ``starts[i]`` to ``stops[i]``; an item is created on access."""

    __slots__ = ("starts", "stops")

    def __init__(self, starts: _Int64s, stops: _Int64s) -> None:
        self.starts = starts
        self.stops = stops

    @classmethod
    def of(cls, ranges: Sequence[ByteRange]) -> RangeArrays:
        """``ranges`` as arrays."""
        if isinstance(ranges, RangeArrays):
            return ranges
        flat = np.fromiter(chain.from_iterable(ranges), np.int64, 2 * len(ranges))
        return cls(flat[::2], flat[1::2])

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[ByteRange]:
        return iter(byte_ranges(self.starts.tolist(), self.stops.tolist()))

    @overload
    def __getitem__(self, index: int) -> ByteRange: ...

    @overload
    def __getitem__(self, index: slice) -> RangeArrays: ...

    def __getitem__(self, index: int | slice) -> ByteRange | RangeArrays:
        if isinstance(index, slice):
            return RangeArrays(self.starts[index], self.stops[index])
        return ByteRange(int(self.starts[index]), int(self.stops[index]))


def concatenated(requests: Sequence[Sequence[ByteRange]]) -> Sequence[ByteRange]:
    """All ranges, one request after the other; as arrays if those of a request are."""
    if len(requests) == 1:
        return requests[0]
    if RangeArrays not in map(type, requests):
        return list(chain.from_iterable(requests))
    parts = [RangeArrays.of(ranges) for ranges in requests]
    starts = np.concatenate([part.starts for part in parts])
    return RangeArrays(starts, np.concatenate([part.stops for part in parts]))


class BufferSlices(Sequence[pa.Buffer]):
    """Slices of buffers; an item is created on access.

    Slice i has the bytes ``starts[i]`` to ``stops[i]`` of ``buffers[owners[i]]``.
    """

    __slots__ = ("buffers", "owners", "starts", "stops")

    def __init__(
        self,
        buffers: Sequence[pa.Buffer],
        owners: _Int64s,
        starts: _Int64s,
        stops: _Int64s,
    ) -> None:
        self.buffers = buffers
        self.owners = owners
        self.starts = starts
        self.stops = stops

    @classmethod
    def of(cls, buffers: Sequence[pa.Buffer]) -> BufferSlices:
        """``buffers`` as slices."""
        if isinstance(buffers, BufferSlices):
            return buffers
        count = len(buffers)
        sizes = np.fromiter(map(len, buffers), np.int64, count)
        return cls(buffers, np.arange(count), np.zeros(count, np.int64), sizes)

    @property
    def sizes(self) -> _Int64s:
        """The bytes of each slice."""
        return self.stops - self.starts

    def __len__(self) -> int:
        return len(self.owners)

    @overload
    def __getitem__(self, index: int) -> pa.Buffer: ...

    @overload
    def __getitem__(self, index: slice | _Int64s) -> BufferSlices: ...

    def __getitem__(self, index: Any) -> pa.Buffer | BufferSlices:
        owners, starts, stops = self.owners[index], self.starts[index], self.stops[index]
        if isinstance(index, slice | np.ndarray):
            return BufferSlices(self.buffers, owners, starts, stops)
        return self.buffers[owners].slice(int(starts), int(stops - starts))

    def __iter__(self) -> Iterator[pa.Buffer]:
        slices = zip(self.owners.tolist(), self.starts.tolist(), self.sizes.tolist(), strict=True)
        buffers = self.buffers
        return (buffers[owner].slice(start, size) for owner, start, size in slices)

    def first(self, sizes: _Int64s) -> BufferSlices:
        """The first ``sizes[i]`` bytes of each slice, which has as many."""
        return BufferSlices(self.buffers, self.owners, self.starts, self.starts + sizes)

    def joined(self, join: JoinSlices) -> npt.NDArray[np.uint8]:
        """All bytes, one slice after the other; those of a single slice are not copied."""
        if len(self) == 1:
            return np.frombuffer(self[0], np.uint8)
        return join(self.buffers, self.owners, self.starts, self.stops)
