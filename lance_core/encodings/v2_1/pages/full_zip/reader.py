"""Read full-zip pages (message ``FullZipLayout``): large values, each after its control word.

Page buffers: the values and, if their positions cannot be computed, the repetition index. It has
the start of each row, then the end of the last row. Its entries all have the same width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import FullZipLayout
from lance_core.byte_ranges import BufferSlices, ByteRange
from lance_core.encodings.arrow.coalesced_take import (
    fixed_ranges,
    fixed_take,
    span_places,
)
from lance_core.encodings.arrow.decode_budget import spend
from lance_core.encodings.decoding import Int64Array, RowRange
from lance_core.encodings.kernels.numpy.full_zip_offsets import windows
from lance_core.encodings.v2_1.codecs.base import (
    PerValue,
    Place,
    ScalarAt,
    decode,
    scalar_at,
)
from lance_core.encodings.v2_1.codecs.fixed_size_list import plain_list
from lance_core.encodings.v2_1.codecs.flat import flat_bits, whole_value
from lance_core.encodings.v2_1.codecs.general import plain_spans, scheme_of
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth
from lance_core.encodings.v2_1.codecs.values_take import downcast_offsets
from lance_core.encodings.v2_1.levels.control_words import ControlWords, ZippedLevels
from lance_core.encodings.v2_1.levels.repdef import Levels, check_levels
from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart, PageScope, kinds_of
from lance_core.encodings.v2_1.pages.leaf_values import present_values, zipped_values
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows

_WIDEST = (1 << 31) - 1


class _Spans(NamedTuple):
    """Fetched bytes, and the start and stop of each row in them."""

    data: npt.NDArray[np.uint8]
    starts: Int64Array
    stops: Int64Array


class FullZipPlan(LayoutPlan):
    """Decodes a full-zip page. ``width``: bytes of a value, 0 if variable; see `ControlWords`."""

    __slots__ = ("_plain", "_scalar", "kinds", "message", "scope", "width", "words")

    def __init__(self, message: FullZipLayout, scope: PageScope) -> None:
        self.message = message
        self.scope = scope
        self.kinds = kinds_of(message.layers, message.num_items)
        self.width = message.bits_per_value // 8
        lengths = message.bits_per_offset // 8
        self.words = ControlWords(
            self.kinds, message.bits_rep, message.bits_def, self.width, lengths
        )
        self._plain: bool | None = None
        self._scalar: tuple[ScalarAt | None] | None = None

    @property
    def is_indexed(self) -> bool:
        """True if the page has a repetition index."""
        return not self.width or self.kinds.max_rep > 0

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """See `LayoutPlan`."""
        if not self.is_indexed:
            return (yield from self._regular(rows, context))
        data, zipped = yield from self.zipped_rows(rows, context)
        return self.part(zipped, data, context)

    def zipped_rows(
        self, rows: Rows, context: DecodeContext
    ) -> Decoding[tuple[npt.NDArray[np.uint8], ZippedLevels]]:
        """The stored bytes of ``rows`` of an indexed page, and where their values are in them."""
        spans = yield from self._spans(rows, context)
        spend(len(spans.data))
        zipped = self.words.parse(spans.data, spans.starts, spans.stops, context.kernels)
        check_levels(zipped.levels, context.kernels)
        return spans.data, zipped

    def part(
        self, zipped: ZippedLevels, data: npt.NDArray[np.uint8], context: DecodeContext
    ) -> LeafPart:
        """The rows that `zipped_rows` has returned."""
        if self.width:
            return self._fixed(zipped.levels, windows(data, zipped.starts, self.width), context)
        return self._variable(zipped, data, context)

    def _value_at(self, context: DecodeContext) -> ScalarAt | None:
        if self._scalar is None:
            encoding = self.message.value_compression
            self._scalar = (scalar_at(encoding, Place.PER_VALUE, context),)
        return self._scalar[0]

    def _is_plain(self, context: DecodeContext) -> bool:
        """True if values are stored as Arrow stores them, with the width that the page states."""
        if self._plain is None:
            is_whole = self._value_at(context) is whole_value
            self._plain = is_whole and self.width * 8 == _stored_bits(self.message, self.scope.type)
        return self._plain

    def _regular(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """Fixed-width values without lists: all rows have the same size."""
        stride = self.words.width + self.width
        base = self.scope.buffers[0].start
        if isinstance(rows, RowRange):
            (buffer,) = yield [ByteRange(base + rows.start * stride, base + rows.stop * stride)]
            table = np.frombuffer(buffer, np.uint8).reshape(len(rows), stride)
        else:
            ranges, cuts = fixed_ranges(base, stride, rows.values, context.coalesce_gap)
            buffers = yield ranges
            taken = fixed_take(buffers, cuts, rows.values, stride)
            table = taken.view(np.uint8).reshape(len(rows), stride)
        return self.rows(table, context)

    def rows(self, table: npt.NDArray[np.uint8], context: DecodeContext) -> LeafPart:
        """Decode rows of equal size, given as a table; each starts with its control word."""
        width = self.words.width
        levels = self.words.levels(np.ascontiguousarray(table[:, :width]))
        check_levels(levels, context.kernels)
        return self._fixed(levels, np.ascontiguousarray(table[:, width:]), context)

    def _fixed(
        self, levels: Levels, payload: npt.NDArray[np.uint8], context: DecodeContext
    ) -> LeafPart:
        buffer = pa.py_buffer(payload) if payload.size else pa.py_buffer(b"")
        stored = FixedWidth(buffer, self.width * 8, len(payload))
        plain = self._is_plain(context)
        encoding = self.message.value_compression
        values = stored if plain else decode(encoding, PerValue(stored), context)
        return LeafPart(levels, zipped_values(values, self.scope.type, context))

    def _variable(
        self, zipped: ZippedLevels, data: npt.NDArray[np.uint8], context: DecodeContext
    ) -> LeafPart:
        """Decode variable-width values. A null has no stored value and therefore no bytes."""
        visible = zipped.levels.visible()
        definition = zipped.levels.definition
        if visible is not None and definition is not None:
            definition = definition[visible]
        packed = pa.types.is_struct(self.scope.type)
        starts, stops = zipped.starts, zipped.stops
        present = None if definition is None else definition == 0
        if packed and present is not None:  # a packed struct always has bytes, so skip nulls
            starts, stops = starts[present], stops[present]
        encoding, width = self.message.value_compression, self.message.bits_per_offset
        if encoding.WhichOneof("compression") == "general":  # decompress without joining the input
            scheme = scheme_of(encoding.general)
            stored = plain_spans(scheme, data, (starts, stops), width, context.kernels)
            encoding = encoding.general.values
        else:
            bytes_, offsets = context.kernels.gather_variable(data, starts, stops)
            stored = VariableWidth(downcast_offsets(offsets, width), bytes_)
        values = decode(encoding, PerValue(stored), context)
        array = zipped_values(values, self.scope.type, context)
        if packed and present is not None:
            array = present_values(array, present)
        return LeafPart(zipped.levels, array)

    def _spans(self, rows: Rows, context: DecodeContext) -> Decoding[_Spans]:
        values, index = self.scope.buffers[:2]
        width = index.length // (self.scope.num_rows + 1)
        if isinstance(rows, RowRange):
            index_range = ByteRange(
                index.start + rows.start * width, index.start + (rows.stop + 1) * width
            )
            if len(rows) == self.scope.num_rows:
                edges, data = yield [index_range, values]
            else:
                (edges,) = yield [index_range]
            edges_of_rows = self._edges_of(np.frombuffer(edges, np.uint8), width)
            first, last = int(edges_of_rows[0]), int(edges_of_rows[-1])
            if len(rows) != self.scope.num_rows:
                (data,) = yield [ByteRange(values.start + first, values.start + last)]
            else:
                data = data.slice(first, last - first)
            octets = np.frombuffer(data, np.uint8)
            return _Spans(octets, edges_of_rows[:-1] - first, edges_of_rows[1:] - first)
        positions = np.unique(np.concatenate([rows.values, rows.values + 1]))
        ranges, cuts = fixed_ranges(index.start, width, positions, context.coalesce_gap)
        buffers = yield ranges
        taken = fixed_take(buffers, cuts, positions, width)
        edges_of_rows = self._edges_of(taken.view(np.uint8), width)
        number = np.searchsorted(positions, rows.values)
        starts, stops = edges_of_rows[number], edges_of_rows[number + 1]
        spans, begins = span_places(values.start, starts, stops, context.coalesce_gap)
        octets = BufferSlices.of((yield spans)).joined(context.kernels.join_slices)
        return _Spans(octets, begins, begins + (stops - starts))

    def _edges_of(self, stored: npt.NDArray[np.uint8], width: int) -> Int64Array:
        """Entries of the repetition index, checked to ascend within the values."""
        edges = stored.view(f"<u{width}").astype(np.uint64)
        if edges.max() > self.scope.buffers[0].length or (edges[1:] < edges[:-1]).any():
            raise CorruptFileError("the repetition index does not match the values")
        return edges.astype(np.int64)


def _stored_bits(message: FullZipLayout, type_: pa.DataType) -> int:
    """Bits of an uncompressed value; 0 for lists of another size than those of ``type_``."""
    encoding = message.value_compression
    key = encoding.WhichOneof("compression")
    if key == "flat":
        return flat_bits(encoding.flat)
    size_and_bits = plain_list(encoding.fixed_size_list) if key == "fixed_size_list" else None
    if (
        size_and_bits is None
        or not pa.types.is_fixed_size_list(type_)
        or size_and_bits[0] != type_.list_size
    ):
        return 0
    return size_and_bits[0] * size_and_bits[1]


def decode_full_zip(message: FullZipLayout, scope: PageScope) -> LayoutPlan:
    """`LayoutDecoder` of ``full_zip_layout``."""
    form = message.WhichOneof("details")
    if form == "bits_per_value":
        bits = message.bits_per_value
        if not 0 < bits <= _WIDEST or bits % 8:
            raise CorruptFileError(f"a full-zip page cannot have values of {bits} bits")
    elif form != "bits_per_offset" or message.bits_per_offset not in (32, 64):
        raise CorruptFileError("the width of values is missing", field="FullZipLayout")
    if not message.HasField("value_compression"):
        raise CorruptFileError("the encoding of the values is missing", field="FullZipLayout")
    plan = FullZipPlan(message, scope)
    if len(scope.buffers) < 1 + plan.is_indexed:
        raise CorruptFileError(f"a full-zip page cannot have {len(scope.buffers)} buffers")
    size = scope.buffers[0].length
    if not plan.is_indexed:
        needed = scope.num_rows * (plan.words.width + plan.width)
        if needed > size:
            raise CorruptFileError(f"{scope.num_rows} rows need {needed} bytes, there are {size}")
        return plan
    width, rest = divmod(scope.buffers[1].length, scope.num_rows + 1)
    if rest or width not in (1, 2, 4, 8):
        raise CorruptFileError(
            f"a repetition index of {scope.buffers[1].length} bytes does not fit {scope.num_rows} "
            "rows"
        )
    return plan
