"""Read many small pages of one column at once, for the encodings of most columns.

Each append starts a new file, and the fixed cost of a page exceeds the cost of a thousand values.
The pages of a run have the same shape of encodings; their buffers are concatenated, and each step
from bytes to an array is one call for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Binary, Buffer, Flat
from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.fixed_width import joined_bits
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.strings import Spans, is_variable, offset_dtype, variable_arrays
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import Int64Array, RowRange
from lance_core.encodings.v2_0.offsets import not_ascending
from lance_core.errors import CorruptFileError, ResultTooLargeError
from lance_core.store.range_arrays import BufferSlices, RangeArrays, concatenated

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
Shape = tuple[str, int]
"""What the pages of a run share: the kind of encoding and the bits of a value or index."""


def shape_of(encoding: Any, type_: pa.DataType) -> Shape | None:
    """The shape of the encoding of a page; None for a page that is read alone."""
    if not isinstance(encoding, ArrayEncoding):
        return None
    kind = encoding.WhichOneof("array_encoding")
    if kind == "nullable" and (pa.types.is_primitive(type_) or pa.types.is_decimal(type_)):
        return _flat_shape(encoding, type_)
    if not is_variable(type_):
        return None
    if kind == "binary":
        return ("binary", 0) if _is_plain(encoding.binary) else None
    if kind == "dictionary":
        items = encoding.dictionary.items
        indices = _plain_flat(encoding.dictionary.indices)
        is_plain = items.WhichOneof("array_encoding") == "binary" and _is_plain(items.binary)
        if is_plain and indices is not None and indices.bits_per_value in (8, 16, 32):
            return "dictionary", indices.bits_per_value
    return None


def _flat_shape(encoding: ArrayEncoding, type_: pa.DataType) -> Shape | None:
    form = encoding.nullable.WhichOneof("nullability")
    bits = int(type_.bit_width)
    if form == "all_nulls":
        return "flat", bits
    if form == "some_nulls":
        validity = encoding.nullable.some_nulls.validity
        if not _is_flat(validity) or validity.flat.bits_per_value != 1:
            return None
        values = encoding.nullable.some_nulls.values
    else:
        values = encoding.nullable.no_nulls.values
    return ("flat", bits) if _is_flat(values) and values.flat.bits_per_value == bits else None


def _is_flat(encoding: ArrayEncoding) -> bool:
    """True for uncompressed values in a buffer of the page."""
    if encoding.WhichOneof("array_encoding") != "flat" or encoding.flat.HasField("compression"):
        return False
    return encoding.flat.buffer.buffer_type == Buffer.page


def _plain_flat(encoding: ArrayEncoding) -> Flat | None:
    """The values of an encoding without nulls, if they are flat."""
    if encoding.WhichOneof("array_encoding") == "nullable":
        encoding = encoding.nullable.no_nulls.values
    return encoding.flat if _is_flat(encoding) else None


def _plain_place(encoding: ArrayEncoding) -> int:
    """The number of the buffer of values of which `_plain_flat` knows that they are flat."""
    flat = _plain_flat(encoding)
    assert flat is not None
    return flat.buffer.buffer_index


def _is_plain(binary: Binary) -> bool:
    """True for values whose ends and bytes are flat."""
    ends, octets = _plain_flat(binary.indices), _plain_flat(binary.bytes)
    if ends is None or octets is None:
        return False
    return ends.bits_per_value == 64 and octets.bits_per_value == 8


class ArrayRun(NamedTuple):
    """The pages ``numbers`` of ``table``, all of one shape."""

    table: PageArrays
    numbers: Int64Array
    shape: Shape
    type: pa.DataType

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """The ``rows`` of the pages, counted from the start of the first page of the run."""
        kind, bits = self.shape
        pages = _Pages.of(self.table, self.numbers)
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
        whole = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
        return [take_rows(whole, from_numpy(rows.values))]


_NONE = -1
"""In place of the number of a buffer that a page does not have."""


class _Pages(NamedTuple):
    """The pages of a run; page p has the encoding ``encodings[kinds[p]]``."""

    table: PageArrays
    numbers: Int64Array
    encodings: Sequence[Any]
    kinds: Int64Array

    @classmethod
    def of(cls, table: PageArrays, numbers: Int64Array) -> _Pages:
        used, kinds = np.unique(table.kinds[numbers], return_inverse=True)
        return cls(table, numbers, [table.encodings[kind] for kind in used.tolist()], kinds)

    @property
    def num_rows(self) -> Int64Array:
        found: Int64Array = self.table.num_rows[self.numbers]
        return found

    def values(self, value: Callable[[Any], int]) -> Int64Array:
        """A value of the encoding of each page."""
        return np.array([value(encoding) for encoding in self.encodings], np.int64)[self.kinds]

    def adjustments(self, binary: Callable[[Any], Binary]) -> npt.NDArray[np.uint64]:
        """What is added to the ends of null strings of each page."""
        found = [binary(encoding).null_adjustment for encoding in self.encodings]
        return np.array(found, np.uint64)[self.kinds]

    def fetch(self, *wanted: _Wanted) -> Decoding[list[BufferSlices]]:
        """The bytes of one or more buffers of each page; none for `_NONE`.

        Raises `CorruptFileError` if a page does not have the buffer, or if it is too short.
        """
        requests = [self._ranges(*one) for one in wanted]
        found = BufferSlices.of((yield concatenated(requests)))
        edges = np.cumsum([0, *map(len, requests)]).tolist()
        return [found[first:stop] for first, stop in pairwise(edges)]

    def _ranges(self, places: Int64Array, sizes: Int64Array | None) -> RangeArrays:
        has = places != _NONE
        edges, pages = self.table.edges, self.numbers[has]
        buffers = edges[pages] + places[has]
        if (buffers >= edges[pages + 1]).any():
            raise CorruptFileError("a buffer is used that its page does not have")
        starts, stops = self.table.starts[buffers], self.table.stops[buffers]
        if sizes is not None:
            if (stops - starts < sizes[has]).any():
                raise CorruptFileError("a buffer of a page has fewer bytes than its values")
            stops = starts + sizes[has]
        return RangeArrays(starts, stops)


_Wanted = tuple[Int64Array, Int64Array | None]
"""The number of a buffer of each page, and the bytes to read of it; None for all."""


def _values_place(encoding: ArrayEncoding) -> int:
    """The number of the buffer of values; `_NONE` if all are null."""
    form = encoding.nullable.WhichOneof("nullability")
    if form == "all_nulls":
        return _NONE
    some = encoding.nullable.no_nulls if form == "no_nulls" else encoding.nullable.some_nulls
    return int(some.values.flat.buffer.buffer_index)


def _validity_place(encoding: ArrayEncoding) -> int:
    """The number of the buffer of validity; `_NONE` if all values are null, or none."""
    if encoding.nullable.WhichOneof("nullability") != "some_nulls":
        return _NONE
    return int(encoding.nullable.some_nulls.validity.flat.buffer.buffer_index)


def _flat_arrays(
    pages: _Pages, type_: pa.DataType, bits: int, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    rows = pages.num_rows
    sizes, bytes_ = (rows * bits + 7) // 8, (rows + 7) // 8
    values, validity = pages.values(_values_place), pages.values(_validity_place)
    stored, marks = yield from pages.fetch((values, sizes), (validity, bytes_))
    join = context.kernels.join_slices
    octets = _filled(stored, values, sizes, np.zeros(len(rows), np.int64)).joined(join)
    data = joined_bits(octets, rows) if bits == 1 else pa.py_buffer(octets)
    count, is_null = int(rows.sum()), values == _NONE
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
    has = places != _NONE
    size, count = int(sizes[~has].max()), len(found.buffers)
    more = [pa.py_buffer(bytes(size)), pa.py_buffer(b"\xff" * size)]
    owners, starts = count + (fill > 0), np.zeros(len(places), np.int64)
    owners[has], starts[has] = found.owners, found.starts
    return BufferSlices([*found.buffers, *more], owners, starts, starts + sizes)


def _binary_arrays(
    pages: _Pages, type_: pa.DataType, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    counts = pages.num_rows
    wanted = _binary_wanted(pages, counts, lambda encoding: encoding.binary)
    ends, texts = yield from pages.fetch(*wanted)
    adjustments = pages.adjustments(lambda encoding: encoding.binary)
    return _strings(ends, texts, counts, adjustments, type_, context)


def _binary_wanted(
    pages: _Pages, counts: Int64Array, binary: Callable[[Any], Binary]
) -> tuple[_Wanted, _Wanted]:
    """The ends and the bytes of the ``counts[p]`` strings of page p."""
    ends = pages.values(lambda encoding: _plain_place(binary(encoding).indices))
    texts = pages.values(lambda encoding: _plain_place(binary(encoding).bytes))
    return (ends, 8 * counts), (texts, None)


def _strings(
    ends: BufferSlices,
    texts: BufferSlices,
    counts: Int64Array,
    adjustments: npt.NDArray[np.uint64],
    type_: pa.DataType,
    context: DecodeContext,
) -> list[pa.Array]:
    """The ``counts[p]`` strings of each page p, whose ends grow by ``adjustments[p]`` for nulls."""
    join = context.kernels.join_slices
    stored = ends.joined(join).view(np.uint64)
    repeated = np.repeat(adjustments, counts)
    is_null = stored >= repeated
    real = np.where(is_null, stored - repeated, stored).view(np.int64)
    stops = np.cumsum(counts)
    filled = np.flatnonzero(counts)
    lasts = np.zeros(len(stops), np.int64)
    lasts[filled] = real[stops[filled] - 1]
    starts = np.zeros(len(real), np.int64)
    starts[1:] = real[:-1]
    starts[(stops - counts)[filled]] = 0
    if (real < starts).any() or (lasts > texts.sizes).any():
        raise not_ascending()
    text = pa.py_buffer(texts.first(lasts).joined(join))
    bases = np.repeat(np.cumsum(lasts) - lasts, counts)
    spans = Spans(0, real + bases, ~is_null if is_null.any() else None)
    return variable_arrays(type_, spans, text, context.validate_utf8)


def _dictionary_arrays(
    pages: _Pages, type_: pa.DataType, bits: int, context: DecodeContext
) -> Decoding[list[pa.Array]]:
    """Strings of dictionaries; index 0 of a page stands for null, the others count from 1."""
    counts = pages.values(lambda encoding: encoding.dictionary.num_dictionary_items)
    wanted = _binary_wanted(pages, counts, lambda encoding: encoding.dictionary.items.binary)
    indices = pages.values(lambda encoding: _plain_place(encoding.dictionary.indices))
    sizes = pages.num_rows * bits // 8
    ends, texts, stored = yield from pages.fetch(*wanted, (indices, sizes))
    adjustments = pages.adjustments(lambda encoding: encoding.dictionary.items.binary)
    arrays = _strings(ends, texts, counts, adjustments, type_, context)
    items = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    octets = stored.joined(context.kernels.join_slices)
    return [_looked_up(items, octets.view(f"u{bits // 8}"), pages.num_rows, counts)]


def _looked_up(
    items: pa.Array, stored: npt.NDArray[Any], num_rows: Int64Array, counts: Int64Array
) -> pa.Array:
    """The items at the ``stored`` indices of pages of which each has so many rows and items."""
    starts = num_rows.cumsum() - num_rows
    filled = num_rows > 0
    if not filled.any():
        return items.slice(0, 0)
    if (np.maximum.reduceat(stored, starts[filled]) > counts[filled]).any():
        raise CorruptFileError("an index is beyond the items of its dictionary")
    # Each page gets a null before its items, so that an index only needs the page's base.
    edges = np.append(counts.cumsum() - counts, len(items)) + np.arange(len(counts) + 1)
    numbers = np.arange(edges[-1]) - np.repeat(np.arange(1, len(edges)), np.diff(edges))
    is_null = np.zeros(len(numbers), np.bool_)
    is_null[edges[:-1]] = True
    with_nulls = items.take(pa.array(np.maximum(numbers, 0), mask=is_null))
    narrow = np.uint16 if edges[-1] <= 1 << 16 and stored.itemsize <= 2 else np.uint32
    places = np.repeat(edges[:-1].astype(narrow), num_rows)
    places += stored
    _check_bytes(with_nulls, places)
    return pc.take(with_nulls, from_numpy(places))


def _check_bytes(items: pa.Array, places: npt.NDArray[Any]) -> None:
    """Raise `ResultTooLargeError` if the items at ``places`` have too many bytes for one array."""
    if offset_dtype(items.type) is not np.int32:
        return
    edges = np.frombuffer(items.buffers()[1], np.int32, len(items) + 1, 4 * items.offset)
    lengths = np.diff(edges).astype(np.int64)
    if int(lengths.max()) * len(places) <= MAX_OFFSET:
        return
    if int(lengths.take(places).sum()) > MAX_OFFSET:
        raise ResultTooLargeError(
            f"{len(places)} values of type {items.type} take 2 GiB or more, too many bytes for one "
            "array"
        )
