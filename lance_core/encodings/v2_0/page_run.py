"""Read many small pages of one column at once, for the encodings of most columns.

Each append starts a new file, and the fixed cost of a page exceeds the cost of a thousand values.
The pages of a run have the same shape of encodings; their buffers are concatenated, and each step
from bytes to an array is one call for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Binary, Buffer, Flat
from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET, spans_index
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.strings import Spans, is_variable, offset_dtype, variable_arrays
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.v2_0.offsets import not_ascending
from lance_core.errors import CorruptFileError, ResultTooLargeError
from lance_core.store.base import byte_ranges

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
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
        table, numbers = self.table, self.numbers
        places = spans_index(table.edges[numbers], table.edges[numbers + 1])
        starts, stops = table.starts[places], table.stops[places]
        buffers = yield byte_ranges(starts.tolist(), stops.tolist())
        octets = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
        counts = np.diff(table.edges)[numbers]
        firsts = np.cumsum(counts) - counts
        kinds = table.kinds[numbers].tolist()
        encodings = [table.encodings[kind] for kind in kinds]
        pages = _Pages(encodings, octets, firsts.tolist(), counts.tolist(), table.num_rows[numbers])
        arrays = self._arrays(pages, context)
        if isinstance(rows, RowRange):
            if len(arrays) == 1:
                return [arrays[0].slice(rows.start, len(rows))]
            chunked = pa.chunked_array(arrays).slice(rows.start, len(rows))
            return [chunk for chunk in chunked.chunks if len(chunk)]
        whole = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
        return [take_rows(whole, from_numpy(rows.values))]

    def _arrays(self, pages: _Pages, context: DecodeContext) -> list[pa.Array]:
        """All values of the pages."""
        kind, bits = self.shape
        if kind == "flat":
            return [_flat_array(pages, self.type, bits)]
        if kind == "binary":
            encodings = [encoding.binary for encoding in pages.encodings]
            return _binary_arrays(pages, encodings, pages.num_rows, self.type, context)
        return _dictionary_arrays(pages, self.type, bits, context)


class _Pages(NamedTuple):
    """The pages of a run; page p has ``counts[p]`` of ``buffers``, from ``firsts[p]`` on."""

    encodings: Sequence[Any]
    buffers: Sequence[Octets]
    firsts: Sequence[int]
    counts: Sequence[int]
    num_rows: Int64Array

    @property
    def distinct(self) -> Sequence[Any]:
        """The encodings, each once."""
        return list({id(encoding): encoding for encoding in self.encodings}.values())

    def flat(self, page: int, values: Flat, size: int | None = None) -> Octets:
        """The first ``size`` bytes of flat ``values`` of a page; all bytes if ``size`` is None."""
        return self.buffer(page, values.buffer.buffer_index, size)

    def buffer(self, page: int, number: int, size: int | None = None) -> Octets:
        """The first ``size`` bytes of a buffer of a page; all bytes if ``size`` is None."""
        if number >= self.counts[page]:
            raise CorruptFileError(f"buffer {number} is used where there are {self.counts[page]}")
        found = self.buffers[self.firsts[page] + number]
        if size is None or len(found) == size:
            return found
        if len(found) < size:
            raise CorruptFileError(f"decoding gave {len(found)} bytes of values, expected {size}")
        return found[:size]


class _FlatPlaces(NamedTuple):
    """The numbers of the buffers of values and validity; None for values of which all are null."""

    values: int | None
    validity: int | None

    @classmethod
    def of(cls, encoding: ArrayEncoding) -> _FlatPlaces:
        form = encoding.nullable.WhichOneof("nullability")
        if form == "all_nulls":
            return cls(None, None)
        if form == "no_nulls":
            return cls(encoding.nullable.no_nulls.values.flat.buffer.buffer_index, None)
        some = encoding.nullable.some_nulls
        return cls(some.values.flat.buffer.buffer_index, some.validity.flat.buffer.buffer_index)


def _flat_array(pages: _Pages, type_: pa.DataType, bits: int) -> pa.Array:
    rows = pages.num_rows
    known = {id(encoding): _FlatPlaces.of(encoding) for encoding in pages.distinct}
    places = [known[id(encoding)] for encoding in pages.encodings]
    sizes = ((rows * bits + 7) // 8).tolist()
    values = [
        np.zeros(size, np.uint8) if place.values is None else pages.buffer(page, place.values, size)
        for page, (place, size) in enumerate(zip(places, sizes, strict=True))
    ]
    octets = np.concatenate(values)
    data = _joined_bits(octets, rows) if bits == 1 else pa.py_buffer(octets)
    if all(place.values is not None and place.validity is None for place in known.values()):
        return pa.Array.from_buffers(type_, int(rows.sum()), [None, data], 0)
    bitmaps = []
    for page, (place, size) in enumerate(zip(places, ((rows + 7) // 8).tolist(), strict=True)):
        if place.validity is not None:
            bitmaps.append(pages.buffer(page, place.validity, size))
        else:
            bitmaps.append(np.full(size, 0 if place.values is None else 255, np.uint8))
    validity = _joined_bits(np.concatenate(bitmaps), rows)
    return pa.Array.from_buffers(type_, int(rows.sum()), [validity, data], -1)


def _joined_bits(octets: Octets, counts: Int64Array) -> pa.Buffer:
    """The bitmaps of pages, each of whole bytes, as one bitmap."""
    if not (counts % 8).any():
        return pa.py_buffer(octets)
    sizes = (counts + 7) // 8
    starts = 8 * (np.cumsum(sizes) - sizes)
    bits = np.unpackbits(octets, bitorder="little")
    return pa.py_buffer(np.packbits(bits[spans_index(starts, starts + counts)], bitorder="little"))


def _binary_arrays(
    pages: _Pages,
    encodings: Sequence[Binary],
    counts: Int64Array,
    type_: pa.DataType,
    context: DecodeContext,
) -> list[pa.Array]:
    """The values of ``encodings``, of which page p has ``counts[p]``."""
    ends: list[Octets] = []
    texts: list[Octets] = []
    for page, (encoding, count) in enumerate(zip(encodings, counts.tolist(), strict=True)):
        flat, content = _plain_flat(encoding.indices), _plain_flat(encoding.bytes)
        assert flat is not None
        assert content is not None
        ends.append(pages.flat(page, flat, 8 * count))
        texts.append(pages.flat(page, content))
    stored = np.concatenate(ends).view(np.uint64)
    adjustments = np.array([encoding.null_adjustment for encoding in encodings], np.uint64)
    repeated = np.repeat(adjustments, counts)
    is_null = stored >= repeated
    real = np.where(is_null, stored - repeated, stored).view(np.int64)
    sizes = np.array([len(text) for text in texts], np.int64)
    stops = np.cumsum(counts)
    filled = np.flatnonzero(counts)
    lasts = np.zeros(len(counts), np.int64)
    lasts[filled] = real[stops[filled] - 1]
    starts = np.zeros(len(real), np.int64)
    starts[1:] = real[:-1]
    starts[(stops - counts)[filled]] = 0
    if (real < starts).any() or (lasts > sizes).any():
        raise not_ascending()
    text = np.concatenate([one[:last] for one, last in zip(texts, lasts.tolist(), strict=True)])
    bases = np.repeat(np.cumsum(lasts) - lasts, counts)
    spans = Spans(0, real + bases, ~is_null if is_null.any() else None)
    return variable_arrays(type_, spans, pa.py_buffer(text), context.validate_utf8)


def _dictionary_arrays(
    pages: _Pages, type_: pa.DataType, bits: int, context: DecodeContext
) -> list[pa.Array]:
    """Strings of dictionaries; index 0 of a page stands for null, the others count from 1."""
    found = [encoding.dictionary for encoding in pages.encodings]
    counts = np.array([one.num_dictionary_items for one in found], np.int64)
    arrays = _binary_arrays(pages, [one.items.binary for one in found], counts, type_, context)
    items = pa.concat_arrays([pa.nulls(1, type_), *arrays])
    parts = []
    for page, (one, count) in enumerate(zip(found, pages.num_rows.tolist(), strict=True)):
        flat = _plain_flat(one.indices)
        assert flat is not None
        parts.append(pages.flat(page, flat, count * bits // 8))
    indices = np.concatenate(parts).view(f"u{bits // 8}").astype(np.int64)
    if (indices > np.repeat(counts, pages.num_rows)).any():
        raise CorruptFileError("an index is beyond the items of its dictionary")
    bases = np.repeat(np.cumsum(counts) - counts, pages.num_rows)
    places = np.where(indices == 0, 0, indices + bases)
    if offset_dtype(type_) is np.int32:
        edges = np.frombuffer(items.buffers()[1], np.int32, len(items) + 1, 4 * items.offset)
        if int(np.diff(edges).astype(np.int64).take(places).sum()) > MAX_OFFSET:
            raise ResultTooLargeError(
                f"{len(places)} values of type {type_} take 2 GiB or more, too many bytes for one "
                "array"
            )
    return [pc.take(items, from_numpy(places))]
