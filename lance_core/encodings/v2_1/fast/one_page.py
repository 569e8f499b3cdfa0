"""Read rows of a top-level leaf that are in one page: its values are the array of the field."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import Cuts, fixed_ranges, fixed_take
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.decoding import RowIndices, packed_rows
from lance_core.encodings.v2_1.codecs.base import ChunkPositions
from lance_core.encodings.v2_1.pages.full_zip.reader import FullZipPlan
from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import is_sparse
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan
from lance_core.encodings.v2_1.read.assemble import assemble
from lance_core.encodings.v2_1.read.leaf_column import PLACED

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart
    from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkedPages
    from lance_core.encodings.v2_1.read.leaf_column import LeafColumn


class OnePage(NamedTuple):
    """Rows of a column, at least one, all in the page number ``page``."""

    leaf: LeafColumn
    page: int
    rows: AnyRows
    context: DecodeContext

    @classmethod
    def of(cls, leaf: LeafColumn, rows: AnyRows, context: DecodeContext) -> OnePage | None:
        """None if the rows are in several pages, or their values are long: see `LongValues`."""
        if leaf.has_long_values:
            return None
        starts = leaf.column.starts
        if isinstance(rows, RowIndices):  # as `ends`, which is one more call of each column
            first, last = int(rows.values[0]), int(rows.values[-1])
        else:
            first, last = rows.ends
        page = bisect_right(starts, last) - 1
        if last >= starts[-1] or first < starts[page]:
            return None
        return tuple.__new__(cls, (leaf, page, rows, context))  # no call of a Python function

    def decode(self) -> Decoding[list[pa.Array]]:
        """The rows in their order, as one array."""
        leaf, page, rows, context = self
        plan = leaf.plans.get(page) or leaf.plan(page, context)
        if plan.is_all_null:
            return [all_null(leaf.type, len(rows))]
        start = leaf.column.starts[page]
        if start:
            rows = rows.moved(-start)
        try:
            if isinstance(rows, OrderedRows):
                return [(yield from self._ordered(plan, rows))]
            return [self._assembled((yield from plan.decode(rows, context)))]
        except PLACED as error:
            raise leaf.with_place(error, page) from error

    def _ordered(self, plan: LayoutPlan, rows: OrderedRows) -> Decoding[pa.Array]:
        taken = yield from _take_in_order(plan, rows, self.context)
        if taken is not None:
            return self._assembled(taken)
        part = yield from plan.decode(packed_rows(rows.distinct.values), self.context)
        return rows.taken_from(self._assembled(part))

    def _assembled(self, part: LeafPart) -> pa.Array:
        levels = part.levels
        has_levels = levels.rep is not None or levels.definition is not None
        if not has_levels and len(part.values) == levels.count:
            return part.values
        return assemble(self.leaf.as_field(), [part], (1,), self.context.kernels)


def _take_in_order(
    plan: LayoutPlan, rows: OrderedRows, context: DecodeContext
) -> Decoding[LeafPart | None]:
    """``rows`` of the page in the requested order; None if decoding the distinct rows is as fast.

    Supports few values of a mini-block page without lists whose chunks are known, and rows of fixed
    width of a full-zip page that are read as one range.
    """
    if isinstance(plan, MiniBlockPlan) and plan.known is not None and not plan.has_lists:
        return (yield from _of_chunks(plan.known, rows, context))
    if isinstance(plan, FullZipPlan) and not plan.is_indexed:
        return (yield from _of_equal_rows(plan, rows, context))
    return None


def _of_chunks(
    pages: ChunkedPages, rows: OrderedRows, context: DecodeContext
) -> Decoding[LeafPart | None]:
    distinct = rows.distinct.values
    chunks, chunk, position = pages.table.locate(distinct, context.kernels)
    counts = pages.table.counts[chunks]
    if not is_sparse(distinct, counts):
        return None
    read = yield from pages.read(chunks, context)
    at = ChunkPositions(counts, chunk, position)
    return pages.few(chunks, at, read, rows.indices, context)


def _of_equal_rows(
    plan: FullZipPlan, rows: OrderedRows, context: DecodeContext
) -> Decoding[LeafPart | None]:
    # Each row has a control word and a value, both of fixed width, so none needs an index.
    stride = plan.words.width + plan.width
    base = plan.scope.buffers[0].start
    ranges, cuts = fixed_ranges(base, stride, rows.distinct.values, context.coalesce_gap)
    if len(ranges) > 1:
        return None
    whole = Cuts([0, len(rows)], cuts.firsts)
    taken = fixed_take((yield ranges), whole, rows.numbers, stride).view(np.uint8)
    return plan.rows(taken.reshape(len(rows), stride), context)
