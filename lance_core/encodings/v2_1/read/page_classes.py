"""Decode the pages of a field, grouped by encoding, and put the values in order again.

The encoding of a page depends on its values: a page without nulls, or with one distinct value, has
another encoding than its neighbours. If the encodings of many small pages alternate, consecutive
pages with equal encodings are few. So all pages with one encoding are decoded together; those of a
nested field if each of its leaves has one encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from lance_core.encodings.arrow.coalesced_take import spans_index
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.decoding import RowRange, packed_rows, run_interleaved
from lance_core.encodings.page_rows import check_within
from lance_core.encodings.v2_1.pages.constant.reader import constant_kind, decode_constants
from lance_core.encodings.v2_1.read.assemble import aligned, assemble
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

_ALONE = -1
"""The class of pages with a fingerprint of this value, which are no run of pages."""


def decode_by_class(
    leaves: Sequence[LeafColumn], node: Node, rows: Rows, context: DecodeContext
) -> Decoding[pa.Array | None]:
    """The ``rows`` of the field ``node``, whose ``leaves`` have the rows of the field.

    None if the pages do not alternate, have many rows, or have other rows in another leaf.
    """
    first = leaves[0]
    starts = first.column.starts
    if len(starts) <= MIN_GROUPS or any(leaf.column.starts != starts for leaf in leaves[1:]):
        return None
    check_within(first.column, rows, first.path)
    if isinstance(rows, RowRange) and all(
        len(leaf.stretches(rows)) < MIN_GROUPS for leaf in leaves
    ):
        return None
    pages, cuts = first.pages_of(rows)
    if len(rows) > MAX_PAGE_ROWS * len(pages):
        return None
    prints = np.array([leaf.fingerprints(leaf.pages.kinds[pages]) for leaf in leaves])
    is_alone = (prints == _ALONE).any(axis=0)
    changes = (prints[:, 1:] != prints[:, :-1]).any(axis=0)
    if np.count_nonzero(changes) + np.count_nonzero(is_alone) < MIN_GROUPS:
        return None
    classes = prints[0] if len(leaves) == 1 else np.unique(prints, axis=1, return_inverse=True)[1]
    classes = np.where(is_alone, _ALONE, classes)
    check = _are_constant if node.is_leaf else _have_one_value
    lonely = [(leaf, pages[own == _ALONE]) for leaf, own in zip(leaves, prints, strict=True)]
    if not all(check(leaf, own) for leaf, own in lonely):
        return None
    names = np.unique(classes).tolist()
    chosen = [classes == name for name in names]
    wanted = _WantedPages(rows, pages, cuts)
    found = yield from run_interleaved(
        [
            _constants(first, wanted, mask, context)
            if node.is_leaf and name == _ALONE
            else _decode(leaves, node, wanted, mask, context)
            for name, mask in zip(names, chosen, strict=True)
        ]
    )
    return _in_order(found, chosen, np.diff(cuts))


def _are_constant(leaf: LeafColumn, pages: Int64Array) -> bool:
    """True if `decode_constants` decodes all of ``pages``."""
    counts, encodings = np.diff(leaf.pages.edges)[pages].tolist(), leaf.pages.encodings
    pairs = set(zip(leaf.pages.kinds[pages].tolist(), counts, strict=True))
    return all(constant_kind(encodings[kind], count, leaf.type) for kind, count in pairs)


def _have_one_value(leaf: LeafColumn, pages: Int64Array) -> bool:
    """True if ``pages`` have a constant layout, and no items of their own as dictionaries have."""
    encodings = [leaf.pages.encodings[kind] for kind in set(leaf.pages.kinds[pages].tolist())]
    is_constant = all(
        isinstance(one, PageLayout) and one.HasField("constant_layout") for one in encodings
    )
    return is_constant and not pa.types.is_dictionary(leaf.type)


class _WantedPages(NamedTuple):
    """Requested rows and their pages; see `LeafColumn.pages_of`."""

    rows: Rows
    pages: Int64Array
    cuts: Int64Array


def _constants(
    leaf: LeafColumn, wanted: _WantedPages, chosen: BoolArray, context: DecodeContext
) -> Decoding[pa.Array]:
    """The requested rows of the ``chosen`` pages of a top-level leaf, which `_are_constant`."""
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
    leaves: Sequence[LeafColumn],
    node: Node,
    wanted: _WantedPages,
    chosen: BoolArray,
    context: DecodeContext,
) -> Decoding[pa.Array]:
    """The requested rows of the ``chosen`` pages, all of one class or each decoded alone."""
    rows, pages, cuts = wanted
    decodings = []
    for leaf in leaves:
        if isinstance(rows, RowRange):
            stretches = leaf.stretches_in(pages[chosen], rows)
        else:
            stretches = leaf.stretches(packed_rows(rows.values[np.repeat(chosen, np.diff(cuts))]))
        decodings.append(leaf.decode_stretches(stretches, context))
    scales = (1,) * len(leaves)
    decoded = yield from run_interleaved(decodings)
    parts = aligned(decoded)
    return concat_arrays([assemble(node, some, scales, context.kernels) for some in parts])


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
