"""Read strings and binary values that are long: each is an array of its own, over the file's bytes.

Between the values of a page are their lengths, and perhaps the headers of frames, so one array of
several values needs a copy of them. An array takes some microseconds, as long as a copy of
`LONG_BYTES`, but no memory. Compressed values, and frames of several blocks, are copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.ordered_rows import OrderedRows, reordered
from lance_core.encodings.arrow.strings import check_utf8, is_text, offset_dtype
from lance_core.encodings.compression.raw_frames import raw_blocks
from lance_core.encodings.decoding import run_interleaved
from lance_core.encodings.page_rows import split_rows
from lance_core.encodings.v2_1.codecs.general import scheme_of
from lance_core.encodings.v2_1.pages.full_zip.reader import FullZipPlan
from lance_core.encodings.v2_1.read.assemble import assemble

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
    from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
    from lance_core.encodings.v2_1.levels.control_words import ZippedLevels
    from lance_core.encodings.v2_1.read.leaf_column import LeafColumn


class LongValues(NamedTuple):
    """Rows of a column of long values, at least one."""

    leaf: LeafColumn
    rows: AnyRows
    context: DecodeContext

    @classmethod
    def of(cls, leaf: LeafColumn, rows: AnyRows, context: DecodeContext) -> LongValues | None:
        """None if the values of the column are short."""
        return cls(leaf, rows, context) if leaf.has_long_values else None

    def decode(self) -> Decoding[list[pa.Array]]:
        """The rows in their order: an array for each, or one for those of a page."""
        leaf, rows, context = self
        distinct = rows.distinct if isinstance(rows, OrderedRows) else rows
        pages = split_rows(leaf.column, distinct, leaf.path)
        decodings = [
            leaf.located(page, self._of_page(page, page_rows, context)) for page, page_rows in pages
        ]
        arrays = [array for part in (yield from run_interleaved(decodings)) for array in part]
        if not isinstance(rows, OrderedRows):
            return arrays
        if len(arrays) == len(distinct):
            return [arrays[index] for index in rows.indices.tolist()]
        return reordered(arrays, rows)

    def _of_page(self, page: int, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        leaf, plan = self.leaf, self.leaf.plan(page, context)
        if isinstance(plan, FullZipPlan) and not plan.width and not plan.kinds.max_rep:
            read, zipped = yield from plan.zipped_rows(rows, context)
            values = _value_arrays(plan, zipped, read, context)
            if values is not None:
                return values
            part = plan.part(zipped, read, context)
        else:
            part = yield from plan.decode(rows, context)
        return [assemble(leaf.as_field(), [part], (1,), context.kernels)]


def _value_arrays(
    plan: FullZipPlan, zipped: ZippedLevels, data: Bytes, context: DecodeContext
) -> list[pa.Array] | None:
    """An array for each value, and for each null; None if values are not stored as they are."""
    type_ = plan.scope.type
    starts, stops = zipped.starts, zipped.stops
    definition = zipped.levels.definition
    present = np.arange(len(starts)) if definition is None else np.flatnonzero(definition == 0)
    places = _places(plan.message.value_compression, data, starts[present], stops[present])
    if places is None:
        return None
    starts, stops = places
    sizes = stops - starts
    unit = offset_dtype(type_)
    if unit is np.int32 and sizes.max(initial=0) > MAX_OFFSET:
        return None
    edges = np.zeros((len(sizes), 2), unit)
    edges[:, 1] = sizes
    whole, offsets, width = pa.py_buffer(data), pa.py_buffer(edges), 2 * edges.itemsize
    is_checked = context.validate_utf8 and is_text(type_)
    arrays = []
    for number, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        value = whole.slice(start, size)
        if is_checked:
            check_utf8(edges[number], value)
        buffers = [None, offsets.slice(number * width, width), value]
        arrays.append(pa.Array.from_buffers(type_, 1, buffers, 0))
    if definition is None:
        return arrays
    rows = [pa.nulls(1, type_)] * len(definition)
    for position, array in zip(present.tolist(), arrays, strict=True):
        rows[position] = array
    return rows


def _places(
    encoding: CompressiveEncoding, data: Bytes, starts: Int64Array, stops: Int64Array
) -> tuple[Int64Array, Int64Array] | None:
    """Where the bytes of the values are that are stored at ``starts`` to ``stops``.

    None unless the bytes of each value are in ``data``, one after the other.
    """
    is_framed = encoding.WhichOneof("compression") == "general"
    values = encoding.general.values if is_framed else encoding
    if values.WhichOneof("compression") != "variable" or values.variable.HasField("values"):
        return None
    if not is_framed:
        return starts, stops
    if scheme_of(encoding.general) != "zstd":
        return None
    raw = raw_blocks(data, starts, stops)
    if raw is None or len(raw.starts) != len(starts):
        return None
    return raw.starts, raw.stops
