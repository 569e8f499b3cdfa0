"""Read many small pages of one column at once, for the encodings of most columns.

Each append starts a new file, and the fixed cost of a page exceeds the cost of a thousand values.
The pages of a run have the same shape of encodings; their buffers are concatenated, and each step
from bytes to an array is one call for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.fixed_width import joined_bits
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import Int64Array, RowRange
from lance_core.encodings.v2_0.page_shapes import (
    NONE,
    Shape,
    ShapedPages,
    Wanted,
    plain_place,
    validity_place,
    values_place,
)
from lance_core.encodings.v2_0.page_strings import joined_strings, looked_up_items, strings_wanted
from lance_core.store.range_arrays import BufferSlices

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page_arrays import PageArrays

MIN_PAGES = 8
"""Minimum pages of a run; fewer are read one by one."""

MAX_PAGE_BYTES = 128 << 10
MAX_PAGE_ROWS = 1 << 14
"""Maximum mean bytes and rows of the pages of a run: of larger ones, the copy takes too long."""

Octets = npt.NDArray[np.uint8]


class ArrayRun(NamedTuple):
    """The pages ``numbers`` of ``table``, all of one shape."""

    table: PageArrays
    numbers: Int64Array
    shape: Shape
    type: pa.DataType

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """The ``rows`` of the pages, counted from the start of the first page of the run."""
        kind, bits = self.shape
        pages = ShapedPages.of(self.table, self.numbers)
        if kind == "flat":
            arrays = yield from _flat_arrays(pages, self.type, bits, context)
        elif kind == "binary":
            arrays = yield from _binary_arrays(pages, self.type, context)
        else:
            arrays = yield from _dictionary_arrays(pages, self.type, bits, context)
        if isinstance(rows, RowRange):
            if len(arrays) == 1:
                return [arrays[0].slice(rows.start, len(rows))]
            chunked = pa.chunked_array(arrays).slice(rows.start, len(rows))
            return [chunk for chunk in chunked.chunks if len(chunk)]
        whole = concat_arrays(arrays)
        return [take_rows(whole, from_numpy(rows.values))]


def _flat_arrays(
    pages: ShapedPages, type_: pa.DataType, bits: int, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    rows = pages.num_rows
    sizes, bytes_ = (rows * bits + 7) // 8, (rows + 7) // 8
    values, validity = pages.values(values_place), pages.values(validity_place)
    stored, marks = yield from pages.fetch(Wanted(values, sizes), Wanted(validity, bytes_))
    join = context.kernels.join_slices
    octets = _filled(stored, values, sizes, np.zeros(len(rows), np.int64)).joined(join)
    data = joined_bits(octets, rows) if bits == 1 else pa.py_buffer(octets)
    count, is_null = int(rows.sum()), values == NONE
    if not len(marks) and not is_null.any():
        return [pa.Array.from_buffers(type_, count, [None, data], 0)]
    bitmap = _filled(marks, validity, bytes_, np.where(is_null, 0, 255)).joined(join)
    return [pa.Array.from_buffers(type_, count, [joined_bits(bitmap, rows), data], -1)]


def _filled(
    found: BufferSlices, places: Int64Array, sizes: Int64Array, fill: Int64Array
) -> BufferSlices:
    """The buffers ``found`` of the pages that have one, ``sizes`` bytes of ``fill`` for others.

    ``fill`` is 0 or 255.
    """
    if len(found) == len(places):
        return found
    has = places != NONE
    size, count = int(sizes[~has].max()), len(found.buffers)
    more = [pa.py_buffer(bytes(size)), pa.py_buffer(b"\xff" * size)]
    owners, starts = count + (fill > 0), np.zeros(len(places), np.int64)
    owners[has], starts[has] = found.owners, found.starts
    return BufferSlices([*found.buffers, *more], owners, starts, starts + sizes)


def _binary_arrays(
    pages: ShapedPages, type_: pa.DataType, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    counts = pages.num_rows
    wanted = strings_wanted(pages, counts, lambda encoding: encoding.binary)
    ends, texts = yield from pages.fetch(*wanted)
    adjustments = pages.adjustments(lambda encoding: encoding.binary)
    return joined_strings(ends, texts, counts, adjustments, type_, context)


def _dictionary_arrays(
    pages: ShapedPages, type_: pa.DataType, bits: int, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    """Strings of dictionaries."""
    counts = pages.values(lambda encoding: encoding.dictionary.num_dictionary_items)
    wanted = strings_wanted(pages, counts, lambda encoding: encoding.dictionary.items.binary)
    indices = pages.values(lambda encoding: plain_place(encoding.dictionary.indices))
    sizes = pages.num_rows * bits // 8
    ends, texts, stored = yield from pages.fetch(*wanted, Wanted(indices, sizes))
    adjustments = pages.adjustments(lambda encoding: encoding.dictionary.items.binary)
    arrays = joined_strings(ends, texts, counts, adjustments, type_, context)
    octets = stored.joined(context.kernels.join_slices)
    return [looked_up_items(arrays, octets.view(f"u{bits // 8}"), pages.num_rows, counts)]
