"""One leaf column of a 2.1 or 2.2 file: its pages and the cached plans of their layouts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import REPDEF_ALL_VALID_ITEM, ConstantLayout, PageLayout
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.decoding import RowIndices, RowRange, packed_rows, run_interleaved
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.page_rows import pages_of, rows_in_pages, split_rows, with_page
from lance_core.encodings.plugin_values.value_encoding import unknown_page
from lance_core.encodings.v2_1.levels.tree import Node, check_kinds
from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart, PageScope
from lance_core.encodings.v2_1.pages.builtin import plan_page
from lance_core.encodings.v2_1.pages.constant.reader import decode_constant, is_empty_struct
from lance_core.encodings.v2_1.pages.foreign.reader import decode_foreign, is_foreign
from lance_core.encodings.v2_1.pages.mini_block.page_descriptions import MAX_KEPT, PageCache
from lance_core.encodings.v2_1.pages.mini_block.page_run import (
    MAX_RUN_BYTES,
    MiniBlockRun,
    encoding_fingerprint,
)
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan
from lance_core.encodings.v2_1.pages.validation import check_page
from lance_core.encodings.v2_1.read.assemble import DecodedLeaf, assemble
from lance_core.errors import (
    CorruptFileError,
    LanceError,
    PluginError,
    UnsupportedFeatureError,
)

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows, ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
    from lance_core.encodings.page import Column, Page

MAX_RUN_ITEMS = 1 << 20
"""Maximum levels of pages to read together."""

_PLACED = CorruptFileError, UnsupportedFeatureError, PluginError
"""Errors of pages that get the path of the field."""

MAX_SEARCHED_PAGES = 8
"""Maximum pages that `LeafColumn.find` searches one by one: more pages are decoded together."""

_UNKNOWN = -2
"""Instead of a fingerprint that is not computed yet."""


class Stretch(NamedTuple):
    """Pages that are decoded together, and the requested rows, counted from the first page."""

    pages: Int64Array
    rows: Rows


class _Tables(NamedTuple):
    """The pages of a column, and what is known of each of their encodings so far.

    ``starts``: the first row of each page, then the number of rows. ``prints``: the
    `LeafColumn._fingerprint`, `_UNKNOWN` until it is computed; then ``num_items`` has the levels of
    a page, up to `MAX_RUN_ITEMS`. ``cache``: what is read once.
    """

    pages: PageArrays
    starts: Int64Array
    prints: Int64Array
    num_items: Int64Array
    cache: PageCache

    @classmethod
    def of(cls, column: Column) -> _Tables:
        pages, starts = PageArrays.of(column.pages), np.array(column.starts, np.int64)
        count = len(pages.encodings)
        prints, num_items = np.full(count, _UNKNOWN), np.zeros(count, np.int64)
        return cls(pages, starts, prints, num_items, PageCache(len(pages)))


class ColumnCache:
    """What a column keeps: its leaf, and the tree of the field whose first column it is."""

    __slots__ = ("leaf", "tree")

    def __init__(self, leaf: LeafColumn) -> None:
        self.leaf = leaf
        self.tree: object = None


class LeafColumn:
    """A column read as ``type``. The plan of a page is made on first use and cached.

    ``column`` has no cache. ``path`` is the dotted path of the leaf's field.
    """

    __slots__ = (
        "_keys",
        "_made",
        "_nodes",
        "_plans",
        "_stretches",
        "column",
        "path",
        "type",
    )

    def __init__(self, column: Column, type_: pa.DataType, path: str) -> None:
        self.column = column
        self.type = type_
        self.path = path
        self._nodes: tuple[Node, ...] = ()
        self._plans: dict[int, LayoutPlan] = {}
        self._made: list[_Tables] = []
        self._keys: dict[bytes, int] = {}
        self._stretches: dict[RowRange, list[Stretch]] = {}

    @classmethod
    def of(cls, column: Column, type_: pa.DataType, path: str) -> LeafColumn:
        """The leaf column cached with ``column``, or a new one if that was read as another type."""
        kept: ColumnCache | None = column.decoder_cache
        if kept is None or kept.leaf.type != type_ or kept.leaf.path != path:
            kept = column.decoder_cache = ColumnCache(cls(column.without_cache(), type_, path))
        return kept.leaf

    @property
    def pages(self) -> PageArrays:
        """The pages of the column as arrays."""
        return self._tables.pages

    @property
    def _tables(self) -> _Tables:
        """Arrays about all pages, made on first use: reads of a single page do not need them."""
        if not self._made:
            # Concurrent reads may each append one; all use the first.
            self._made.append(_Tables.of(self.column))
        return self._made[0]

    def expect(self, nodes: Sequence[Node]) -> None:
        """Set the fields on the path to this leaf, outermost first, to check pages against."""
        if nodes is self._nodes:
            return
        if [node.is_list for node in self._nodes] != [node.is_list for node in nodes]:
            self._plans = {}
        self._nodes = tuple(nodes)

    def as_field(self) -> Node:
        """The node of this leaf as a top-level field, after `expect` of this node."""
        if len(self._nodes) != 1:
            self.expect((Node(self.type, is_leaf=True),))
        return self._nodes[0]

    def scalar_at(self, number: int, context: DecodeContext) -> Decoding[pa.Array | None]:
        """Row ``number`` of a column that is a whole field, as an array of one value.

        None if there is no fast path.
        """
        page = self._page_of(number)
        if page is None:
            return None
        plan = self._page(page, context)
        try:
            return (yield from plan.scalar_at(number - self.column.starts[page], context))
        except _PLACED as error:
            raise self._placed(error, page) from error

    def in_page(
        self, node: Node, rows: AnyRows, context: DecodeContext
    ) -> Decoding[pa.Array | None]:
        """Rows of a column that is the field ``node``; None unless a single page has all rows."""
        page = self._page_of(rows.last)
        if page is None or rows.first < self.column.starts[page]:
            return None
        plan = self._page(page, context)
        if plan.is_all_null:
            return all_null(self.type, len(rows))
        inner = rows.moved(-self.column.starts[page])
        try:
            if not isinstance(inner, OrderedRows):
                part = yield from plan.decode(inner, context)
                levels = part.levels
                is_plain = levels.rep is None and levels.definition is None and node.is_leaf
                if is_plain and len(part.values) == levels.count:
                    return part.values
                return assemble(node, [part], (1,), context.kernels)
            taken = yield from plan.take(inner, context)
            if taken is not None:
                return assemble(node, [taken], (1,), context.kernels)
            part = yield from plan.decode(packed_rows(inner.distinct.values), context)
            return inner.taken_from(assemble(node, [part], (1,), context.kernels))
        except _PLACED as error:
            raise self._placed(error, page) from error

    def find(
        self, rows: RowRange, index: IntegerIndex, context: DecodeContext
    ) -> Decoding[ValueMatches | None]:
        """See `LayoutPlan.find`; None if a page does not support it, or if there are many."""
        first, last = self._page_of(rows.first), self._page_of(rows.last)
        if first is None or last is None or last - first >= MAX_SEARCHED_PAGES:
            return None
        parts = split_rows(self.column, rows, self.path)
        if not all(self._page(page, context).is_searchable for page, _ in parts):
            return None
        found = yield from run_interleaved(
            [self._find_in(page, some, index, context) for page, some in parts]
        )
        starts = accumulate((len(some) for _, some in parts), initial=0)
        positions = [one + start for (one, _), start in zip(found, starts, strict=False)]
        return np.concatenate(positions), np.concatenate([members for _, members in found])

    def _find_in(
        self, page: int, rows: Rows, index: IntegerIndex, context: DecodeContext
    ) -> Decoding[ValueMatches]:
        """The search in ``rows`` of a page, counted from its start."""
        assert isinstance(rows, RowRange)
        try:
            return (yield from self._page(page, context).find(rows, index, context))
        except _PLACED as error:
            raise self._placed(error, page) from error

    def list_at(self, number: int, context: DecodeContext) -> Decoding[LeafPart | None]:
        """One row of a column that is part of a field; None if there is no fast path."""
        page = self._page_of(number)
        if page is None:
            return None
        plan = self._page(page, context)
        try:
            return (yield from plan.list_at(number - self.column.starts[page], context))
        except _PLACED as error:
            raise self._placed(error, page) from error

    def stretches(self, rows: Rows) -> list[Stretch]:
        """Group consecutive pages that hold some of ``rows`` and are decoded together."""
        starts = self.column.starts
        if len(starts) == 2:
            return [Stretch(np.zeros(1, np.int64), rows)]
        if isinstance(rows, RowRange) and rows in self._stretches:
            return self._stretches[rows]
        pages, cuts = self.pages_of(rows)
        if isinstance(rows, RowRange):
            found = self.stretches_in(pages, rows)
            self._stretches = {**dict(list(self._stretches.items())[1 - MAX_KEPT :]), rows: found}
            return found
        values, ends = rows.values, cuts.tolist()
        return [
            self._stretch(RowIndices(values[ends[a] : ends[b]]), pages[a:b])
            for a, b in self._groups(pages)
        ]

    def stretches_in(self, pages: Int64Array, rows: RowRange) -> list[Stretch]:
        """Group ``pages``, which all hold some of ``rows``; those in other pages are left out."""
        return [self._range(rows, pages[a:b]) for a, b in self._groups(pages)]

    def pages_of(self, rows: Rows) -> tuple[Int64Array, Int64Array]:
        """See `lance_core.encodings.page_rows.pages_of`."""
        return pages_of(self._tables.starts, rows)

    def _range(self, rows: RowRange, pages: Int64Array) -> Stretch:
        """The rows of a range that are in ``pages``, which all hold some of them."""
        starts = self._tables.starts
        firsts, ends = starts[pages], starts[pages + 1]
        skipped = max(0, rows.start - int(firsts[0]))
        left = max(0, int(ends[-1]) - rows.stop)
        return Stretch(pages, RowRange(skipped, int((ends - firsts).sum()) - left))

    def _stretch(self, rows: Rows, pages: Int64Array) -> Stretch:
        return Stretch(pages, rows_in_pages(self.column, pages, rows))

    def _groups(self, pages: Int64Array) -> Iterator[tuple[int, int]]:
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

    def fingerprints(self, kinds: Int64Array) -> Int64Array:
        """For each page, given its kind, the `_fingerprint` of its encoding."""
        prints = self._tables.prints
        found = prints[kinds]
        new = found == _UNKNOWN
        if new.any():
            for kind in np.unique(kinds[new]).tolist():
                prints[kind] = self._fingerprint(kind)
            found = prints[kinds]
        return found

    def _fingerprint(self, kind: int) -> int:
        """A number that pages with equal encodings share; -1 for pages that are read separately."""
        encoding = self.pages.encodings[kind]
        layout = encoding if isinstance(encoding, PageLayout) else PageLayout()
        if not layout.HasField("mini_block_layout"):
            return -1
        message = layout.mini_block_layout
        self._tables.num_items[kind] = min(message.num_items, MAX_RUN_ITEMS)
        key = b"" if is_foreign(message) else encoding_fingerprint(message, self.type)
        return self._keys.setdefault(key, kind) if key else -1

    def decode_stretches(
        self, stretches: Sequence[Stretch], context: DecodeContext, scale: int = 1
    ) -> Decoding[DecodedLeaf]:
        """Decode groups of pages; ``scale``: rows of the column per row of the field."""
        parts = yield from run_interleaved(
            [self.decode_stretch(stretch, context) for stretch in stretches]
        )
        edges = accumulate((len(stretch.rows) // scale for stretch in stretches), initial=0)
        return DecodedLeaf(parts, list(edges), scale)

    def decode_stretch(self, stretch: Stretch, context: DecodeContext) -> Decoding[LeafPart]:
        """Decode the rows of a group of pages."""
        first = int(stretch.pages[0])
        if len(stretch.pages) == 1:
            return (yield from self.decode_page(first, stretch.rows, context))
        plan = self._page(first, context)
        assert isinstance(plan, MiniBlockPlan)
        run = MiniBlockRun(plan, self.pages, stretch.pages, self._tables.cache)
        try:
            try:
                return (yield from run.decode(stretch.rows, context))
            except _PLACED as error:
                raise self._placed(error, first) from error
        except CorruptFileError:
            # Decode each page alone, so that the error names the damaged page.
            for number in stretch.pages.tolist():
                rows = RowRange(0, int(self.pages.num_rows[number]))
                yield from self.decode_page(number, rows, context)
            raise

    def decode_page(self, number: int, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """Decode ``rows``, counted from the start of page ``number``."""
        plan = self._page(number, context)
        try:
            return (yield from plan.decode(rows, context))
        except _PLACED as error:
            raise self._placed(error, number) from error

    def _page_of(self, row: int) -> int | None:
        starts = self.column.starts
        return None if row >= starts[-1] else bisect_right(starts, row) - 1

    def _page(self, number: int, context: DecodeContext) -> LayoutPlan:
        plan = self._plans.get(number)
        if plan is None:
            try:
                plan = self._planned(self.column.pages[number], context)
            except _PLACED as error:
                raise self._placed(error, number) from error
            self._plans[number] = plan
        return plan

    def _planned(self, page: Page, context: DecodeContext) -> LayoutPlan:
        if isinstance(page.encoding, ForeignEncoding):
            raise unknown_page(page.encoding)
        assert isinstance(page.encoding, PageLayout)
        check_page(page.encoding, page.buffers, context.version)
        scope = PageScope(page.buffers, self.type, page.num_rows, context.file_size)
        is_plain = not page.buffers and not any(node.is_list for node in self._nodes)
        if is_plain and is_empty_struct(self.type):  # then all enclosing fields are valid, too
            layers = [REPDEF_ALL_VALID_ITEM] * len(self._nodes)
            return decode_constant(ConstantLayout(layers=layers), scope)
        mini_block = page.encoding.mini_block_layout
        if is_foreign(mini_block):
            plan = decode_foreign(mini_block, scope, context.registry)
        else:
            plan = plan_page(page.encoding, scope, context.version)
        check_kinds(self._nodes, plan.kinds)
        return plan

    def _placed(self, error: LanceError, page: int) -> LanceError:
        """An error of `_PLACED` with the field's path; with the position in the file if corrupt."""
        if isinstance(error, CorruptFileError):
            return with_page(error, self.column.pages[page], self.path)
        if isinstance(error, PluginError):
            return error.at(field=self.path)
        return type(error)(f"field {self.path!r}: {error}")
