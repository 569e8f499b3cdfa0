"""Plans of fields that consist of one column: each page decodes its part of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding
from lance_core.encodings.arrow.coalesced_take import spans_index
from lance_core.encodings.decoding import run_interleaved
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.page_rows import (
    check_within,
    pages_of,
    rows_in_pages,
    split_rows,
    with_page,
)
from lance_core.encodings.plugin_values.value_encoding import unknown_page
from lance_core.encodings.v2_0.base import ArrayPlan, PlanScope, plan_array
from lance_core.encodings.v2_0.page_run import MAX_PAGE_BYTES, MAX_PAGE_ROWS, MIN_PAGES, ArrayRun
from lance_core.encodings.v2_0.page_shapes import Shape, shape_of
from lance_core.errors import (
    CorruptFileError,
    PluginError,
    ResultTooLargeError,
    UnsupportedFeatureError,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
    from lance_core.encodings.page import Column, Page


class FieldPlan(ABC):
    """Decodes a field and all its descendants from its columns."""

    __slots__ = ()

    @abstractmethod
    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """Decode ``rows``, at least one; see `lance_core.encodings.dispatch.decode_field`."""


class ColumnPlan(FieldPlan):
    """Decodes a field that is one column, whose pages each hold one encoded array.

    The plan of a page is made when the page is first used. ``path`` is the dotted path of the
    field.
    """

    __slots__ = ("_plans", "_shapes", "_table", "column", "path", "type")

    def __init__(self, column: Column, type_: pa.DataType, path: str) -> None:
        self.column = column
        self.type = type_
        self.path = path
        self._plans: dict[int, ArrayPlan] = {}
        self._table: tuple[PageArrays, Int64Array] | None = None
        self._shapes: dict[int, Shape | None] = {}

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `FieldPlan`."""
        check_within(self.column, rows, self.path)
        run = self._run(rows) if len(self.column.starts) > MIN_PAGES else None
        if run is not None:
            try:
                return (
                    yield from run.decode(rows_in_pages(self.column, run.numbers, rows), context)
                )
            except (CorruptFileError, ResultTooLargeError):
                pass  # Decode each page alone, so that the error names the damaged page.
        parts = split_rows(self.column, rows, self.path)
        if len(parts) == 1:
            return (yield from self.decode_page(*parts[0], context))
        results = yield from run_interleaved([self.decode_page(*part, context) for part in parts])
        return [array for arrays in results for array in arrays]

    def _run(self, rows: Rows) -> ArrayRun | None:
        """The pages of ``rows`` as a run; None if they must be read one by one."""
        if self._table is None:
            starts = np.array(self.column.starts, np.int64)
            self._table = PageArrays.of(self.column.pages), starts
        table, starts = self._table
        pages, _ = pages_of(starts, rows)
        buffers = spans_index(table.edges[pages], table.edges[pages + 1])
        stored = int((table.stops[buffers] - table.starts[buffers]).sum())
        num_rows = int(table.num_rows[pages].sum())
        if len(pages) < MIN_PAGES or num_rows > MAX_PAGE_ROWS * len(pages):
            return None
        if stored > MAX_PAGE_BYTES * len(pages):
            return None
        shapes = {self._shape(kind, table) for kind in np.unique(table.kinds[pages]).tolist()}
        shape = shapes.pop()
        return None if shapes or shape is None else ArrayRun(table, pages, shape, self.type)

    def _shape(self, kind: int, table: PageArrays) -> Shape | None:
        if kind not in self._shapes:
            self._shapes[kind] = shape_of(table.encodings[kind], self.type)
        return self._shapes[kind]

    def decode_page(
        self, number: int, rows: Rows, context: DecodeContext
    ) -> Decoding[list[pa.Array]]:
        """Decode ``rows``, counted from the start of page ``number``."""
        try:
            plan = self._plans.get(number)
            if plan is None:
                plan = self._plans[number] = self._plan(self.column.pages[number], context)
            return (yield from plan.decode(rows, context))
        except CorruptFileError as error:
            raise with_page(error, self.column.pages[number], self.path) from error
        except UnsupportedFeatureError as error:
            raise type(error)(f"field {self.path!r}: {error}") from error
        except PluginError as error:
            raise error.at(field=self.path) from error

    def _plan(self, page: Page, context: DecodeContext) -> ArrayPlan:
        encoding = page.encoding
        if isinstance(encoding, ForeignEncoding):
            raise unknown_page(encoding)
        if not isinstance(encoding, ArrayEncoding):
            raise CorruptFileError("the page does not have an array encoding")
        return plan_array(encoding, page_scope(self.column, page, self.type, context))


def page_scope(column: Column, page: Page, type_: pa.DataType, context: DecodeContext) -> PlanScope:
    """The scope of the encoding of a whole page."""
    return PlanScope(
        context.registry, page.buffers, column.buffers, type_, page.num_rows, context.file_size
    )
