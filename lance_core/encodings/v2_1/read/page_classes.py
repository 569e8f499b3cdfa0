"""Decode the pages of a top-level leaf, grouped by encoding, and put the values in order again.

The encoding of a page depends on its values: a page without nulls, or with one distinct value, has
another encoding than its neighbours. If the encodings of many small pages alternate, consecutive
pages with equal encodings are few. So all pages with one encoding are decoded together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import spans_index
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.decoding import RowRange, packed_rows, run_interleaved
from lance_core.encodings.v2_1.pages.constant.reader import constant_kind, decode_constants
from lance_core.encodings.v2_1.read.assemble import assemble
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
    from lance_core.encodings.v2_1.levels.repdef import BoolArray
    from lance_core.encodings.v2_1.levels.tree import Node
    from lance_core.encodings.v2_1.read.leaf_column import LeafColumn

MIN_GROUPS = 8
"""Minimum groups of consecutive pages with equal encodings: fewer are decoded one by one."""

MAX_PAGE_ROWS = 1500
"""Maximum mean rows of a page: of larger ones, copying the values takes longer than it saves."""

_CONSTANT = -2
"""The class of pages of one value, of one value and nulls, or of nulls."""


def decode_by_class(
    leaf: LeafColumn, node: Node, rows: Rows, context: DecodeContext
) -> Decoding[pa.Array | None]:
    """The ``rows`` of ``leaf``, which is the field ``node``.

    None if its pages do not alternate, or have many rows.
    """
    if len(leaf.column.starts) <= MIN_GROUPS:
        return None
    if isinstance(rows, RowRange) and len(leaf.stretches(rows)) < MIN_GROUPS:
        return None
    pages, cuts = leaf.pages_of(rows)
    if len(rows) > MAX_PAGE_ROWS * len(pages):
        return None
    kinds = leaf.pages.kinds[pages]
    classes = leaf.fingerprints(kinds)
    if np.count_nonzero(classes[1:] != classes[:-1]) + np.count_nonzero(classes == -1) < MIN_GROUPS:
        return None
    others = np.flatnonzero(classes == -1)
    if not _are_constant(leaf, pages[others]):
        return None
    classes[others] = _CONSTANT
    names = np.unique(classes).tolist()
    chosen = [classes == name for name in names]
    wanted = _WantedPages(rows, pages, cuts)
    found = yield from run_interleaved(
        [
            _constants(leaf, wanted, mask, context)
            if name == _CONSTANT
            else _decode(leaf, node, wanted, mask, context)
            for name, mask in zip(names, chosen, strict=True)
        ]
    )
    return _in_order(found, chosen, np.diff(cuts))


def _are_constant(leaf: LeafColumn, pages: Int64Array) -> bool:
    """True if `decode_constants` decodes all of ``pages``."""
    counts, encodings = np.diff(leaf.pages.edges)[pages].tolist(), leaf.pages.encodings
    pairs = set(zip(leaf.pages.kinds[pages].tolist(), counts, strict=True))
    return all(constant_kind(encodings[kind], count, leaf.type) for kind, count in pairs)


class _WantedPages(NamedTuple):
    """Requested rows and their pages; see `LeafColumn.pages_of`."""

    rows: Rows
    pages: Int64Array
    cuts: Int64Array


def _constants(
    leaf: LeafColumn, wanted: _WantedPages, chosen: BoolArray, context: DecodeContext
) -> Decoding[pa.Array]:
    """The requested rows of the ``chosen`` pages, of the class `_CONSTANT`."""
    rows, pages, cuts = wanted
    own, counts = pages[chosen], np.diff(cuts)[chosen]
    starts = np.array(leaf.column.starts)[own]
    if isinstance(rows, RowRange):
        firsts = np.maximum(rows.start - starts, 0)
        numbers = spans_index(firsts, firsts + counts)
    else:
        numbers = rows.values[np.repeat(chosen, np.diff(cuts))] - np.repeat(starts, counts)
    try:
        return (yield from decode_constants(leaf.pages.taken(own), numbers, counts, leaf.type))
    except CorruptFileError:
        # Decode each page alone, so that the error names the damaged page.
        for page in own.tolist():
            whole = RowRange(0, int(leaf.pages.num_rows[page]))
            yield from leaf.decode_page(page, whole, context)
        raise


def _decode(
    leaf: LeafColumn,
    node: Node,
    wanted: _WantedPages,
    chosen: BoolArray,
    context: DecodeContext,
) -> Decoding[pa.Array]:
    """The requested rows of the ``chosen`` pages, all of one class."""
    rows, pages, cuts = wanted
    if isinstance(rows, RowRange):
        stretches = leaf.stretches_in(pages[chosen], rows)
    else:
        stretches = leaf.stretches(packed_rows(rows.values[np.repeat(chosen, np.diff(cuts))]))
    parts = []
    for stretch in stretches:
        part = yield from leaf.decode_stretch(stretch, context)
        parts.append(assemble(node, [part], (1,), context.kernels))
    return concat_arrays(parts)


def _in_order(
    found: list[pa.Array],
    chosen: list[BoolArray],
    lengths: Int64Array,
) -> pa.Array:
    """The values of all pages in page order; ``found[c]`` has those of the pages ``chosen[c]``."""
    slices: list[pa.Array] = [None] * len(lengths)
    for array, mask in zip(found, chosen, strict=True):
        position = 0
        for page in np.flatnonzero(mask).tolist():
            count = int(lengths[page])
            slices[page] = array.slice(position, count)
            position += count
    return concat_arrays(slices)
