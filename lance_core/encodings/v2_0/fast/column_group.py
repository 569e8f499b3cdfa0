"""Read the same rows of many small columns at once: one page of each, all of one shape.

Fixed-width values without nulls are not copied if all rows of a range are read. Everything else is
decoded to one array of the rows of all columns, which is split.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.byte_ranges import BufferSlices, RangeArrays
from lance_core.encodings.arrow.coalesced_take import element_type
from lance_core.encodings.arrow.fixed_width import alignment
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.arrow.split import split_array
from lance_core.encodings.arrow.strings import Spans, variable_arrays
from lance_core.encodings.decoding import Int64Array, RowRange, run_interleaved
from lance_core.encodings.page import GroupKey
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.v2_0.fast.page_shapes import (
    Shape,
    ShapedPages,
    Wanted,
    plain_place,
    shape_of,
    validity_place,
    values_place,
)
from lance_core.encodings.v2_0.fast.page_strings import (
    joined_strings,
    looked_up_items,
    strings_wanted,
)
from lance_core.encodings.v2_0.offsets import not_ascending

if TYPE_CHECKING:
    from lance_core.byte_ranges import JoinSlices
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.page import Column, Page
    from lance_core.schema import Field

MAX_COPIED_ROWS = 1 << 14
MAX_COPIED_BYTES = 256 << 10
"""Maximum rows and stored bytes of a page whose values are copied: of a larger one, the copy takes
longer than a plan of its own."""

MAX_SHARED_ROWS = 1 << 18
"""Maximum rows, of all columns, of arrays that share memory."""


class GroupShape(NamedTuple):
    """What the pages of a group share. ``nullability`` is empty for strings."""

    shape: Shape
    nullability: str

    @property
    def is_copied(self) -> bool:
        """False if a group of them may be read without a copy."""
        return self.nullability not in ("no_nulls", "all_nulls")


def group_key(
    field: Field, parts: Sequence[tuple[Field, Page]], context: DecodeContext
) -> GroupKey | None:
    """See `lance_core.encodings.dispatch.group_key`; fields with children are decoded alone."""
    if field.children:
        return None
    page = parts[0][1]
    shape = group_shape(page.encoding, field.storage_type)
    if shape is None:
        return None
    # For some rows, all bytes between them are read.
    most = min(max_page_bytes(shape, page.num_rows), context.coalesce_gap)
    return GroupKey(shape, most, shape.is_copied)


def decode_columns(
    field: Field,
    column_of: Mapping[int, int],
    joined: Sequence[Column],
    key: Any,
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[list[pa.Array]]]:
    """See `lance_core.encodings.dispatch.decode_columns`."""
    return decode_pages(joined[0].pages, key, field.storage_type, rows, context)


def group_shape(encoding: Any, type_: pa.DataType) -> GroupShape | None:
    """The shape of the encoding of a page; None for a page that is read alone."""
    shape = shape_of(encoding, type_)
    if shape is None:
        return None
    nullability = encoding.nullable.WhichOneof("nullability") if shape[0] == "flat" else ""
    return GroupShape(shape, nullability)


def max_page_bytes(group: GroupShape, num_rows: int) -> int:
    """Maximum stored bytes of a page of ``num_rows`` rows to read it in a group."""
    if not group.is_copied:
        return sys.maxsize
    return MAX_COPIED_BYTES if num_rows <= MAX_COPIED_ROWS else -1


def decode_pages(
    stored: Sequence[Page],
    group: GroupShape,
    type_: pa.DataType,
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[list[pa.Array]]]:
    """The ``rows``, at least one, of each of the ``stored`` pages, which all have them.

    Raises `CorruptFileError`, which does not tell the page.
    """
    encoding, bits = group.shape
    table = PageArrays.of(stored)
    count, length = len(table), len(rows)
    if group.nullability == "all_nulls":
        yield from ()
        return [[all_null(type_, length)]] * count
    most = max(1, MAX_SHARED_ROWS // length)
    if count > most and not isinstance(rows, RowRange):
        parts = [np.arange(first, min(first + most, count)) for first in range(0, count, most)]
        decodings = [decode_pages(table.taken(p), group, type_, rows, context) for p in parts]
        return list(chain.from_iterable((yield from run_interleaved(decodings))))
    pages, page_rows = ShapedPages.of(table, np.arange(count)), _PageRows.of(rows)
    if encoding == "flat":
        decoding = _flat_arrays(pages, group, type_, page_rows, context)
    elif encoding == "binary":
        decoding = _binary_arrays(pages, type_, page_rows, context)
    else:
        decoding = _dictionary_arrays(pages, bits, type_, page_rows, context)
    arrays = yield from decoding
    if len(arrays) == count:
        return [[array] for array in arrays]
    (joined,) = arrays
    return [[array] for array in split_array(joined, length)]


class _PageRows(NamedTuple):
    """The rows ``first`` to ``stop`` of each page, or those at ``positions`` after ``first``.

    ``order``: the position in ``positions`` of each requested row; None for all in their order.
    """

    first: int
    stop: int
    positions: Int64Array | None = None
    order: Int64Array | None = None

    @classmethod
    def of(cls, rows: AnyRows) -> _PageRows:
        if isinstance(rows, RowRange):
            return cls(rows.start, rows.stop)
        first, stop = rows.first, rows.last + 1
        if isinstance(rows, OrderedRows):
            return cls(first, stop, rows.distinct.values - first, rows.indices)
        return cls(first, stop, rows.values - first)

    @property
    def requested(self) -> Int64Array | None:
        """``positions`` in the requested order; None for all rows."""
        if self.positions is None or self.order is None:
            return self.positions
        return self.positions[self.order]

    @property
    def num_requested(self) -> int:
        """The number of requested rows of a page."""
        requested = self.requested
        return self.stop - self.first if requested is None else len(requested)

    def ends_of(self, buffers: Int64Array) -> Wanted:
        """The ends of strings from the row before the first one, if there is one, to the last."""
        return Wanted(buffers, np.full(len(buffers), 8 * self.stop), 8 * max(0, self.first - 1))

    def part_of(self, buffers: Int64Array, bits: int) -> Wanted:
        """The bytes of values of ``bits`` bits, from the first to the last row."""
        last = (self.stop * bits + 7) // 8
        return Wanted(buffers, np.full(len(buffers), last), self.first * bits // 8)


def _flat_arrays(
    pages: ShapedPages,
    group: GroupShape,
    type_: pa.DataType,
    rows: _PageRows,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """Values of equal size: an array of each page, or one of all pages."""
    bits, join = group.shape[1], context.kernels.join_slices
    parts = [rows.part_of(pages.values(values_place), bits)]
    if group.nullability == "some_nulls":
        parts.append(rows.part_of(pages.values(validity_place), 1))
    slices = yield from pages.fetch(*parts)
    if len(slices) == 1 and rows.positions is None:
        return _views(slices[0], type_, bits, rows)
    if bits == 1:
        data = _bitmap(slices[0], rows, join)
    else:
        data = pa.py_buffer(_values(slices[0], bits // 8, rows.requested, join))
    validity = _bitmap(slices[1], rows, join) if len(slices) > 1 else None
    count = len(pages.numbers) * rows.num_requested
    nulls = 0 if validity is None else -1
    return [pa.Array.from_buffers(type_, count, [validity, data], nulls)]


def _views(slices: BufferSlices, type_: pa.DataType, bits: int, rows: _PageRows) -> list[pa.Array]:
    """The array of each page over its bytes, which are not copied unless they are not aligned."""
    length, skip = rows.num_requested, rows.first & 7 if bits == 1 else 0
    unit, buffers = alignment(type_), iter(slices)
    if len(slices.buffers) > 1 or slices.buffers[0].address % unit or (slices.starts % unit).any():
        copy = pa.py_buffer
        buffers = (
            buffer if not buffer.address % unit else copy(buffer.to_pybytes()) for buffer in buffers
        )
    return [pa.Array.from_buffers(type_, length, [None, buffer], 0, skip) for buffer in buffers]


def _values(
    slices: BufferSlices, width: int, positions: Int64Array | None, join: JoinSlices
) -> npt.NDArray[Any]:
    """Values of ``width`` bytes: a row of the result for each slice, a column for each place.

    All slices have the same size. None as ``positions``: all values.
    """
    unit, count = element_type(width), len(slices)
    if positions is not None and len(slices.buffers) == 1 and not (slices.starts % width).any():
        buffer = slices.buffers[0]
        whole = np.frombuffer(buffer, unit, buffer.size // width)
        return whole.take(np.add.outer(slices.starts // width, positions))
    joined = slices.joined(join).view(unit).reshape(count, -1)
    return joined if positions is None else joined.take(positions, axis=1)


def _bitmap(slices: BufferSlices, rows: _PageRows, join: JoinSlices) -> pa.Buffer:
    """The requested bits of all pages, of which each has whole bytes."""
    skip, positions = rows.first & 7, rows.requested
    if positions is not None:
        at = positions + skip
        octets = _values(slices, 1, at >> 3, join)
        taken = (octets >> (at & 7).astype(np.uint8)) & 1
        return pa.py_buffer(np.packbits(taken, bitorder="little"))
    octets = slices.joined(join)
    count = rows.num_requested
    if not skip and count % 8 == 0:
        return pa.py_buffer(octets)
    bits = np.unpackbits(octets, bitorder="little").reshape(len(slices), -1)
    return pa.py_buffer(np.packbits(bits[:, skip : skip + count], bitorder="little"))


def _binary_arrays(
    pages: ShapedPages, type_: pa.DataType, rows: _PageRows, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    """Strings: their ends are read first, unless all rows are requested."""
    join = context.kernels.join_slices
    counts = pages.num_rows
    ends_wanted, texts_wanted = strings_wanted(pages, counts, lambda encoding: encoding.binary)
    adjustments = pages.adjustments(lambda encoding: encoding.binary)
    if rows.positions is None and rows.first == 0 and (counts == rows.stop).all():
        ends, texts = yield from pages.fetch(ends_wanted, texts_wanted)
        return joined_strings(ends, texts, counts, adjustments, type_, context)
    (ends,) = yield from pages.fetch(rows.ends_of(ends_wanted.buffers))
    spans = _Spans.of(ends, rows, adjustments[:, None], join)
    ranges = pages.ranges(texts_wanted)
    if (spans.stops > (ranges.stops - ranges.starts)[:, None]).any():
        raise not_ascending()
    starts, stops = spans.starts, spans.stops
    if rows.positions is None:  # The values of a page follow each other.
        starts, stops = starts[:, :1], stops[:, -1:]
    begins = ranges.starts[:, None]
    texts = BufferSlices.of(
        (yield RangeArrays((begins + starts).ravel(), (begins + stops).ravel()))
    )
    text = pa.py_buffer(texts.joined(join))
    stored = np.cumsum(spans.stops - spans.starts)
    valid = None if spans.valid is None else spans.valid.ravel()
    return variable_arrays(type_, Spans(0, stored, valid), text, context.validate_utf8)


class _Spans(NamedTuple):
    """The bytes of the requested strings, from the start of those of their page.

    All have a row for each page and a column for each string. ``valid`` is None without nulls.
    """

    starts: Int64Array
    stops: Int64Array
    valid: npt.NDArray[np.bool_] | None

    @classmethod
    def of(
        cls,
        ends: BufferSlices,
        rows: _PageRows,
        adjustments: npt.NDArray[np.uint64],
        join: JoinSlices,
    ) -> _Spans:
        """Spans from the stored ends for `_PageRows.ends_of`; raises `CorruptFileError`."""
        positions, has_before = rows.positions, min(rows.first, 1)
        if positions is not None:
            # The end of the row before each row, then that of the row.
            at = positions + has_before
            positions = np.concatenate([np.maximum(at - 1, 0), at])
        stored = _values(ends, 8, positions, join)
        is_null = stored >= adjustments
        real = np.where(is_null, stored - adjustments, stored).view(np.int64)
        if rows.positions is not None:
            count = len(rows.positions)
            starts, stops, is_null = real[:, :count], real[:, count:], is_null[:, count:]
            starts[:, rows.positions + rows.first == 0] = 0
        elif has_before:
            starts, stops, is_null = real[:, :-1], real[:, 1:], is_null[:, 1:]
        else:
            starts, stops = np.pad(real[:, :-1], ((0, 0), (1, 0))), real
        if (starts < 0).any() or (starts > stops).any() or (starts[:, 1:] < stops[:, :-1]).any():
            raise not_ascending()
        if rows.order is not None:
            order = rows.order
            starts, stops, is_null = starts[:, order], stops[:, order], is_null[:, order]
        return cls(starts, stops, ~is_null if is_null.any() else None)


def _dictionary_arrays(
    pages: ShapedPages, bits: int, type_: pa.DataType, rows: _PageRows, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    """Strings of dictionaries."""
    counts = pages.values(lambda encoding: encoding.dictionary.num_dictionary_items)
    strings = strings_wanted(pages, counts, lambda encoding: encoding.dictionary.items.binary)
    indices = pages.values(lambda encoding: plain_place(encoding.dictionary.indices))
    ends, texts, stored = yield from pages.fetch(*strings, rows.part_of(indices, bits))
    adjustments = pages.adjustments(lambda encoding: encoding.dictionary.items.binary)
    arrays = joined_strings(ends, texts, counts, adjustments, type_, context)
    indices_of_rows = _values(stored, bits // 8, rows.requested, context.kernels.join_slices)
    num_rows = np.full(len(counts), rows.num_requested)
    return [looked_up_items(arrays, indices_of_rows.ravel(), num_rows, counts)]
