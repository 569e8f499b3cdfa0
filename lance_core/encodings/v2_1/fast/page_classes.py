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
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.decoding import RowRange, packed_rows, run_interleaved
from lance_core.encodings.page_rows import check_within
from lance_core.encodings.v2_1.fast.constant_pages import constant_kind, decode_constants
from lance_core.encodings.v2_1.fast.page_runs import PageRuns
from lance_core.encodings.v2_1.read.assemble import aligned, assemble
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
    from lance_core.encodings.v2_1.levels.repdef import BoolArray
    from lance_core.encodings.v2_1.levels.tree import Node
    from lance_core.encodings.v2_1.read.fields import FieldTree
    from lance_core.encodings.v2_1.read.leaf_column import LeafColumn

MIN_GROUPS = 8
"""Minimum groups of consecutive pages with equal encodings: fewer are decoded one by one."""

MAX_PAGE_ROWS = 1500
"""Maximum mean rows of a page: of larger ones, copying the values takes longer than it saves."""

_ALONE = -1
"""The class of pages with a fingerprint of this value, which are no run of pages."""


class PageClasses(NamedTuple):
    """Rows of a field whose leaves have the same rows in each page, and the classes of the pages.

    ``runs``: the pages of each leaf. ``pages`` and ``cuts``: see `pages_of`. ``masks``: which of
    ``pages`` are of each class; ``is_alone``: the class of pages that are no run.
    """

    node: Node
    runs: Sequence[PageRuns]
    rows: Rows
    pages: Int64Array
    cuts: Int64Array
    masks: Sequence[BoolArray]
    is_alone: Sequence[bool]
    context: DecodeContext

    @classmethod
    def of_column(
        cls, leaf: LeafColumn, rows: AnyRows, context: DecodeContext
    ) -> PageClasses | None:
        """None if the pages do not alternate, or have many rows."""
        if isinstance(rows, OrderedRows) or len(leaf.column.starts) <= MIN_GROUPS:
            return None
        return cls._of([leaf], leaf.as_field(), rows, context)

    @classmethod
    def of_field(cls, tree: FieldTree, rows: Rows, context: DecodeContext) -> PageClasses | None:
        """None if the pages do not alternate, have many rows, or other rows in another leaf."""
        columns = [leaf.column for leaf in tree.leaves]
        starts = columns[0].column.starts
        if tree.root.is_leaf or max(tree.scales) > 1 or len(starts) <= MIN_GROUPS:
            return None
        if any(leaf.column.starts != starts for leaf in columns[1:]):
            return None
        return cls._of(columns, tree.root, rows, context)

    @classmethod
    def _of(
        cls, leaves: Sequence[LeafColumn], node: Node, rows: Rows, context: DecodeContext
    ) -> PageClasses | None:
        check_within(leaves[0].column, rows, leaves[0].path)
        runs = list(map(PageRuns, leaves))
        if isinstance(rows, RowRange) and all(len(own.groups(rows)) < MIN_GROUPS for own in runs):
            return None
        pages, cuts = runs[0].pages_of(rows)
        if len(rows) > MAX_PAGE_ROWS * len(pages):
            return None
        prints = np.array([own.fingerprints(own.pages.kinds[pages]) for own in runs])
        is_alone = (prints == _ALONE).any(axis=0)
        changes = (prints[:, 1:] != prints[:, :-1]).any(axis=0)
        if np.count_nonzero(changes) + np.count_nonzero(is_alone) < MIN_GROUPS:
            return None
        classes = prints[0] if len(runs) == 1 else np.unique(prints, axis=1, return_inverse=True)[1]
        classes = np.where(is_alone, _ALONE, classes)
        check = _are_constant if node.is_leaf else _have_one_value
        lonely = [
            (own, pages[fingerprints == _ALONE])
            for own, fingerprints in zip(runs, prints, strict=True)
        ]
        if not all(check(own, pages_alone) for own, pages_alone in lonely):
            return None
        names = np.unique(classes).tolist()
        masks = [classes == name for name in names]
        return cls(node, runs, rows, pages, cuts, masks, [n == _ALONE for n in names], context)

    def decode(self) -> Decoding[list[pa.Array]]:
        """The rows in their order, as one array."""
        arrays = yield from run_interleaved(
            [
                self._constants(mask) if self.node.is_leaf and is_alone else self._alike(mask)
                for mask, is_alone in zip(self.masks, self.is_alone, strict=True)
            ]
        )
        return [_in_order(arrays, self.masks, np.diff(self.cuts))]

    def _constants(self, mask: BoolArray) -> Decoding[pa.Array]:
        """The requested rows of the pages of a top-level leaf, which `_are_constant`."""
        (runs,), rows = self.runs, self.rows
        leaf = runs.leaf
        own, counts = self.pages[mask], np.diff(self.cuts)[mask]
        starts = np.array(leaf.column.starts)[own]
        if isinstance(rows, RowRange):
            firsts = np.maximum(rows.start - starts, 0)
            numbers = spans_index(firsts, firsts + counts)
        else:
            numbers = self._numbers(mask) - np.repeat(starts, counts)
        try:
            return (yield from decode_constants(runs.pages.taken(own), numbers, counts, leaf.type))
        except CorruptFileError:
            # Decode each page alone, so that the error names the damaged page.
            for page in own.tolist():
                whole = RowRange(0, int(runs.pages.num_rows[page]))
                yield from leaf.decode_page(page, whole, self.context)
            raise

    def _alike(self, mask: BoolArray) -> Decoding[pa.Array]:
        """The requested rows of pages that are all of one class, or each decoded alone."""
        decodings = []
        for runs in self.runs:
            if isinstance(self.rows, RowRange):
                groups = runs.groups_in(self.pages[mask], self.rows)
            else:
                groups = runs.groups(packed_rows(self._numbers(mask)))
            decodings.append(runs.decode(groups, self.context))
        scales, kernels = (1,) * len(self.runs), self.context.kernels
        parts = aligned((yield from run_interleaved(decodings)))
        return concat_arrays(
            [assemble(self.node, leaf_parts, scales, kernels) for leaf_parts in parts]
        )

    def _numbers(self, mask: BoolArray) -> Int64Array:
        """The requested rows of the pages; all rows are `RowIndices`."""
        numbers: Int64Array = self.rows.numbers[np.repeat(mask, np.diff(self.cuts))]
        return numbers


def _are_constant(runs: PageRuns, pages: Int64Array) -> bool:
    """True if `decode_constants` decodes all of ``pages``."""
    counts, encodings = np.diff(runs.pages.edges)[pages].tolist(), runs.pages.encodings
    pairs = set(zip(runs.pages.kinds[pages].tolist(), counts, strict=True))
    return all(constant_kind(encodings[kind], count, runs.leaf.type) for kind, count in pairs)


def _have_one_value(runs: PageRuns, pages: Int64Array) -> bool:
    """True if ``pages`` have a constant layout, and no items of their own as dictionaries have."""
    encodings = [runs.pages.encodings[kind] for kind in set(runs.pages.kinds[pages].tolist())]
    is_constant = all(
        isinstance(encoding, PageLayout) and encoding.HasField("constant_layout")
        for encoding in encodings
    )
    return is_constant and not pa.types.is_dictionary(runs.leaf.type)


def _in_order(
    arrays: Sequence[pa.Array], masks: Sequence[BoolArray], lengths: Int64Array
) -> pa.Array:
    """The values of all pages in page order; ``arrays[c]`` has those of the pages ``masks[c]``."""
    slices: list[pa.Array] = [None] * len(lengths)
    for array, mask in zip(arrays, masks, strict=True):
        position = 0
        for page in np.flatnonzero(mask).tolist():
            count = int(lengths[page])
            slices[page] = array.slice(position, count)
            position += count
    return concat_arrays(slices)
