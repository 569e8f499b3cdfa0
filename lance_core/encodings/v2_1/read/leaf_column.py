"""One leaf column of a 2.1 or 2.2 file: its pages and the cached plans of their layouts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import REPDEF_ALL_VALID_ITEM, ConstantLayout, PageLayout
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.decoding import packed_rows
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.page_rows import with_page
from lance_core.encodings.plugin_values.value_encoding import unknown_page
from lance_core.encodings.v2_1.levels.tree import Node, check_kinds
from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart, PageScope
from lance_core.encodings.v2_1.pages.builtin import plan_page
from lance_core.encodings.v2_1.pages.constant.reader import decode_constant, is_empty_struct
from lance_core.encodings.v2_1.pages.foreign.reader import decode_foreign, is_foreign
from lance_core.encodings.v2_1.pages.mini_block.coalesce import decode_joined, group_compatible
from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan
from lance_core.encodings.v2_1.pages.validation import check_page
from lance_core.encodings.v2_1.read.assemble import assemble
from lance_core.errors import CorruptFileError, PluginNotFoundError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column, Page


class LeafColumn:
    """A column read as ``type``. The plan of a page is made on first use and cached.

    ``path`` is the dotted path of the leaf's field. ``tree`` is a cache for the code that reads
    whole fields.
    """

    __slots__ = ("_nodes", "_plans", "column", "path", "tree", "type")

    def __init__(self, column: Column, type_: pa.DataType, path: str) -> None:
        self.column = column
        self.type = type_
        self.path = path
        self.tree: object = None
        self._nodes: tuple[Node, ...] = ()
        self._plans: list[LayoutPlan | None] = [None] * len(column.pages)

    @classmethod
    def of(cls, column: Column, type_: pa.DataType, path: str) -> LeafColumn:
        """The leaf column cached with ``column``, or a new one if that was read as another type."""
        kept: LeafColumn | None = column.decoder_cache
        if kept is None or kept.type != type_ or kept.path != path:
            kept = column.decoder_cache = cls(column, type_, path)
        return kept

    @property
    def is_field(self) -> bool:
        """True if `expect` found that this leaf is a top-level field."""
        return len(self._nodes) == 1

    def expect(self, nodes: Sequence[Node]) -> None:
        """Set the fields on the path to this leaf, outermost first, to check pages against."""
        if nodes is self._nodes:
            return
        if [node.is_list for node in self._nodes] != [node.is_list for node in nodes]:
            self._plans = [None] * len(self.column.pages)
        self._nodes = tuple(nodes)

    def scalar_at(self, number: int, context: DecodeContext) -> Decoding[pa.Array | None]:
        """One row of a column that is a whole field; None if there is no fast path."""
        page = self._page_of(number)
        if page is None:
            return None
        plan = self._page(page, context)
        with _Placing(self, page):
            return (yield from plan.scalar_at(number - self.column.starts[page], context))

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
        with _Placing(self, page):
            if not isinstance(inner, OrderedRows):
                return assemble(
                    node, [(yield from plan.decode(inner, context))], (1,), context.kernels
                )
            part = yield from plan.take(inner, context)
            if part is not None:
                return assemble(node, [part], (1,), context.kernels)
            part = yield from plan.decode(packed_rows(inner.distinct.values), context)
            return inner.taken_from(assemble(node, [part], (1,), context.kernels))

    def list_at(self, number: int, context: DecodeContext) -> Decoding[LeafPart | None]:
        """One row of a column that is part of a field; None if there is no fast path."""
        page = self._page_of(number)
        if page is None:
            return None
        plan = self._page(page, context)
        with _Placing(self, page):
            return (yield from plan.list_at(number - self.column.starts[page], context))

    def stretches(
        self, pages: Sequence[tuple[int, Rows]], context: DecodeContext
    ) -> list[Sequence[tuple[int, Rows]]]:
        """Group consecutive pages, with their requested rows, that are decoded together."""
        if len(pages) == 1:
            return [pages]
        plans = [self._page(number, context) for number, _ in pages]
        return [pages[a:b] for a, b in group_compatible(plans, [rows for _, rows in pages])]

    def decode_pages(
        self, pages: Sequence[tuple[int, Rows]], context: DecodeContext
    ) -> Decoding[LeafPart]:
        """Decode the requested rows of a group of pages."""
        if len(pages) == 1:
            return (yield from self.decode_page(*pages[0], context))
        plans = [self._page(number, context) for number, _ in pages]
        joined = [plan for plan in plans if isinstance(plan, MiniBlockPlan)]
        try:
            with _Placing(self, pages[0][0]):
                return (yield from decode_joined(joined, [rows for _, rows in pages], context))
        except CorruptFileError:
            # Decode each page alone, so that the error names the damaged page.
            for number, rows in pages:
                yield from self.decode_page(number, rows, context)
            raise

    def decode_page(self, number: int, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """Decode ``rows``, counted from the start of page ``number``."""
        plan = self._page(number, context)
        with _Placing(self, number):
            return (yield from plan.decode(rows, context))

    def _page_of(self, row: int) -> int | None:
        starts = self.column.starts
        return None if row >= starts[-1] else bisect_right(starts, row) - 1

    def _page(self, number: int, context: DecodeContext) -> LayoutPlan:
        plan = self._plans[number]
        if plan is None:
            with _Placing(self, number):
                plan = self._planned(self.column.pages[number], context)
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


class _Placing:
    """Adds the field's path to errors, and the file position to those about corruption."""

    __slots__ = ("_leaf", "_page")

    def __init__(self, leaf: LeafColumn, page: int) -> None:
        self._leaf = leaf
        self._page = page

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        leaf = self._leaf
        if isinstance(error, CorruptFileError):
            raise with_page(error, leaf.column.pages[self._page], leaf.path) from error
        if isinstance(error, UnsupportedFeatureError | PluginNotFoundError):
            raise type(error)(f"field {leaf.path!r}: {error}") from error
