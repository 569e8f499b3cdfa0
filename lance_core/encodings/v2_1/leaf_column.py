"""One leaf column of a 2.1 or 2.2 file: its pages, each with the plan of its layout."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import REPDEF_ALL_VALID_ITEM, ConstantLayout, PageLayout
from lance_core.encodings.layouts.builtin import plan_page
from lance_core.encodings.layouts.constant import (
    ConstantPlan,
    decode_constant,
    is_empty_struct,
)
from lance_core.encodings.layouts.foreign import decode_foreign, is_foreign
from lance_core.encodings.layouts.grammar import check_page
from lance_core.encodings.layouts.joined_pages import alike, decode_joined
from lance_core.encodings.layouts.layout import LayoutPlan, LeafPart, PageScope
from lance_core.encodings.layouts.mini_block import MiniBlockPlan
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.v2_0.column import placed, split_rows
from lance_core.encodings.v2_0.nullable import all_null
from lance_core.encodings.v2_1.assemble import Node, check_kinds
from lance_core.encodings.value_encoding import unknown_page
from lance_core.errors import CorruptFileError, PluginNotFoundError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import DecodeContext, Decoding, Rows
    from lance_core.encodings.page import Column, Page


class LeafColumn:
    """A column read as ``type``. Plans of pages are made when a page is first used, and kept.

    ``path`` is the dotted path of the leaf's field.
    """

    __slots__ = ("_nodes", "_plans", "column", "path", "type")

    def __init__(self, column: Column, type_: pa.DataType, path: str) -> None:
        self.column = column
        self.type = type_
        self.path = path
        self._nodes: tuple[Node, ...] = ()
        self._plans: list[LayoutPlan | None] = [None] * len(column.pages)

    @classmethod
    def of(cls, column: Column, type_: pa.DataType, path: str) -> LeafColumn:
        """The one that is kept with ``column``, if it is read as ``type_``."""
        kept: LeafColumn | None = column.decoder_cache
        if kept is None or kept.type != type_ or kept.path != path:
            kept = column.decoder_cache = cls(column, type_, path)
        return kept

    @property
    def is_field(self) -> bool:
        """Whether `expect` found that nothing is around this leaf."""
        return len(self._nodes) == 1

    def expect(self, nodes: Sequence[Node]) -> None:
        """Check layers of pages against the fields on the way to this leaf, outermost first."""
        if [node.is_list for node in self._nodes] != [node.is_list for node in nodes]:
            self._nodes = tuple(nodes)
            self._plans = [None] * len(self.column.pages)

    def all_null(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array] | None]:
        """The rows, if they are in a page of nulls that has nothing else; None otherwise."""
        yield from ()
        parts = split_rows(self.column, rows, self.path)
        if len(parts) != 1:
            return None
        plan = self._page(parts[0][0], context)
        if not isinstance(plan, ConstantPlan) or not plan.is_all_null:
            return None
        return [all_null(self.type, len(rows))]

    def row(self, number: int, context: DecodeContext) -> Decoding[pa.Array | None]:
        """One row of a column that is a field by itself; None if it is better read with others."""
        starts = self.column.starts
        if number >= starts[-1]:
            return None
        page = bisect_right(starts, number) - 1
        try:
            return (yield from self._page(page, context).row(number - starts[page], context))
        except CorruptFileError as error:
            raise placed(error, self.column.pages[page], self.path) from error
        except UnsupportedFeatureError as error:
            raise type(error)(f"field {self.path!r}: {error}") from error

    def level_row(self, number: int, context: DecodeContext) -> Decoding[LeafPart | None]:
        """One row of a column that is part of a field; None as with `row`."""
        starts = self.column.starts
        if number >= starts[-1]:
            return None
        page = bisect_right(starts, number) - 1
        try:
            return (yield from self._page(page, context).level_row(number - starts[page], context))
        except CorruptFileError as error:
            raise placed(error, self.column.pages[page], self.path) from error
        except UnsupportedFeatureError as error:
            raise type(error)(f"field {self.path!r}: {error}") from error

    def stretches(
        self, pages: Sequence[tuple[int, Rows]], context: DecodeContext
    ) -> list[Sequence[tuple[int, Rows]]]:
        """Successive pages with their wanted rows, cut into those that are decoded together."""
        if len(pages) == 1:
            return [pages]
        plans = [self._page(number, context) for number, _ in pages]
        return [pages[a:b] for a, b in alike(plans, [rows for _, rows in pages])]

    def decode_pages(
        self, pages: Sequence[tuple[int, Rows]], context: DecodeContext
    ) -> Decoding[LeafPart]:
        """Decode a stretch of pages, of each those rows that are with it."""
        if len(pages) == 1:
            return (yield from self.decode_page(*pages[0], context))
        plans = [self._page(number, context) for number, _ in pages]
        joined = [plan for plan in plans if isinstance(plan, MiniBlockPlan)]
        try:
            return (yield from decode_joined(joined, [rows for _, rows in pages], context))
        except CorruptFileError as error:
            for number, rows in pages:  # one of them says where, and why
                yield from self.decode_page(number, rows, context)
            raise placed(error, self.column.pages[pages[0][0]], self.path) from error
        except UnsupportedFeatureError as error:
            raise type(error)(f"field {self.path!r}: {error}") from error

    def decode_page(self, number: int, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """Decode ``rows``, counted from the start of page ``number``."""
        try:
            return (yield from self._page(number, context).decode(rows, context))
        except CorruptFileError as error:
            raise placed(error, self.column.pages[number], self.path) from error
        except UnsupportedFeatureError as error:
            raise type(error)(f"field {self.path!r}: {error}") from error

    def _page(self, number: int, context: DecodeContext) -> LayoutPlan:
        plan = self._plans[number]
        if plan is None:
            page = self.column.pages[number]
            try:
                plan = self._planned(page, context)
            except CorruptFileError as error:
                raise placed(error, page, self.path) from error
            except UnsupportedFeatureError as error:
                raise type(error)(f"field {self.path!r}: {error}") from error
            except PluginNotFoundError as error:
                raise PluginNotFoundError(f"field {self.path!r}: {error}") from error
            self._plans[number] = plan
        return plan

    def _planned(self, page: Page, context: DecodeContext) -> LayoutPlan:
        if isinstance(page.encoding, ForeignEncoding):
            raise unknown_page(page.encoding)
        assert isinstance(page.encoding, PageLayout)
        check_page(page.encoding, page.buffers, context.version)
        scope = PageScope(page.buffers, self.type, page.num_rows, context.file_size)
        is_plain = not page.buffers and not any(node.is_list for node in self._nodes)
        if is_plain and is_empty_struct(self.type):  # then all around is valid, too
            layers = [REPDEF_ALL_VALID_ITEM] * len(self._nodes)
            return decode_constant(ConstantLayout(layers=layers), scope)
        mini_block = page.encoding.mini_block_layout
        if is_foreign(mini_block):
            plan = decode_foreign(mini_block, scope, context.registry)
        else:
            plan = plan_page(page.encoding, scope, context.version)
        check_kinds(self._nodes, plan.kinds)
        return plan
