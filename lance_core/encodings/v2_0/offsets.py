"""u64 end offsets of variable-width values and of lists, with nulls marked by an adjustment.

The end of value i is the start of value i + 1; value 0 starts at 0. The stored end of a null is its
real end plus an adjustment that exceeds any real end of the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.v2_0.flat import FixedWidthPlan
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array
    from lance_core.encodings.v2_0.base import ArrayPlan

Valid = npt.NDArray[np.bool_] | None
"""A mask of the valid values; None: all are valid."""

UInt64Array = npt.NDArray[np.uint64]


class PickedOffsets(NamedTuple):
    """Starts and ends of single values, ascending without overlap, and the mask of valid values."""

    starts: Int64Array
    stops: Int64Array
    valid: Valid


@dataclass(frozen=True, slots=True)
class Ends:
    """Reads ends with the plan ``stored``. An ``adjustment`` of 0 makes all values null.

    ``start`` is the file position of the ends if they are plain u64 values, else None.
    """

    stored: ArrayPlan
    adjustment: int
    start: int | None

    @classmethod
    def of(cls, stored: ArrayPlan, adjustment: int) -> Ends:
        """Ends that ``stored`` decodes as uint64."""
        if isinstance(stored, FixedWidthPlan) and stored.validity is None:
            return cls(stored, adjustment, stored.start)
        return cls(stored, adjustment, None)

    def read(self, rows: RowRange, context: DecodeContext) -> Decoding[UInt64Array]:
        """Stored ends of ``rows``, preceded by the end of the row before them if there is one."""
        first = rows.start - 1 if rows.start else 0
        return (yield from self._read(first, rows.stop, context))

    def pick(self, positions: Int64Array, context: DecodeContext) -> Decoding[UInt64Array]:
        """Stored ends of the values before ``positions``, then stored ends of ``positions``.

        Value 0 has no value before it; the result has an arbitrary stored end in that place.
        """
        first, last = max(0, int(positions[0]) - 1), int(positions[-1])
        if (last - first) * 8 <= context.coalesce_gap:
            ends = yield from self._read(first, last + 1, context)
            at = positions - first
        else:
            both = np.unique(np.maximum(np.concatenate([positions - 1, positions]), 0))
            ends = _as_uint64((yield from self.stored.decode(RowIndices(both), context)))
            at = np.searchsorted(both, positions)
        return ends.take(np.concatenate([at - 1, at]), mode="wrap")

    # "wrap" turns the index -1, which only position 0 gives, into a valid one.

    def _read(self, first: int, stop: int, context: DecodeContext) -> Decoding[UInt64Array]:
        if self.start is None:
            rows = RowRange(first, stop)
            return _as_uint64((yield from self.stored.decode(rows, context)))
        (data,) = yield [ByteRange(self.start + 8 * first, self.start + 8 * stop)]
        return np.frombuffer(data, np.uint64)

    def real(self, stored: UInt64Array, size: int) -> tuple[Int64Array, Valid]:
        """Real ends and the mask of valid values; `CorruptFileError` for an end above ``size``."""
        valid = None
        peak = int(stored.max())
        if peak >= self.adjustment:
            valid = stored < self.adjustment
            # For a valid value the subtraction wraps around to a larger number, so the minimum
            # keeps it.
            without = stored - np.uint64(self.adjustment)
            stored = np.minimum(stored, without, out=without)
            peak = int(stored.max())
        if peak > size:
            raise CorruptFileError(f"a value ends at {peak} of {size}")
        return stored.view(np.int64), valid

    def real_end(self, stored: int, size: int) -> tuple[int, bool]:
        """Equal to `real` for a single end: the real end, and True if the value is null."""
        is_null = stored >= self.adjustment
        end = stored - self.adjustment if is_null else stored
        if end > size:
            raise CorruptFileError(f"a value ends at {end} of {size}")
        return end, is_null

    def real_spans(self, picked: UInt64Array, from_first: bool, size: int) -> PickedOffsets:
        """Convert the result of `pick` to spans; ``from_first``: True if position 0 was picked."""
        real, valid = self.real(picked, size)
        count = len(picked) // 2
        starts, stops = real[:count], real[count:]
        if from_first:
            starts = starts.copy()
            starts[0] = 0
        if (starts > stops).any() or (starts[1:] < stops[:-1]).any():
            raise not_ascending()
        return PickedOffsets(starts, stops, None if valid is None else valid[count:])


def not_ascending() -> CorruptFileError:
    """The error for ends that do not ascend."""
    return CorruptFileError("the ends of values do not ascend")


def _as_uint64(arrays: list[pa.Array]) -> UInt64Array:
    """Decoded ends as one numpy array. Raises `CorruptFileError` for null ends."""
    array = concat_arrays(arrays)
    if array.null_count:
        raise CorruptFileError("the end of a value is null")
    return np.frombuffer(array.buffers()[1], np.uint64, len(array), array.offset * 8)


def adjusted(ends: UInt64Array, array: pa.Array, adjustment: int) -> UInt64Array:
    """``ends`` with ``adjustment`` added once to the end of each null, which marks it as null."""
    if not array.null_count:
        return ends
    return ends + np.where(array.is_null(), np.uint64(adjustment), np.uint64(0))
