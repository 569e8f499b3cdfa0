"""Read consecutive mini-block pages with equal encodings as if they were one page.

Writers start a new page after about 65,000 levels. Reading several pages at once pays the fixed
cost of a page only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import span_ranges
from lance_core.encodings.decoding import Int64Array, RowIndices, RowRange, packed_rows
from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkBytes, ChunkedPages
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import joined_tables
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan
from lance_core.encodings.v2_1.pages.page_dictionaries import PageItems
from lance_core.store.base import ByteRange

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart

_MOST_ITEMS = 1 << 20
_MOST_ITEMS_SINGLE = 1 << 22
"""Maximum levels of pages to read together: for a range of rows, and for single rows."""
_MOST_BYTES = 64 << 20


def group_compatible(plans: Sequence[LayoutPlan], rows: Sequence[Rows]) -> list[tuple[int, int]]:
    """Group consecutive pages to read together; returns the start and stop of each group.

    ``rows`` are the requested rows of each page.
    """
    edges, items, size = [0], 0, 0
    for number, plan in enumerate(plans):
        if isinstance(plan, MiniBlockPlan):
            items += plan.message.num_items
            size += plan.scope.buffers[1].length
            most = _MOST_ITEMS if isinstance(rows[number], RowRange) else _MOST_ITEMS_SINGLE
            fits = items <= most and size <= _MOST_BYTES
            if fits and number and _are_alike(plans[number - 1], plan):
                continue
            items, size = plan.message.num_items, plan.scope.buffers[1].length
        if number:
            edges.append(number)
    return list(zip(edges, [*edges[1:], len(plans)], strict=True))


def _are_alike(before: LayoutPlan, plan: MiniBlockPlan) -> bool:
    """True if two consecutive pages differ only in their values."""
    if not isinstance(before, MiniBlockPlan) or before.scope.type != plan.scope.type:
        return False
    follows = before.scope.buffers[1].stop <= plan.scope.buffers[1].start
    return (
        follows
        and bool(plan.encoding_fingerprint)
        and before.encoding_fingerprint == plan.encoding_fingerprint
    )


def decode_joined(
    plans: Sequence[MiniBlockPlan], rows: Sequence[Rows], context: DecodeContext
) -> Decoding[LeafPart]:
    """The ``rows`` of similar consecutive pages; rows count from the start of each page."""
    new = [plan for plan in plans if plan.known is None]
    asked = [plan.descriptions() for plan in new]
    wanted = [part for ranges in asked for part in ranges]
    firsts = np.array([plan.scope.buffers[1].start for plan in plans])
    is_whole = all(
        isinstance(part, RowRange) and len(part) == plan.scope.num_rows
        for plan, part in zip(plans, rows, strict=True)
    )
    early = bool(new) and is_whole  # all bytes are needed, so fetch them in the same round
    ranges: list[ByteRange] = []
    cuts = None
    if early:
        lasts = np.array([plan.scope.buffers[1].stop for plan in plans])
        ranges, cuts = span_ranges(0, firsts, lasts, context.coalesce_gap)
    buffers: Sequence[pa.Buffer] = ()
    if new:
        buffers = yield [*wanted, *ranges]
        number = 0
        for plan, part in zip(new, asked, strict=True):
            plan.describe(buffers[number : number + len(part)], context)
            number += len(part)
    pages = _joined(plans)
    selected = _rows_of_all(plans, rows)
    if cuts is None:
        return (yield from pages.decode(selected, context))
    moved = ChunkBytes.of(buffers[len(wanted) :], cuts, firsts)
    shift = np.repeat(moved.positions - firsts, [_known(plan).num_chunks for plan in plans])
    read = ChunkBytes(moved.data, pages.table.starts + shift)
    return pages.part(selected, np.arange(pages.num_chunks), read, context)


def _joined(plans: Sequence[MiniBlockPlan]) -> ChunkedPages:
    pages = [_known(plan) for plan in plans]
    one = pages[0]
    table = joined_tables([page.table for page in pages], [page.base for page in pages])
    found = [page.items for page in pages if page.items is not None]
    if not found:
        return ChunkedPages(one.message, one.form, one.kinds, one.type, table, 0)
    owners = PageItems.of(found, [page.num_chunks for page in pages])
    items = pa.concat_arrays(found)
    return ChunkedPages(one.message, one.form, one.kinds, one.type, table, 0, items, owners)


def _known(plan: MiniBlockPlan) -> ChunkedPages:
    assert plan.known is not None
    return plan.known


def _rows_of_all(plans: Sequence[MiniBlockPlan], rows: Sequence[Rows]) -> Rows:
    """The rows, counted from the start of the first page."""
    first, last = rows[0], rows[-1]
    counts = [plan.scope.num_rows for plan in plans]
    if isinstance(first, RowRange) and isinstance(last, RowRange):
        inner = zip(rows[1:-1], counts[1:-1], strict=True)
        is_range = all(isinstance(part, RowRange) and len(part) == count for part, count in inner)
        if is_range and first.stop == counts[0] and last.start == 0:
            return RowRange(first.start, sum(counts[:-1]) + last.stop)
    numbers: list[Int64Array] = []
    base = 0
    for part, count in zip(rows, counts, strict=True):
        values = part.values if isinstance(part, RowIndices) else np.arange(part.start, part.stop)
        numbers.append(values + base)
        base += count
    return packed_rows(np.concatenate(numbers))
