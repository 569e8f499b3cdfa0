"""Read consecutive pages of leaf columns with equal encodings together.

Writers start a new page after about 65,000 levels, and each append starts a new file. What follows
from an encoding is then computed once for all pages that share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from lance_core.encodings.decoding import RowIndices, RowRange, run_interleaved
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.page_rows import pages_of, rows_in_pages
from lance_core.encodings.v2_1.fast.mini_block_run import (
    MAX_RUN_BYTES,
    MiniBlockRun,
    encoding_fingerprint,
)
from lance_core.encodings.v2_1.fast.page_descriptions import MAX_KEPT, PageCache
from lance_core.encodings.v2_1.pages.foreign.reader import is_foreign
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan
from lance_core.encodings.v2_1.read.assemble import DecodedLeaf
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
    from lance_core.encodings.v2_1.pages.base import LeafPart
    from lance_core.encodings.v2_1.read.fields import FieldTree
    from lance_core.encodings.v2_1.read.leaf_column import LeafColumn

MAX_RUN_ITEMS = 1 << 20
"""Maximum levels of pages to read together."""

_UNKNOWN = -2
"""Instead of a fingerprint that is not computed yet."""


class PageGroup(NamedTuple):
    """Pages that are decoded together, and the requested rows, counted from the first page."""

    pages: Int64Array
    rows: Rows


class _Tables:
    """What is known of the pages of a column.

    ``starts``: the first row of each page, then the number of rows. For each encoding, ``prints``
    has the `PageRuns._fingerprint`, `_UNKNOWN` until it is computed; then ``num_items`` has the
    levels of a page, up to `MAX_RUN_ITEMS`. ``keys``: the number of each fingerprint. ``groups``:
    those of the last ranges of rows. ``group_of``: the number of the group of each page, where all
    pages are grouped; None until then. ``cache``: what is read once.
    """

    def __init__(self, leaf: LeafColumn) -> None:
        self.pages = PageArrays.of(leaf.column.pages)
        self.starts = np.array(leaf.column.starts, np.int64)
        count = len(self.pages.encodings)
        self.prints = np.full(count, _UNKNOWN)
        self.num_items = np.zeros(count, np.int64)
        self.keys: dict[bytes, int] = {}
        self.groups: dict[RowRange, list[PageGroup]] = {}
        self.group_of: Int64Array | None = None
        self.cache = PageCache(len(self.pages))


class PageRuns:
    """The pages of a leaf column, in groups that are decoded together."""

    __slots__ = ("_tables", "leaf")

    def __init__(self, leaf: LeafColumn) -> None:
        tables = leaf.memo.get(_Tables)
        if tables is None:
            # Concurrent reads may each make one; all use the first.
            tables = leaf.memo.setdefault(_Tables, _Tables(leaf))
        self._tables: _Tables = tables
        self.leaf = leaf

    @property
    def pages(self) -> PageArrays:
        """The pages of the column as arrays."""
        return self._tables.pages

    def pages_of(self, rows: Rows) -> tuple[Int64Array, Int64Array]:
        """See `lance_core.encodings.page_rows.pages_of`."""
        return pages_of(self._tables.starts, rows)

    def groups(self, rows: Rows) -> list[PageGroup]:
        """Group consecutive pages that hold some of ``rows``."""
        cached = self._tables.groups
        if isinstance(rows, RowRange) and rows in cached:
            return cached[rows]
        pages, cuts = self.pages_of(rows)
        if isinstance(rows, RowRange):
            groups = self.groups_in(pages, rows)
            self._tables.groups = {**dict(list(cached.items())[1 - MAX_KEPT :]), rows: groups}
            return groups
        values, ends = rows.values, cuts.tolist()
        return [
            self._group(RowIndices(values[ends[a] : ends[b]]), pages[a:b])
            for a, b in self._edges_of_some(pages)
        ]

    def groups_in(self, pages: Int64Array, rows: RowRange) -> list[PageGroup]:
        """Group ``pages``, which all hold some of ``rows``; those in other pages are left out."""
        return [self._range(rows, pages[a:b]) for a, b in self._edges(pages)]

    def _range(self, rows: RowRange, pages: Int64Array) -> PageGroup:
        """The rows of a range that are in ``pages``, which all hold some of them."""
        starts = self._tables.starts
        firsts, ends = starts[pages], starts[pages + 1]
        skipped = max(0, rows.start - int(firsts[0]))
        left = max(0, int(ends[-1]) - rows.stop)
        return PageGroup(pages, RowRange(skipped, int((ends - firsts).sum()) - left))

    def _group(self, rows: Rows, pages: Int64Array) -> PageGroup:
        return PageGroup(pages, rows_in_pages(self.leaf.column, pages, rows))

    def _edges(self, pages: Int64Array) -> Iterator[tuple[int, int]]:
        """The first and last (exclusive) position in ``pages`` of each group of alike pages."""
        kinds = self.pages.kinds[pages]
        prints = self.fingerprints(kinds)
        num_buffers = np.diff(self.pages.edges)[pages]
        has_chunks = (prints >= 0) & (num_buffers > 1)
        starts, stops = np.zeros((2, len(pages)), np.int64)
        starts[has_chunks], stops[has_chunks] = self.pages.buffers(pages[has_chunks], 1)
        differs = (prints[1:] != prints[:-1]) | (num_buffers[1:] != num_buffers[:-1])
        differs |= ~has_chunks[1:]
        # The chunks of a group ascend, so that adjacent ones are read at once.
        differs |= starts[1:] < stops[:-1]
        # A group has a limited size, so that a damaged page cannot claim all memory.
        size = np.cumsum(stops - starts) // MAX_RUN_BYTES
        items = np.cumsum(self._tables.num_items[kinds]) // MAX_RUN_ITEMS
        differs |= (size[1:] != size[:-1]) | (items[1:] != items[:-1])
        return pairwise([0, *(np.flatnonzero(differs) + 1).tolist(), len(pages)])

    def _edges_of_some(self, pages: Int64Array) -> Iterator[tuple[int, int]]:
        """Like `_edges`, by the groups of all pages, which are computed once.

        A read of few rows would mostly compute groups. Those of many other pages are not computed.
        """
        numbers = self._tables.group_of
        if numbers is None:
            count = len(self.pages)
            if len(pages) * 4 < count:
                return self._edges(pages)
            numbers = np.zeros(count, np.int64)
            for number, (start, stop) in enumerate(self._edges(np.arange(count))):
                numbers[start:stop] = number
            self._tables.group_of = numbers
        used = numbers[pages]
        if not len(used) or used[0] == used[-1]:
            return iter([(0, len(used))])
        return pairwise([0, *(np.flatnonzero(used[1:] != used[:-1]) + 1).tolist(), len(used)])

    def fingerprints(self, kinds: Int64Array) -> Int64Array:
        """For each page, given its kind, the `_fingerprint` of its encoding."""
        prints = self._tables.prints
        page_prints = prints[kinds]
        new = page_prints == _UNKNOWN
        if new.any():
            for kind in np.unique(kinds[new]).tolist():
                prints[kind] = self._fingerprint(kind)
            page_prints = prints[kinds]
        return page_prints

    def _fingerprint(self, kind: int) -> int:
        """A number that pages with equal encodings share; -1 for pages that are read separately."""
        encoding = self.pages.encodings[kind]
        layout = encoding if isinstance(encoding, PageLayout) else PageLayout()
        if not layout.HasField("mini_block_layout"):
            return -1
        message = layout.mini_block_layout
        self._tables.num_items[kind] = min(message.num_items, MAX_RUN_ITEMS)
        key = b"" if is_foreign(message) else encoding_fingerprint(message, self.leaf.type)
        return self._tables.keys.setdefault(key, kind) if key else -1

    def decode(
        self, groups: Sequence[PageGroup], context: DecodeContext, scale: int = 1
    ) -> Decoding[DecodedLeaf]:
        """Decode groups of pages; see `LeafColumn.decode`."""
        edges = self.leaf.edges([len(group.rows) for group in groups], scale)
        parts = yield from run_interleaved([self._decode(group, context) for group in groups])
        return DecodedLeaf(parts, edges, scale)

    def _decode(self, group: PageGroup, context: DecodeContext) -> Decoding[LeafPart]:
        leaf, first = self.leaf, int(group.pages[0])
        if len(group.pages) == 1:
            return (yield from leaf.decode_page(first, group.rows, context))
        plan = leaf.plan(first, context)
        assert isinstance(plan, MiniBlockPlan)
        run = MiniBlockRun(plan, self.pages, group.pages, self._tables.cache)
        try:
            return (yield from leaf.located(first, run.decode(group.rows, context)))
        except CorruptFileError:
            # Decode each page alone, so that the error names the damaged page.
            for number in group.pages.tolist():
                rows = RowRange(0, int(self.pages.num_rows[number]))
                yield from leaf.decode_page(number, rows, context)
            raise


class SimilarPages(NamedTuple):
    """Rows of a field of whose leaves one has several pages."""

    tree: FieldTree
    rows: Rows
    context: DecodeContext

    @classmethod
    def of(cls, tree: FieldTree, rows: Rows, context: DecodeContext) -> SimilarPages | None:
        """None if each leaf has one page."""
        if all(len(leaf.column.column.pages) < 2 for leaf in tree.leaves):
            return None
        return cls(tree, rows, context)

    def decode(self) -> Decoding[list[pa.Array]]:
        """An array for the rows of each group of pages; see `decode_rows`."""
        decodings = []
        for leaf in self.tree.leaves:
            runs, rows = PageRuns(leaf.column), leaf.rows_of(self.rows)
            decodings.append(runs.decode(runs.groups(rows), self.context, leaf.scale))
        return self.tree.arrays((yield from run_interleaved(decodings)), self.context)
