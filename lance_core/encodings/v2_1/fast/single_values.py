"""Read single values of top-level leaves, each from the bytes of its chunk or of its row.

For a few rows, dozens of numpy calls cost more than decoding the values: all is done with integers
of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pyarrow as pa

from lance_core.byte_ranges import ByteRange, byte_range
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.strings import is_variable, single_value
from lance_core.encodings.decoding import RowIndices, RowRange, run_interleaved
from lance_core.encodings.v2_1.codecs.base import Chunk, Place, ScalarAt, scalar_at
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.encodings.v2_1.fast.chunk_header import ChunkHeader
from lance_core.encodings.v2_1.levels.control_words import too_long
from lance_core.encodings.v2_1.pages.full_zip.reader import FullZipPlan
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan
from lance_core.encodings.v2_1.read.leaf_column import PLACED
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.v2_1.pages.base import LayoutPlan
    from lance_core.encodings.v2_1.read.leaf_column import LeafColumn

MAX_ROWS = 5
"""Maximum rows of a leaf to read one by one: 6 rows of a page are as fast together."""

ValueAt: TypeAlias = "Callable[[int, DecodeContext], Decoding[pa.Array]]"
"""Decodes one row of a page, possibly null, as an array of one value."""


_chunk = partial(tuple.__new__, Chunk)
"""The chunk with these members, without a call of a Python function."""


class SingleValues(NamedTuple):
    """A few rows of a column: for each its page, its number within the page, and its decoder."""

    leaf: LeafColumn
    rows: Sequence[tuple[int, int, ValueAt]]
    context: DecodeContext

    @classmethod
    def of(cls, leaf: LeafColumn, rows: AnyRows, context: DecodeContext) -> SingleValues | None:
        """None for many rows, or if a page has no faster way to a single value."""
        numbers: Sequence[int]
        if isinstance(rows, RowIndices):
            if len(rows.values) > MAX_ROWS:
                return None
            numbers = rows.values.tolist()
        elif isinstance(rows, RowRange):
            numbers = range(rows.start, rows.stop)
            if len(numbers) > MAX_ROWS:
                return None
        elif len(rows.indices) > MAX_ROWS:
            return None
        else:
            numbers = rows.numbers.tolist()
        single = []
        starts = leaf.column.starts
        for number in numbers:
            page = leaf.page_of(number)
            if page is None:
                return None
            value_at = _value_at(leaf, page, context)
            if value_at is None:
                return None
            single.append((page, number - starts[page], value_at))
        return tuple.__new__(cls, (leaf, single, context))  # no call of a Python function

    def decode(self) -> Decoding[list[pa.Array]]:
        """The rows in their order, each as an array."""
        leaf, rows, context = self
        if len(rows) > 1:
            decodings = [leaf.located(page, read(row, context)) for page, row, read in rows]
            return (yield from run_interleaved(decodings))
        page, row, read = rows[0]
        try:
            return [(yield from read(row, context))]
        except PLACED as error:
            raise leaf.with_place(error, page) from error


def _value_at(leaf: LeafColumn, page: int, context: DecodeContext) -> ValueAt | None:
    """The decoder of single values of a page, which the column keeps; None if it has none."""
    key = SingleValues, page
    if key not in leaf.memo:
        plan = leaf.plan(page, context)
        leaf.memo[key] = leaf.placed(page, lambda: _decoder_of(plan, leaf.type, context))
    value_at: ValueAt | None = leaf.memo[key]
    return value_at


def _decoder_of(plan: LayoutPlan, type_: pa.DataType, context: DecodeContext) -> ValueAt | None:
    if plan.kinds.max_rep or pa.types.is_struct(type_) or pa.types.is_dictionary(type_):
        return None
    if isinstance(plan, MiniBlockPlan):
        message = plan.message
        value = scalar_at(message.value_compression, Place.MINI_BLOCK, context)
        definition = None
        if plan.form.has_def:
            definition = scalar_at(message.def_compression, Place.BLOCK, context)
        if value is None or (plan.form.has_def and definition is None):
            return None
        return _ChunkValues(plan, value, definition).value_at
    if isinstance(plan, FullZipPlan):
        value = scalar_at(plan.message.value_compression, Place.PER_VALUE, context)
        return None if value is None else _ZippedValues(plan, value).value_at
    return None


class _ChunkValues:
    """Single values of a mini-block page without lists."""

    __slots__ = ("_definition", "_header", "_plan", "_value")

    def __init__(self, plan: MiniBlockPlan, value: ScalarAt, definition: ScalarAt | None) -> None:
        self._plan = plan
        self._header = ChunkHeader(plan.form)
        self._value, self._definition = value, definition

    def value_at(self, number: int, context: DecodeContext) -> Decoding[pa.Array]:
        """See `ValueAt`."""
        plan = self._plan
        known = plan.known
        if known is None:
            buffers = yield plan.descriptions()
            # Concurrent reads of several rows request the same buffers: the first one stores the
            # result.
            known = plan.known or plan.describe(buffers, context)
        table = known.table
        chunk = int(table.values.searchsorted(number, "right")) - 1
        first, stop = table.values[chunk : chunk + 2].tolist()
        begin, end = int(table.starts[chunk]), int(table.stops[chunk])
        (buffer,) = yield [byte_range((known.base + begin, known.base + end))]
        position, count, type_ = number - first, stop - first, plan.scope.type
        level, values = self._parts(memoryview(buffer), position, count)
        if level:
            return all_null(type_, 1)
        octets = self._value(values, position)
        items = known.items
        if items is None:
            return _array_of(type_, octets, context.validate_utf8)
        index = int.from_bytes(octets, "little")
        if index >= len(items):
            raise CorruptFileError(
                f"index {index} is outside of the dictionary of {len(items)} items"
            )
        return items.slice(index, 1)

    def _parts(self, data: memoryview, position: int, count: int) -> tuple[int, Chunk]:
        """The definition level of the value, and the value buffers of the chunk."""
        total, starts, sizes = self._header.parts(data)
        first = self._header.num_levels
        chunk = _chunk((data, starts[first:], sizes[first:], count))
        if not first:
            return 0, chunk
        if total != count:
            raise CorruptFileError("the levels of a chunk do not match its values")
        if self._definition is None:
            return 0, chunk
        levels = Chunk(data, starts[first - 1 : first], sizes[first - 1 : first], count)
        level = int.from_bytes(self._definition(levels, position), "little")
        highest = self._plan.kinds.max_def
        if level > highest:
            raise CorruptFileError(f"definition level {level} where {highest} is the highest")
        return level, chunk


class _ZippedValues:
    """Single values of a full-zip page without lists."""

    __slots__ = ("_plan", "_value")

    def __init__(self, plan: FullZipPlan, value: ScalarAt) -> None:
        self._plan = plan
        self._value = value

    def value_at(self, number: int, context: DecodeContext) -> Decoding[pa.Array]:
        """See `ValueAt`."""
        scope = self._plan.scope
        first, last = yield from self._span_of(number)
        base = scope.buffers[0].start
        (buffer,) = yield [ByteRange(base + first, base + last)]
        octets, is_null = self._split(memoryview(buffer))
        if is_null:
            return all_null(scope.type, 1)
        value = self._value(Chunk(octets, (0,), (len(octets),), 1), 0)
        return _array_of(scope.type, value, context.validate_utf8)

    def _span_of(self, row: int) -> Decoding[tuple[int, int]]:
        """The start and stop of a row in the values of the page."""
        plan, scope = self._plan, self._plan.scope
        if plan.width:
            stride = plan.words.width + plan.width
            return row * stride, (row + 1) * stride
        index = scope.buffers[1]
        width = index.length // (scope.num_rows + 1)
        at = index.start + row * width
        (edges,) = yield [ByteRange(at, at + 2 * width)]
        stored = edges.to_pybytes()
        first = int.from_bytes(stored[:width], "little")
        last = int.from_bytes(stored[width:], "little")
        if not first + plan.words.width <= last <= scope.buffers[0].length:
            raise CorruptFileError("the repetition index does not match the values")
        return first, last

    def _split(self, row: memoryview) -> tuple[memoryview, bool]:
        """The bytes of the value in a row with a single level, and True if the value is null.

        Raises `CorruptFileError` if the row does not end at the end of the value.
        """
        words, highest = self._plan.words, self._plan.kinds.max_def
        level = int.from_bytes(row[: words.width], "little")
        if level > highest:
            raise CorruptFileError(f"level {level} where {highest} is the highest")
        octets = row[words.width :]
        if words.value_width:
            return octets, level > 0
        if level:
            if len(octets):
                raise too_long()
            return octets, True
        length, octets = octets[: words.length_width], octets[words.length_width :]
        is_cut = len(length) < words.length_width
        if is_cut or int.from_bytes(length, "little") != len(octets):
            raise too_long()
        return octets, False


def _array_of(type_: pa.DataType, octets: bytes | memoryview, validate_utf8: bool) -> pa.Array:
    """An array of one value with the bytes ``octets``."""
    if is_variable(type_):
        return single_value(type_, pa.py_buffer(octets), False, validate_utf8)
    return FixedWidth(pa.py_buffer(bytes(octets)), 8 * len(octets), 1).to_arrow(type_)
