"""Ranges of a buffer, checked, without a copy."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.store.base import ByteRange


def slice_ranges(whole: pa.Buffer, ranges: Sequence[ByteRange], path: str) -> list[pa.Buffer]:
    """A view of ``whole``, the object at ``path``, for each range; errors as `check_ranges`."""
    size = whole.size
    view = whole.slice
    slices = [view(start, stop - start) for start, stop in ranges if 0 <= start <= stop <= size]
    if len(slices) < len(ranges):
        check_ranges(ranges, size, path)
    return slices


def check_ranges(ranges: Sequence[ByteRange], size: int, path: str) -> None:
    """Raise if a range cannot be read from the object at ``path``, which has ``size`` bytes.

    `CorruptFileError` for one that ends past the object, `InvalidInputError` for one that no
    object could have.
    """
    for start, stop in ranges:
        if not 0 <= start <= stop:
            raise InvalidInputError(f"bytes {start} to {stop} are no range")
        if stop > size:
            raise CorruptFileError(
                f"bytes {start} to {stop} were asked for, the file has {size}", path, start
            )
