"""The u64 ends of variable-width values and of lists, with nulls marked by an adjustment.

The end of value i is where value i + 1 starts; value 0 starts at 0. A null's end is its real end
plus an adjustment that is larger than any real end of the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.v2_0.flat import FixedWidthPlan
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ByteRange

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array
    from lance_core.encodings.v2_0.base import ArrayPlan

Valid = npt.NDArray[np.bool_] | None
"""Which values are valid; None: all of them."""

UInt64Array = npt.NDArray[np.uint64]


class PickedOffsets(NamedTuple):
    """Start and end of single values, ascending and without overlap, and which are valid."""

    starts: Int64Array
    stops: Int64Array
    valid: Valid


@dataclass(frozen=True, slots=True)
class Ends:
    """``stored`` decodes the ends as they are stored; 0 as ``adjustment`` makes all values null.

    ``start`` is the byte of the file where they are, if they are there as they are.
    """

    stored: ArrayPlan
    adjustment: int
    start: int | None

    @classmethod
    def of(cls, stored: ArrayPlan, adjustment: int) -> Ends:
        """The ends that ``stored`` decodes as uint64."""
        if isinstance(stored, FixedWidthPlan) and stored.validity is None:
            return cls(stored, adjustment, stored.start)
        return cls(stored, adjustment, None)

    def read(self, rows: RowRange, context: DecodeContext) -> Decoding[UInt64Array]:
        """Stored ends of ``rows`` and, unless they start at 0, of the row before them."""
        first = rows.start - 1 if rows.start else 0
        return (yield from self._read(first, rows.stop, context))

    def pick(self, positions: Int64Array, context: DecodeContext) -> Decoding[UInt64Array]:
        """Stored ends of the values before ``positions``, then those of the values there.

        What stands for the end before the first value of all is the stored end of another.
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

    def _read(self, first: int, stop: int, context: DecodeContext) -> Decoding[UInt64Array]:
        if self.start is None:
            wanted = RowRange(first, stop)
            return _as_uint64((yield from self.stored.decode(wanted, context)))
        (data,) = yield [ByteRange(self.start + 8 * first, self.start + 8 * stop)]
        return np.frombuffer(data, np.uint64)

    def real(self, stored: UInt64Array, size: int) -> tuple[Int64Array, Valid]:
        """Real ends and which values are valid. `CorruptFileError` for an end past ``size``."""
        valid = None
        peak = int(stored.max())
        if peak >= self.adjustment:
            valid = stored < self.adjustment
            without = stored - np.uint64(self.adjustment)  # wraps around to more where valid
            stored = np.minimum(stored, without, out=without)
            peak = int(stored.max())
        if peak > size:
            raise CorruptFileError(f"a value ends at {peak} of {size}")
        return stored.view(np.int64), valid

    def real_end(self, stored: int, size: int) -> tuple[int, bool]:
        """What `real` does, for one end: the real end and whether the value is null."""
        is_null = stored >= self.adjustment
        end = stored - self.adjustment if is_null else stored
        if end > size:
            raise CorruptFileError(f"a value ends at {end} of {size}")
        return end, is_null

    def real_spans(self, picked: UInt64Array, from_first: bool, size: int) -> PickedOffsets:
        """What `pick` returned, as starts and stops; ``from_first``: position 0 is among them."""
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
    """Decoded ends as one numpy array."""
    array = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    if array.null_count:
        raise CorruptFileError("the end of a value is null")
    return np.frombuffer(array.buffers()[1], np.uint64, len(array), array.offset * 8)


def adjusted(ends: UInt64Array, array: pa.Array, adjustment: int) -> UInt64Array:
    """Ends of the values of ``array`` with the nulls among them marked."""
    if not array.null_count:
        return ends
    return ends + np.where(array.is_null(), np.uint64(adjustment), np.uint64(0))
