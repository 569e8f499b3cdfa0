"""Plans of fields that consist of one column: each page decodes its part of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding
from lance_core.encodings.decoding import run_interleaved
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.page_rows import (
    check_within,
    split_rows,
    with_page,
)
from lance_core.encodings.plugin_values.value_encoding import unknown_page
from lance_core.encodings.v2_0.base import ArrayPlan, PlanScope, plan_array
from lance_core.encodings.v2_0.fast.page_run import COLUMN_READS, ColumnRuns
from lance_core.errors import (
    CorruptFileError,
    PluginError,
    ResultTooLargeError,
    UnsupportedFeatureError,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
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

    __slots__ = ("_plans", "_runs", "column", "path", "type")

    def __init__(self, column: Column, type_: pa.DataType, path: str) -> None:
        self.column = column
        self.type = type_
        self.path = path
        self._plans: dict[int, ArrayPlan] = {}
        self._runs = ColumnRuns(column, type_)

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `FieldPlan`."""
        check_within(self.column, rows, self.path)
        fast = COLUMN_READS.first(self._runs, rows, context)
        if fast is not None:
            try:
                return (yield from fast)
            except (CorruptFileError, ResultTooLargeError):
                pass  # Decode each page alone, so that the error names the damaged page.
        parts = split_rows(self.column, rows, self.path)
        if len(parts) == 1:
            return (yield from self.decode_page(*parts[0], context))
        results = yield from run_interleaved([self.decode_page(*part, context) for part in parts])
        return [array for arrays in results for array in arrays]

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
