"""Plan the requests for ranges of an object, and slice the responses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass

_EMPTY = pa.py_buffer(b"")


class Extent(NamedTuple):
    """Contiguous bytes that are read together, in one request or, if it is long, in several."""

    start: int
    stop: int

    def pieces(self, size: int) -> list[ByteRange]:
        """The requests: of about equal length, none longer than ``size`` bytes."""
        length = self.stop - self.start
        number = -(-length // size)
        if number <= 1:
            return [ByteRange(self.start, self.stop)]
        step = -(-length // number)
        bounds = [*range(self.start, self.stop, step), self.stop]
        return [ByteRange(*pair) for pair in pairwise(bounds)]


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The ascending extents that contain ``ranges``, and the extent of each range."""

    ranges: Sequence[ByteRange]
    extents: list[Extent]
    positions: list[int]

    def cut(self, buffers: Sequence[pa.Buffer]) -> list[pa.Buffer]:
        """A view for each range, from the bytes of each extent."""
        starts = [extent.start for extent in self.extents]
        return [
            buffers[number].slice(start - starts[number], stop - start) if stop > start else _EMPTY
            for number, (start, stop) in zip(self.positions, self.ranges, strict=True)
        ]


def plan_reads(ranges: Sequence[ByteRange], gap: int, size: int) -> ReadPlan:
    """Plan extents for ``ranges``, which may overlap and have any order.

    Ranges less than ``gap`` bytes apart share an extent while it has at most ``size`` bytes;
    overlapping ranges always share one. Empty ranges need none. Raises `InvalidInputError` for an
    invalid range.
    """
    if len(ranges) == 1 and 0 <= ranges[0][0] < ranges[0][1]:
        return ReadPlan(ranges, [Extent(*ranges[0])], [0])
    extents: list[Extent] = []
    extent_numbers = [0] * len(ranges)
    first = last = -1
    for number in sorted(range(len(ranges)), key=ranges.__getitem__):
        start, stop = ranges[number]
        if start < 0 or stop <= start:
            if start < 0 or stop < start:
                raise InvalidInputError(f"bytes {start} to {stop} are not a valid range")
            continue
        if last >= 0 and (start < last or (start - last < gap and max(stop, last) - first <= size)):
            if stop > last:
                last = stop
                extents[-1] = Extent(first, last)
        else:
            first, last = start, stop
            extents.append(Extent(first, last))
        extent_numbers[number] = len(extents) - 1
    return ReadPlan(ranges, extents, extent_numbers)
