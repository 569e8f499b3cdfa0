"""Decode rows of a page in the order in which they are requested, without sorting them first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lance_core.encodings.arrow.coalesced_take import Cuts, fixed_ranges, fixed_take
from lance_core.encodings.v2_1.codecs.base import ChunkPositions
from lance_core.encodings.v2_1.pages.full_zip.reader import FullZipPlan
from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import is_sparse
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import OrderedRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart
    from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkedPages


def take_in_order(
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
    return pages.few(chunks, at, read, rows.places, context)


def _of_equal_rows(
    plan: FullZipPlan, rows: OrderedRows, context: DecodeContext
) -> Decoding[LeafPart | None]:
    stride = plan.words.width + plan.width
    base = plan.scope.buffers[0].start
    ranges, cuts = fixed_ranges(base, stride, rows.distinct.values, context.coalesce_gap)
    if len(ranges) > 1:
        return None
    whole = Cuts([0, len(rows)], cuts.firsts)
    taken = fixed_take((yield ranges), whole, rows.numbers, stride).view(np.uint8)
    return plan.rows(taken.reshape(len(rows), stride), context)
