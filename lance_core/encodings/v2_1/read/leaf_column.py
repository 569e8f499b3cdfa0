"""One leaf column of a 2.1 or 2.2 file: its pages and the cached plans of their layouts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import REPDEF_ALL_VALID_ITEM, ConstantLayout, PageLayout
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.decoding import run_interleaved
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.page_rows import split_rows, with_page
from lance_core.encodings.plugin_values.value_encoding import unknown_page
from lance_core.encodings.v2_1.levels.tree import Node, check_kinds
from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart, PageScope
from lance_core.encodings.v2_1.pages.builtin import plan_page
from lance_core.encodings.v2_1.pages.constant.reader import decode_constant, is_empty_struct
from lance_core.encodings.v2_1.pages.foreign.reader import decode_foreign, is_foreign
from lance_core.encodings.v2_1.pages.validation import check_page
from lance_core.encodings.v2_1.read.assemble import DecodedLeaf
from lance_core.errors import (
    CorruptFileError,
    LanceError,
    PluginError,
    UnsupportedFeatureError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column, Page

T = TypeVar("T")

LONG_BYTES = 64 << 10
"""Average stored bytes of a value from which on a copy takes longer than an array of its own."""

PLACED = CorruptFileError, UnsupportedFeatureError, PluginError
"""Errors of pages that get the path of the field."""


class ColumnCache:
    """What a column keeps: its leaf, and the tree of the field whose first column it is.

    ``field``: the top-level leaf field that the column was last read as.
    """

    __slots__ = ("field", "leaf", "tree")

    def __init__(self, leaf: LeafColumn) -> None:
        self.leaf = leaf
        self.tree: object = None
        self.field: object = None


class LeafColumn:
    """A column read as ``type``. The plan of a page is made on first use and cached.

    ``column`` has no cache. ``path`` is the dotted path of the leaf's field. ``memo``: what fast
    paths keep of the pages. ``has_long_values``: True for strings and binary values that average
    `LONG_BYTES` or more in the first page. ``nodes``: the fields on the path to the leaf, see
    `expect`. ``plans``: the plans of pages by number, see `plan`.
    """

    __slots__ = ("column", "has_long_values", "memo", "nodes", "path", "plans", "type")

    def __init__(self, column: Column, type_: pa.DataType, path: str) -> None:
        self.column = column
        self.type = type_
        self.path = path
        self.memo: dict[Hashable, Any] = {}
        self.nodes: tuple[Node, ...] = ()
        self.plans: dict[int, LayoutPlan] = {}
        self.has_long_values = is_variable(type_) and _are_long(column.pages[:1])

    @classmethod
    def of(cls, column: Column, type_: pa.DataType, path: str) -> LeafColumn:
        """The leaf column cached with ``column``, or a new one if that was read as another type."""
        cache: ColumnCache | None = column.decoder_cache
        if cache is None or cache.leaf.type != type_ or cache.leaf.path != path:
            cache = column.decoder_cache = ColumnCache(cls(column.without_cache(), type_, path))
        return cache.leaf

    def expect(self, nodes: Sequence[Node]) -> None:
        """Set the fields on the path to this leaf, outermost first, to check pages against."""
        if nodes is self.nodes:
            return
        if [node.is_list for node in self.nodes] != [node.is_list for node in nodes]:
            self.plans = {}
            self.memo = {}
        self.nodes = tuple(nodes)

    def as_field(self) -> Node:
        """The node of this leaf as a top-level field, after `expect` of this node."""
        if len(self.nodes) != 1:
            self.expect((Node(self.type, is_leaf=True),))
        return self.nodes[0]

    def decode(self, rows: Rows, context: DecodeContext, scale: int = 1) -> Decoding[DecodedLeaf]:
        """Decode ``rows``, a part for each page.

        ``scale``: rows of the column per row of the field. Raises `CorruptFileError` if the column
        has too few rows.
        """
        pages = split_rows(self.column, rows, self.path)
        edges = self.edges([len(page_rows) for _, page_rows in pages], scale)
        parts = yield from run_interleaved(
            [self.decode_page(page, page_rows, context) for page, page_rows in pages]
        )
        return DecodedLeaf(parts, edges, scale)

    def decode_page(self, number: int, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """Decode ``rows``, counted from the start of page ``number``."""
        return (yield from self.located(number, self.plan(number, context).decode(rows, context)))

    def edges(self, lengths: Sequence[int], scale: int) -> list[int]:
        """The row edges, in rows of the field, of parts with these ``lengths``.

        Raises `CorruptFileError` if a part ends within a list of fixed size.
        """
        if scale > 1 and any(length % scale for length in lengths):
            raise CorruptFileError("a page ends within a list of fixed size", field=self.path)
        return list(accumulate((length // scale for length in lengths), initial=0))

    def page_of(self, row: int) -> int | None:
        """The number of the page with ``row``; None if the column has too few rows."""
        starts = self.column.starts
        return None if row >= starts[-1] else bisect_right(starts, row) - 1

    def plan(self, number: int, context: DecodeContext) -> LayoutPlan:
        """The plan of page ``number``. Raises its errors with the field's path."""
        plan = self.plans.get(number)
        if plan is None:
            try:
                plan = self._planned(self.column.pages[number], context)
            except PLACED as error:
                raise self.with_place(error, number) from error
            self.plans[number] = plan
        return plan

    def placed(self, page: int, work: Callable[[], T]) -> T:
        """The result of ``work`` on a page; its errors are those of `located`."""
        try:
            return work()
        except PLACED as error:
            raise self.with_place(error, page) from error

    def located(self, page: int, decoding: Decoding[T]) -> Decoding[T]:
        """``decoding`` of a page; its errors get the field's path and the place of the page."""
        try:
            return (yield from decoding)
        except PLACED as error:
            raise self.with_place(error, page) from error

    def _planned(self, page: Page, context: DecodeContext) -> LayoutPlan:
        if isinstance(page.encoding, ForeignEncoding):
            raise unknown_page(page.encoding)
        assert isinstance(page.encoding, PageLayout)
        check_page(page.encoding, page.buffers, context.version)
        scope = PageScope(page.buffers, self.type, page.num_rows, context.file_size)
        is_plain = not page.buffers and not any(node.is_list for node in self.nodes)
        if is_plain and is_empty_struct(self.type):  # then all enclosing fields are valid, too
            layers = [REPDEF_ALL_VALID_ITEM] * len(self.nodes)
            return decode_constant(ConstantLayout(layers=layers), scope)
        mini_block = page.encoding.mini_block_layout
        if is_foreign(mini_block):
            plan = decode_foreign(mini_block, scope, context.registry)
        else:
            plan = plan_page(page.encoding, scope, context.version)
        check_kinds(self.nodes, plan.kinds)
        return plan

    def with_place(self, error: LanceError, page: int) -> LanceError:
        """An error of `PLACED` with the field's path; with the position in the file if corrupt."""
        if isinstance(error, CorruptFileError):
            return with_page(error, self.column.pages[page], self.path)
        if isinstance(error, PluginError):
            return error.at(field=self.path)
        return type(error)(f"field {self.path!r}: {error}")


def _are_long(pages: Sequence[Page]) -> bool:
    return any(
        page.buffers and page.buffers[0].length >= LONG_BYTES * max(1, page.num_rows)
        for page in pages
    )
