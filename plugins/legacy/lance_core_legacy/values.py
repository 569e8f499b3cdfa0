"""Decode pages of values: fixed-width values, or bytes followed by their int64 offsets.

0.1 files do not record which fixed-width values are null: a null reads as the stored value.
Offsets of variable-width values count from the start of the file. An empty value is read as null if
the field is nullable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import Spans, alignment, has_fixed_width, variable_arrays
from lance_core.hookspecs.stores import ByteRange
from lance_core_legacy.page_table import Pages
from lance_core_legacy.range_reads import fetch
from lance_core_legacy.selection import BatchSelection

if TYPE_CHECKING:
    from lance_core.hookspecs.arrays import Int64Array
    from lance_core.hookspecs.file_versions import DecodeContext, Decoding


def decode_fixed(
    type_: pa.DataType, pages: Pages, selection: BatchSelection, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    """Values of a fixed-width type, or fixed-size lists of such values."""
    item, per_row = _flattened(type_)
    if not has_fixed_width(item):
        raise UnsupportedFeatureError(f"files of version 0.1 cannot store values of type {type_}")
    if pa.types.is_boolean(item):
        return (yield from _decode_bits(type_, per_row, pages, selection, context))
    width = item.bit_width // 8 * per_row
    if len(selection.batches) == 1:
        return (yield from _decode_one(type_, item, width, pages, selection, context))
    starts, stops = _byte_places(pages, selection, width, context)
    fetched = yield from fetch(starts, stops, context)
    if not fetched.is_coarse:
        return [_array(type_, selection.num_rows, _aligned(fetched.joined(), item))]
    return [
        _array(type_, count, _aligned(piece, item))
        for count, piece in zip(selection.counts.tolist(), fetched.pieces(), strict=True)
    ]


def _decode_one(
    type_: pa.DataType,
    item: pa.DataType,
    width: int,
    pages: Pages,
    selection: BatchSelection,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """The values of a single range. Avoids numpy, whose overhead would triple the time."""
    batch, start, stop = (int(part[0]) for part in selection)
    position, length = int(pages.positions[batch]), int(pages.lengths[batch])
    range_ = ByteRange(position + start * width, position + stop * width)
    if stop > length or range_.stop > context.file_size:
        raise CorruptFileError(
            f"values {start} to {stop} of a page of {length} values, in a file of "
            f"{context.file_size} bytes",
            offset=position,
        )
    (values,) = yield [range_]
    return [_array(type_, stop - start, _aligned(values, item))]


def _byte_places(
    pages: Pages, selection: BatchSelection, width: int, context: DecodeContext, more: int = 0
) -> tuple[Int64Array, Int64Array]:
    """Start and stop in the file of each selected range, extended by ``more`` values."""
    lengths = pages.lengths[selection.batches]
    if (selection.stops + more > lengths).any():
        wrong = int((selection.stops + more > lengths).argmax())
        raise CorruptFileError(
            f"a page of {int(lengths[wrong])} values has no value "
            f"{int(selection.stops[wrong]) + more - 1}",
            offset=int(pages.positions[selection.batches[wrong]]),
        )
    if (int(selection.stops.max()) + more) * width > context.file_size:
        raise CorruptFileError(
            f"{int(selection.stops.max())} values of {width} bytes in a file of "
            f"{context.file_size} bytes",
            offset=int(pages.positions[selection.batches[0]]),
        )
    positions = pages.positions[selection.batches]
    return positions + selection.starts * width, positions + (selection.stops + more) * width


def _flattened(type_: pa.DataType) -> tuple[pa.DataType, int]:
    """The innermost item type of fixed-size lists, and the number of items per row."""
    per_row = 1
    while pa.types.is_fixed_size_list(type_):
        per_row *= type_.list_size
        type_ = type_.value_type
    return type_, per_row


def _array(type_: pa.DataType, count: int, values: pa.Buffer, skip: int = 0) -> pa.Array:
    """``count`` rows of ``type_`` over the flat items in ``values`` after the first ``skip``."""
    if not pa.types.is_fixed_size_list(type_):
        return pa.Array.from_buffers(type_, count, [None, values], 0, skip)
    items = _array(type_.value_type, count * type_.list_size, values, skip)
    return pa.Array.from_buffers(type_, count, [None], 0, 0, [items])


def _aligned(values: pa.Buffer, item: pa.DataType) -> pa.Buffer:
    """The same bytes, copied if they are not aligned in memory as Arrow's kernels require."""
    if values.address % alignment(item) == 0:
        return values
    return pa.py_buffer(np.frombuffer(values, np.uint8).copy())


def _decode_bits(
    type_: pa.DataType,
    per_row: int,
    pages: Pages,
    selection: BatchSelection,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    if int(selection.stops.max()) * per_row > context.file_size * 8:
        raise CorruptFileError(f"the page has too few bytes for {int(selection.stops.max())} rows")
    # Only checks that the rows exist; bit addresses are computed below.
    _byte_places(pages, selection, 0, context)
    positions = pages.positions[selection.batches]
    firsts, lasts = selection.starts * per_row, selection.stops * per_row
    begins, ends = firsts >> 3, lasts + 7 >> 3
    # Merge ranges that share a byte.
    apart = (selection.batches[1:] != selection.batches[:-1]) | (begins[1:] > ends[:-1])
    is_first = np.concatenate([[True], apart])
    is_last = np.concatenate([apart, [True]])
    group = np.cumsum(is_first) - 1
    starts, stops = (positions + begins)[is_first], (positions + ends)[is_last]
    fetched = yield from fetch(starts, stops, context)
    if fetched.is_coarse and len(starts) == len(firsts):
        return [
            _array(type_, count, piece, first)
            for count, piece, first in zip(
                selection.counts.tolist(), fetched.pieces(), (firsts & 7).tolist(), strict=True
            )
        ]
    sizes = stops - starts
    # The number of bits by which the joined bytes are shifted against the page, for each range.
    origin = (np.cumsum(sizes) - sizes - begins[is_first])[group] * 8
    bits = np.unpackbits(np.frombuffer(fetched.joined(), np.uint8), bitorder="little")
    chosen = bits[_positions(origin + firsts, lasts - firsts)]
    packed = pa.py_buffer(np.packbits(chosen, bitorder="little"))
    return [_array(type_, selection.num_rows, packed)]


def _positions(starts: Int64Array, counts: Int64Array) -> Int64Array:
    """For each i the ``counts[i]`` numbers from ``starts[i]`` on, concatenated."""
    ends = np.cumsum(counts)
    positions: Int64Array = np.repeat(starts - (ends - counts), counts) + np.arange(int(ends[-1]))
    return positions


class Offsets(NamedTuple):
    """Decoded offsets: for each range its first and last offset, for each row its length.

    ``firsts`` and ``lasts`` have an entry per range, ``lengths`` has an entry per row.
    """

    firsts: Int64Array
    lasts: Int64Array
    lengths: Int64Array


def read_offsets(
    dtype: str, limit: int, pages: Pages, selection: BatchSelection, context: DecodeContext
) -> Decoding[Offsets]:
    """Offsets from a page that has one more offset than rows.

    Raises `CorruptFileError` unless they ascend from 0 or more to ``limit`` or less.
    """
    width = np.dtype(dtype).itemsize
    starts, stops = _byte_places(pages, selection, width, context, more=1)
    fetched = yield from fetch(starts, stops, context)
    offsets = np.frombuffer(fetched.joined(), dtype).astype(np.int64, copy=False)
    counts = selection.counts
    tails = np.cumsum(counts + 1) - 1
    heads = tails - counts
    lengths = np.diff(offsets)
    if len(heads) > 1:
        lengths = np.delete(lengths, tails[:-1])  # differences between the ranges
    if int(offsets.min()) < 0 or int(offsets.max()) > limit or (lengths < 0).any():
        raise CorruptFileError(
            f"offsets do not ascend from 0 to at most {limit}", offset=int(starts[0])
        )
    return Offsets(offsets[heads], offsets[tails], lengths)


def decode_variable(
    type_: pa.DataType,
    nullable: bool,
    pages: Pages,
    selection: BatchSelection,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """String or binary values."""
    # The table states n values for n + 1 offsets here, but n + 1 values for a page of list offsets.
    offset_pages = Pages(pages.positions, pages.lengths + 1)
    offsets = yield from read_offsets("<i8", context.file_size, offset_pages, selection, context)
    fetched = yield from fetch(offsets.firsts, offsets.lasts, context)
    valid = offsets.lengths > 0 if nullable else None
    if valid is not None and valid.all():
        valid = None
    spans = Spans(0, np.cumsum(offsets.lengths), valid)
    return variable_arrays(type_, spans, fetched.joined(), context.validate_utf8)
