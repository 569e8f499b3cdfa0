"""Lists (message ``List``): a column of list ends, and the items in the next column(s).

Ends count items from the start of the page. The items of a page follow those of the page before.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding
from lance_core.encodings.arrow.decode_budget import spend
from lance_core.encodings.arrow.fixed_width import has_fixed_width
from lance_core.encodings.arrow.lists import Lists, list_arrays
from lance_core.encodings.decoding import RowIndices, RowRange, packed_rows, run_interleaved
from lance_core.encodings.page_rows import split_rows, with_page
from lance_core.encodings.v2_0.base import plan_array
from lance_core.encodings.v2_0.column import FieldPlan, page_scope
from lance_core.encodings.v2_0.offsets import Ends, PickedOffsets, not_ascending
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column

_MAX_PICKED_ITEMS = 1 << 28
_MAX_ITEMS = 1 << 48  # per page: sums over pages fit into 64 bits


class ListPage(NamedTuple):
    """The ends of one page and its items: ``num_items`` items from ``first_item`` on."""

    ends: Ends
    first_item: int
    num_items: int


class ListPlan(FieldPlan):
    """Decodes a list or large_list field; ``items`` decodes the item field."""

    __slots__ = ("_pages", "column", "items", "path", "type")

    def __init__(self, column: Column, type_: pa.DataType, items: FieldPlan, path: str) -> None:
        self.column = column
        self.type = type_
        self.items = items
        self.path = path
        self._pages: list[ListPage] = []

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `FieldPlan`."""
        if len(self._pages) != len(self.column.pages):
            self._pages = self._plan_pages(context)
        parts = split_rows(self.column, rows, self.path)
        lists: list[Lists]
        item_rows: Rows
        if isinstance(rows, RowRange):
            lists = yield from run_interleaved([self._read(*part, context) for part in parts])
            item_rows = RowRange(lists[0].begin, int(lists[-1].ends[-1]))
        else:
            picked, item_rows = yield from self._pick(parts, context)
            lists = [picked]
        if has_fixed_width(self.type.value_type):
            spend(len(item_rows) * self.type.value_type.bit_width // 8)
        items = (yield from self.items.decode(item_rows, context)) if len(item_rows) else []
        edges = list(accumulate((len(array) for array in items), initial=lists[0].begin))
        return [array for part in lists for array in list_arrays(self.type, part, items, edges)]

    def _plan_pages(self, context: DecodeContext) -> list[ListPage]:
        pages, first = [], 0
        for page in self.column.pages:
            encoding = page.encoding
            if not isinstance(encoding, ArrayEncoding) or not encoding.HasField("list"):
                raise with_page(CorruptFileError("not the offsets of lists"), page, self.path)
            scope = page_scope(self.column, page, pa.uint64(), context)
            message = encoding.list
            if message.num_items > _MAX_ITEMS:
                damage = CorruptFileError(f"a page of lists cannot have {message.num_items} items")
                raise with_page(damage, page, self.path)
            try:
                stored = plan_array(message.offsets, scope)
            except CorruptFileError as error:
                raise with_page(error, page, self.path) from error
            pages.append(
                ListPage(Ends.of(stored, message.null_offset_adjustment), first, message.num_items)
            )
            first += message.num_items
        return pages

    def _read(self, number: int, rows: Rows, context: DecodeContext) -> Decoding[Lists]:
        assert isinstance(rows, RowRange)
        page = self._pages[number]
        try:
            stored = yield from page.ends.read(rows, context)
            ends, valid = page.ends.real(stored, page.num_items)
            before = 1 if rows.start else 0
            begin = int(ends[0]) if before else 0
            if int(ends[before]) < begin or (ends[1:] < ends[:-1]).any():
                raise not_ascending()
            if rows.stop == self.column.pages[number].num_rows and ends[-1] != page.num_items:
                raise CorruptFileError(
                    f"the last list ends at item {int(ends[-1])} of {page.num_items}"
                )
        except CorruptFileError as error:
            raise with_page(error, self.column.pages[number], self.path) from error
        first = page.first_item
        return Lists(
            begin + first, ends[before:] + first, None if valid is None else valid[before:]
        )

    def _pick(
        self, parts: list[tuple[int, Rows]], context: DecodeContext
    ) -> Decoding[tuple[Lists, Rows]]:
        """The lists at single rows, renumbered as adjacent lists, and the rows of their items."""
        picked = yield from run_interleaved([self._pick_page(*part, context) for part in parts])
        starts = np.concatenate([spans.starts for spans in picked])
        stops = np.concatenate([spans.stops for spans in picked])
        valid = None
        if any(spans.valid is not None for spans in picked):
            flags = [
                np.ones(len(spans.starts), np.bool_) if spans.valid is None else spans.valid
                for spans in picked
            ]
            valid = np.concatenate(flags)
        lengths = stops - starts
        ends = np.cumsum(lengths)
        total = int(ends[-1])
        if total > _MAX_PICKED_ITEMS:
            raise UnsupportedFeatureError(
                f"field {self.path!r}: {total} items in the lists of {len(starts)} single rows"
            )
        items = np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
        return Lists(0, ends, valid), packed_rows(items)

    def _pick_page(
        self, number: int, rows: Rows, context: DecodeContext
    ) -> Decoding[PickedOffsets]:
        assert isinstance(rows, RowIndices)
        page, positions = self._pages[number], rows.values
        try:
            stored = yield from page.ends.pick(positions, context)
            picked = page.ends.real_spans(stored, positions[0] == 0, page.num_items)
        except CorruptFileError as error:
            raise with_page(error, self.column.pages[number], self.path) from error
        first = page.first_item
        return PickedOffsets(picked.starts + first, picked.stops + first, picked.valid)
