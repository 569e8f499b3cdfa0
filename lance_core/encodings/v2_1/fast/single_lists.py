"""Read one row of a field all of whose leaves are in lists, from the chunks that hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.decoding import RowRange, run_interleaved
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, packed_bytes
from lance_core.encodings.v2_1.codecs.base import (
    Chunk,
    MiniBlockChunks,
    Place,
    ScalarAt,
    decode,
    scalar_at,
)
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth
from lance_core.encodings.v2_1.fast.chunk_header import ChunkHeader, Parts
from lance_core.encodings.v2_1.levels.repdef import LevelArray, Levels, check_levels
from lance_core.encodings.v2_1.pages.base import LeafPart
from lance_core.encodings.v2_1.pages.leaf_values import Dictionary, dictionary_values, leaf_values
from lance_core.encodings.v2_1.pages.level_codecs import decode_levels, packed_width
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan
from lance_core.encodings.v2_1.read.assemble import assemble
from lance_core.errors import CorruptFileError
from lance_core.schema.empty_arrays import empty_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkedPages
    from lance_core.encodings.v2_1.pages.mini_block.chunk_table import RowTable
    from lance_core.encodings.v2_1.read.fields import FieldTree
    from lance_core.encodings.v2_1.read.leaf_column import LeafColumn

_LONG = frozenset({"variable", "fsst"})
_MAX_SCALARS = 8
"""Maximum values of a row to decode one by one; for more, decoding the chunk is faster."""


class SingleList(NamedTuple):
    """Row ``row`` of a field; ``pages`` and ``plans``: the page of each leaf that has the row."""

    tree: FieldTree
    row: int
    pages: Sequence[int]
    plans: Sequence[MiniBlockPlan]
    context: DecodeContext

    @classmethod
    def of(cls, tree: FieldTree, rows: Rows, context: DecodeContext) -> SingleList | None:
        """None for several rows, and if a leaf is not in lists or not in a mini-block page."""
        if len(rows) > 1 or not tree.has_only_lists:
            return None
        pages, plans = [], []
        for leaf in tree.leaves:
            page = leaf.column.page_of(rows.first)
            if page is None:
                return None
            plan = leaf.column.plan(page, context)
            if not isinstance(plan, MiniBlockPlan):
                return None
            pages.append(page)
            plans.append(plan)
        return cls(tree, rows.first, pages, plans, context)

    def decode(self) -> Decoding[list[pa.Array]]:
        """The row, as one array."""
        leaves = zip(self.tree.leaves, self.pages, self.plans, strict=True)
        parts = yield from run_interleaved(
            [
                leaf.column.located(page, self._part(leaf.column, page, plan))
                for leaf, page, plan in leaves
            ]
        )
        return [assemble(self.tree.root, parts, self.tree.scales, self.context.kernels)]

    def _part(self, leaf: LeafColumn, page: int, plan: MiniBlockPlan) -> Decoding[LeafPart]:
        context, row = self.context, self.row - leaf.column.starts[page]
        known = plan.known
        if known is None:
            known = plan.describe((yield plan.descriptions()), context)
        key = SingleList, page
        lists, table = leaf.memo.get(key), known.table
        if lists is None:
            assert table.rows is not None
            lists = leaf.memo[key] = _ChunkLists(known, table.rows, context)
        chunk = lists.chunk_of(row)
        if chunk is None:
            return (yield from plan.decode(RowRange(row, row + 1), context))
        begin, end = int(table.starts[chunk]), int(table.stops[chunk])
        (buffer,) = yield [ByteRange(known.base + begin, known.base + end)]
        return lists.decode(memoryview(buffer).cast("B"), chunk, row, context)


class _ChunkLists:
    """Decodes single rows of a page that lie within one chunk."""

    __slots__ = ("_definition", "_header", "_key", "_pages", "_rep", "_rows", "_value")

    def __init__(self, pages: ChunkedPages, rows: RowTable, context: DecodeContext) -> None:
        message = pages.message
        self._pages, self._rows = pages, rows
        self._header = ChunkHeader(pages.form)
        levels = message.rep_compression, message.def_compression
        self._key = pages.kinds.kinds, *(encoding.SerializeToString() for encoding in levels)
        form = pages.form
        self._rep = _ChunkLevels(levels[0]) if form.has_rep else None
        self._definition = _ChunkLevels(levels[1]) if form.has_def else None
        self._value = _value_of(pages, context)

    def chunk_of(self, row: int) -> int | None:
        """The chunk that contains the whole row; None if the row spans several chunks."""
        chunk = int(self._rows.first.searchsorted(row, "right")) - 1
        last = int(self._rows.ended.searchsorted(row, "right")) - 1
        return chunk if chunk == last else None

    def decode(self, data: memoryview, chunk: int, row: int, context: DecodeContext) -> LeafPart:
        """Decode ``row`` of the chunk number ``chunk``, whose bytes are ``data``.

        Leaves of one field often have equal levels; these are decoded once and shared.
        """
        table = self._pages.table
        parts = self._header.parts(data)
        count = int(table.values[chunk + 1] - table.values[chunk])
        expected = self._expected(chunk)
        memo: dict[Any, Any] = {} if context.memo is None else context.memo
        number = self._header.num_levels
        end = parts.starts[number - 1] + parts.sizes[number - 1]
        octets = bytes(data[parts.starts[0] : end])
        levels = parts.num_levels, parts.sizes[:number], octets
        key = (*self._key, count, expected, row, *levels)
        row_part: tuple[Levels, slice] | None = memo.get(key)
        if row_part is None:
            row_part = memo[key] = self._row(data, parts, (count, row, *expected), context)
        return LeafPart(row_part[0], self._values(data, parts, count, row_part, context))

    def _expected(self, chunk: int) -> tuple[int, int, bool]:
        """The range of rows that start in a chunk, and True if it starts inside another row."""
        rows = self._rows
        following = rows.first if chunk + 1 < len(rows.first) else rows.ended
        return int(rows.first[chunk]), int(following[chunk + 1]), bool(rows.continues[chunk])

    def _row(
        self,
        data: memoryview,
        parts: Parts,
        expected: tuple[int, int, int, int, bool],
        context: DecodeContext,
    ) -> tuple[Levels, slice]:
        """The checked levels of the row, and the slice of the chunk's values that belong to it."""
        count, row, first, last, continues = expected
        rep, definition = self._levels(data, parts, context)
        kinds, total = self._pages.kinds, parts.num_levels
        if rep is None or not total:
            raise CorruptFileError("a chunk has no repetition levels")
        starts = np.flatnonzero(rep >= kinds.max_rep)
        if len(starts) != last - first or (not continues and int(rep[0]) != kinds.max_rep):
            raise CorruptFileError("levels and repetition index do not agree")
        begin, stop = int(starts[row - first]), total
        if row + 1 < last:
            stop = int(starts[row + 1 - first])
        where, num_values = slice(begin, stop), total
        if definition is not None and kinds.max_visible_def < kinds.max_def:
            visible = definition <= kinds.max_visible_def
            num_values = int(np.count_nonzero(visible))
            before = int(np.count_nonzero(visible[:begin]))
            where = slice(before, before + int(np.count_nonzero(visible[begin:stop])))
        if num_values != count:
            raise CorruptFileError("the levels of a chunk do not match its values")
        levels = Levels(kinds, rep, definition, total).part(begin, stop)
        check_levels(levels, context.kernels)
        return levels, where

    def _levels(
        self, data: memoryview, parts: Parts, context: DecodeContext
    ) -> tuple[LevelArray | None, LevelArray | None]:
        octets = np.frombuffer(data, np.uint8)
        spans = zip(parts.starts, parts.sizes, strict=True)
        rep, definition = (
            None
            if decoder is None
            else decoder.decode(octets, next(spans), parts.num_levels, context)
            for decoder in (self._rep, self._definition)
        )
        return rep, definition

    def _values(
        self,
        data: memoryview,
        parts: Parts,
        count: int,
        row_part: tuple[Levels, slice],
        context: DecodeContext,
    ) -> pa.Array:
        levels, where = row_part
        pages, first = self._pages, self._header.num_levels
        starts, sizes = parts.starts[first:], parts.sizes[first:]
        number = where.stop - where.start
        if self._value is not None and number <= _MAX_SCALARS:
            chunk, value_at = Chunk(data, starts, sizes, count), self._value
            values = [value_at(chunk, position) for position in range(where.start, where.stop)]
            if pages.items is None:
                return _array(values, pages.type, context.validate_utf8)
            return _items_at(values, levels, pages, context)
        octets = np.frombuffer(data, np.uint8)
        spans = np.array(starts).reshape(-1, 1), np.array(sizes).reshape(-1, 1)
        source = MiniBlockChunks(octets, *spans, np.array([count]))
        decoded = decode(pages.message.value_compression, source, context)
        if pages.items is not None:
            items, kernels = Dictionary(pages.items), context.kernels
            return dictionary_values(decoded, where, levels, items, pages.type, kernels)
        return leaf_values(decoded, where, pages.type, context)


class _ChunkLevels:
    """Decodes the levels of one chunk of a page at a time, with few calls per chunk."""

    __slots__ = ("_encoding", "_width")

    def __init__(self, encoding: CompressiveEncoding) -> None:
        self._encoding = encoding
        is_packed = encoding.WhichOneof("compression") == "out_of_line_bitpacking"
        self._width = packed_width(encoding.out_of_line_bitpacking) if is_packed else -1

    def decode(
        self,
        data: npt.NDArray[np.uint8],
        span: tuple[int, int],
        count: int,
        context: DecodeContext,
    ) -> LevelArray:
        """The ``count`` levels at ``span`` (start and size), which is within ``data``."""
        start, size = span
        units, unit = -(-count // CHUNK), packed_bytes(self._width)
        # Levels after the last whole unit may be stored unpacked; then the size is another one.
        if self._width >= 0 and size == units * unit:
            octets = data[start : start + size]
            unpacked = context.kernels.unpack_fastlanes(octets, self._width, 16, units)
            return unpacked[:count].astype(np.uint16, copy=False)
        where = np.array([start]), np.array([size])
        return decode_levels(self._encoding, data, where, np.array([count]), context)


def _value_of(pages: ChunkedPages, context: DecodeContext) -> ScalarAt | None:
    """The function that decodes one value; None if values are better decoded together."""
    type_ = pages.type
    encoding = pages.message.value_compression
    has_width = pa.types.is_primitive(type_) and type_.bit_width % 8 == 0
    is_long = encoding.WhichOneof("compression") in _LONG
    if pages.items is None and not (is_long if is_variable(type_) else has_width):
        return None
    return scalar_at(encoding, Place.MINI_BLOCK, context)


def _items_at(
    indices: list[bytes | memoryview], levels: Levels, pages: ChunkedPages, context: DecodeContext
) -> pa.Array:
    if not indices:
        return empty_array(pages.type)
    width = len(indices[0])
    if any(len(index) != width for index in indices):
        raise CorruptFileError("the dictionary indices have different widths")
    index_values = FixedWidth(pa.py_buffer(b"".join(indices)), 8 * width, len(indices))
    where, items = slice(0, len(indices)), Dictionary(pages.items)
    return dictionary_values(index_values, where, levels, items, pages.type, context.kernels)


def _array(values: list[bytes | memoryview], type_: pa.DataType, validate_utf8: bool) -> pa.Array:
    octets = pa.py_buffer(b"".join(values))
    if not is_variable(type_):
        if any(8 * len(value) != type_.bit_width for value in values):
            raise CorruptFileError(f"the stored values do not have the width of {type_}")
        return FixedWidth(octets, type_.bit_width, len(values)).to_arrow(type_)
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    return VariableWidth(offsets, octets).to_arrow(type_, None, validate_utf8)
