"""Read and write the payloads of version 1 blobs, which lie outside of pages.

The page of a blob column holds one description (position, size) per row. Position 1 with size 0
stands for null, position 0 with size 0 for an empty value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import span_ranges, span_take
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array


DESCRIPTION = pa.struct(
    [pa.field("position", pa.uint64(), False), pa.field("size", pa.uint64(), False)]
)
"""The storage type of the pages of a blob column."""


ALIGNMENT = 64
"""Alignment of payloads in the file, in bytes."""


_WRITTEN_ALONE = 4096


def payloads(
    positions: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint64], context: DecodeContext
) -> Decoding[pa.Array]:
    """The payloads of ``sizes`` bytes at the file ``positions``, as large_binary without nulls.

    Raises `CorruptFileError` for payloads that overlap or are not within the file.
    """
    starts, stops, order = _spans(positions, sizes, context.file_size)
    ranges, cuts = span_ranges(0, starts, stops, context.coalesce_gap)
    buffers = yield ranges
    if len(buffers) == 1 and (starts[1:] == stops[:-1]).all():
        taken = _adjoining(buffers[0], starts, stops)
    else:
        taken = span_take(buffers, cuts, starts, stops, large=True)
    return taken if order is None else taken.take(pa.array(np.argsort(order)))


def _adjoining(buffer: pa.Buffer, starts: Int64Array, stops: Int64Array) -> pa.Array:
    """An array over ``buffer`` without a copy, for payloads without gaps between them."""
    offsets = np.append(starts, stops[-1]) - starts[0]
    return pa.Array.from_buffers(
        pa.large_binary(), len(starts), [None, pa.py_buffer(offsets), buffer], 0
    )


def _spans(
    positions: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint64], file_size: int
) -> tuple[Int64Array, Int64Array, Int64Array | None]:
    """Ascending starts and ends of the payloads, and the sort order (None if already sorted)."""
    full = sizes > 0
    limit = np.uint64(file_size)
    if (sizes > limit).any() or (positions[full] > limit - sizes[full]).any():
        raise CorruptFileError("a blob ends past the file")
    starts = positions.astype(np.int64)
    stops = starts + sizes.astype(np.int64)
    # Give an empty payload the end of the payload before it, so that all positions ascend.
    before = np.maximum.accumulate(np.where(full, stops, 0))
    starts, stops = np.where(full, starts, before), np.where(full, stops, before)
    order = None
    if (starts[1:] < stops[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, stops = starts[order], stops[order]
        if (starts[1:] < stops[:-1]).any():
            raise CorruptFileError("the byte ranges of two blobs overlap")
    return starts, stops, order


def encode_blobs(array: pa.Array, write_buffer: Callable[[pa.Buffer], int]) -> pa.StructArray:
    """Write the values of a large_binary array and return their descriptions."""
    sizes = sizes_of(array)
    positions = np.where(np.asarray(array.is_valid()), 0, 1).astype(np.int64)
    full = np.flatnonzero(sizes)
    positions[full] = write_payloads(array, full, sizes[full], write_buffer)
    columns = [pa.array(values.view(np.uint64)) for values in (positions, sizes)]
    return pa.StructArray.from_arrays(columns, fields=list(DESCRIPTION))


def sizes_of(array: pa.Array) -> Int64Array:
    """The size in bytes of each value of a large_binary array; 0 for null."""
    sizes = np.diff(offsets_of(array))
    if array.null_count:
        sizes[np.asarray(array.is_null())] = 0
    return sizes


def write_payloads(
    array: pa.Array, rows: Int64Array, sizes: Int64Array, write_buffer: Callable[[pa.Buffer], int]
) -> Int64Array:
    """Write the values at ``rows``, all of which have at least one byte; return their positions.

    Small values are padded and joined before writing. Larger values are written without a copy.
    """
    if not len(rows):
        return rows
    if int(sizes.sum()) >= _WRITTEN_ALONE * len(rows):
        return _write_each(array, rows, sizes, write_buffer)
    if len(rows) < np.count_nonzero(sizes_of(array)):
        array, rows = array.take(pa.array(rows)), np.arange(len(rows))
    return _write_joined(array, rows, sizes, write_buffer)


def offsets_of(array: pa.Array) -> Int64Array:
    """The data offsets of a large_binary array: the start of each value and the end of the last."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array) + 1, np.int64)
    return np.frombuffer(buffer, np.int64, len(array) + 1, array.offset * 8)


def _write_each(
    array: pa.Array, rows: Int64Array, sizes: Int64Array, write_buffer: Callable[[pa.Buffer], int]
) -> Int64Array:
    data, starts = array.buffers()[2], offsets_of(array)[rows]
    spans = zip(starts.tolist(), sizes.tolist(), strict=True)
    return np.array([write_buffer(data.slice(start, size)) for start, size in spans], np.int64)


def _write_joined(
    array: pa.Array, rows: Int64Array, sizes: Int64Array, write_buffer: Callable[[pa.Buffer], int]
) -> Int64Array:
    """Write values and their padding as alternating values of one array, in a single write."""
    paddings = pa.array([b"H" * n for n in range(ALIGNMENT)], pa.large_binary())
    both = np.empty(2 * len(rows), np.int64)
    both[::2] = rows
    both[1::2] = len(array) + -sizes % ALIGNMENT
    both[-1] = len(array)
    joined = concat_arrays([array, paddings]).take(pa.array(both))
    ends = np.frombuffer(joined.buffers()[1], np.int64, len(joined) + 1)
    base = write_buffer(joined.buffers()[2].slice(0, int(ends[-1])))
    return base + ends[:-1:2]
