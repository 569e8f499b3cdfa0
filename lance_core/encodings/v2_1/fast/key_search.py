"""Search integers in packed pages of a top-level leaf without making an array of all values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.encodings.decoding import RowRange, run_interleaved
from lance_core.encodings.kernels.numpy.bitpacking import WIDTHS
from lance_core.encodings.page_rows import split_rows
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan
from lance_core.encodings.v2_1.read.fields import column_of_leaf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows, ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
    from lance_core.encodings.page import Column
    from lance_core.schema import Field

MAX_PAGES = 8
"""Maximum pages that are searched one by one: more pages are decoded together."""


def find_integers(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: RowRange,
    index: IntegerIndex,
    context: DecodeContext,
) -> Decoding[ValueMatches | None]:
    """The 2.1 and 2.2 implementation of `lance_core.encodings.fast.version_paths.find_integers`."""
    leaf = column_of_leaf(field, column_of, columns)
    if leaf is None:
        return None
    first, last = leaf.page_of(rows.first), leaf.page_of(rows.last)
    if first is None or last is None or last - first >= MAX_PAGES:
        return None
    searches = []
    for page, page_rows in split_rows(leaf.column, rows, leaf.path):
        plan = leaf.plan(page, context)
        if not isinstance(plan, MiniBlockPlan) or not _is_searchable(plan):
            return None
        searches.append((page, plan, page_rows))
    matches = yield from run_interleaved(
        [
            leaf.located(page, _find(plan, page_rows, index, context))
            for page, plan, page_rows in searches
        ]
    )
    starts = accumulate((len(page_rows) for _, _, page_rows in searches), initial=0)
    positions = [own + start for (own, _), start in zip(matches, starts, strict=False)]
    return np.concatenate(positions), np.concatenate([members for _, members in matches])


def _is_searchable(plan: MiniBlockPlan) -> bool:
    """True for packed integers without levels; then no row is null."""
    # The default message stands for another encoding: its values have 0 bits.
    packed, type_ = plan.message.value_compression.inline_bitpacking, plan.scope.type
    bits = packed.uncompressed_bits_per_value
    has_levels = plan.has_lists or plan.form.has_rep or plan.form.has_def
    if has_levels or plan.has_dictionary or bits not in WIDTHS or packed.HasField("values"):
        return False
    return pa.types.is_primitive(type_) and bool(type_.bit_width == bits)


def _find(
    plan: MiniBlockPlan, rows: Rows, index: IntegerIndex, context: DecodeContext
) -> Decoding[ValueMatches]:
    """The ``rows`` of a page with a value in ``index``, counted from the first of ``rows``."""
    assert isinstance(rows, RowRange)
    known, read = yield from plan.open(rows, context)
    if read is None:
        chunks = known.table.chunks_of(rows, context.kernels)
        read = yield from known.read(chunks, context)
    else:
        chunks = np.arange(known.num_chunks)
    stored = known.parts(chunks, read, context).values(known.table.counts[chunks]).single()
    span = stored.starts[0], stored.sizes[0], stored.counts
    bits = known.message.value_compression.inline_bitpacking.uncompressed_bits_per_value
    positions, members = context.kernels.find_inline(stored.data, *span, bits, index)
    skipped = rows.start - int(known.table.values[chunks[0]])
    first, stop = positions.searchsorted([skipped, skipped + len(rows)])
    return positions[first:stop] - skipped, members[first:stop]
