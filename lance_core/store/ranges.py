"""Validated slices of a buffer, without a copy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.byte_ranges import BufferSlices, ByteRange, RangeArrays
from lance_core.errors import CorruptFileError, InvalidInputError


def slice_ranges(whole: pa.Buffer, ranges: Sequence[ByteRange], path: str) -> list[pa.Buffer]:
    """A view of ``whole``, the object at ``path``, for each range; raises like `check_ranges`."""
    size = whole.size
    view = whole.slice
    slices = [view(start, stop - start) for start, stop in ranges if 0 <= start <= stop <= size]
    if len(slices) < len(ranges):
        check_ranges(ranges, size, path)
    return slices


def view_ranges(whole: pa.Buffer, ranges: Sequence[ByteRange], path: str) -> Sequence[pa.Buffer]:
    """`slice_ranges`, with slices that are arrays if the ranges are."""
    # The first test is for speed: that of a class for sequences is Python code.
    if type(ranges) is list or not isinstance(ranges, RangeArrays):
        return slice_ranges(whole, ranges, path)
    starts, stops = ranges.starts, ranges.stops
    if not ((starts >= 0) & (starts <= stops) & (stops <= whole.size)).all():
        check_ranges(ranges, whole.size, path)
    return BufferSlices([whole], np.zeros(len(ranges), np.int64), starts, stops)


def check_ranges(ranges: Sequence[ByteRange], size: int, path: str) -> None:
    """Raise if a range cannot be read from the object at ``path``, which has ``size`` bytes.

    Raises `CorruptFileError` for a range that ends past the object, `InvalidInputError` for an
    invalid range.
    """
    for start, stop in ranges:
        if not 0 <= start <= stop:
            raise InvalidInputError(f"bytes {start} to {stop} are not a valid range")
        if stop > size:
            raise CorruptFileError(
                f"bytes {start} to {stop} were requested, the file has {size}", path, start
            )
