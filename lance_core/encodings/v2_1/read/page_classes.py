"""Decode the pages of a top-level leaf, grouped by encoding, and put the values in order again.

The encoding of a page depends on its values: a page without nulls, or with one distinct value, has
another encoding than its neighbours. If the encodings of many small pages alternate, consecutive
pages with equal encodings are few. So all pages with one encoding are decoded together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_NULLABLE_ITEM,
    ConstantLayout,
    PageLayout,
)
from lance_core.encodings.arrow.memory_pool import concat_arrays, memory_pool
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.decoding import RowRange, packed_rows, run_interleaved
from lance_core.encodings.v2_1.pages.constant.reader import is_empty_struct
from lance_core.encodings.v2_1.pages.constant.scalar import inline_scalar
from lance_core.encodings.v2_1.read.assemble import assemble

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
"""The class of pages that have one value, or nulls only, in their message."""


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
    # A page with the message of a page of nulls may have a value, and which are null, in buffers.
    is_empty = np.diff(leaf.pages.edges)[pages] == 0
    for kind in np.unique(kinds[(classes == -1) & is_empty]).tolist():
        if _constant(leaf.pages.encodings[kind], leaf.type) is not None:
            classes[(kinds == kind) & is_empty] = _CONSTANT
    if (classes == -1).any():
        return None
    names = np.unique(classes).tolist()
    chosen = [classes == name for name in names]
    wanted = _WantedPages(rows, pages, cuts)
    found = yield from run_interleaved(
        [
            _constants(leaf, wanted, mask)
            if name == _CONSTANT
            else _decode(leaf, node, wanted, mask, context)
            for name, mask in zip(names, chosen, strict=True)
        ]
    )
    return _in_order(found, chosen, np.diff(cuts))


class _WantedPages(NamedTuple):
    """Requested rows and their pages; see `LeafColumn.pages_of`."""

    rows: Rows
    pages: Int64Array
    cuts: Int64Array


def _constants(leaf: LeafColumn, wanted: _WantedPages, chosen: BoolArray) -> Decoding[pa.Array]:
    """The requested rows of the ``chosen`` pages, of the class `_CONSTANT`."""
    yield from ()
    kinds = leaf.pages.kinds[wanted.pages[chosen]].tolist()
    scalars = [_scalar(leaf.pages.encodings[kind], leaf.type) for kind in kinds]
    owners = from_numpy(np.repeat(np.arange(len(kinds)), np.diff(wanted.cuts)[chosen]))
    return pc.take(concat_arrays(scalars), owners, memory_pool=memory_pool())


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


def _constant(encoding: object, type_: pa.DataType) -> ConstantLayout | None:
    """The message of a page without buffers that has one value, or nulls only; else None."""
    if not isinstance(encoding, PageLayout) or not encoding.HasField("constant_layout"):
        return None
    message = encoding.constant_layout
    layers = list(message.layers)
    if is_empty_struct(type_) or message.num_def_values or message.num_rep_values:
        return None
    if message.HasField("inline_value"):
        return message if layers == [REPDEF_ALL_VALID_ITEM] else None
    return message if layers == [REPDEF_NULLABLE_ITEM] else None


def _scalar(encoding: object, type_: pa.DataType) -> pa.Array:
    """The value of a constant page, as an array of length 1."""
    message = _constant(encoding, type_)
    assert message is not None
    if message.HasField("inline_value"):
        return inline_scalar(message.inline_value, type_)
    return pa.nulls(1, type_)
