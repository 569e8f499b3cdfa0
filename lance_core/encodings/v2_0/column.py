"""The pages of one column: which of them hold the rows, and how each decodes its part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding
from lance_core.encodings.decoding import RowIndices, RowRange, together
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.plugin_values.value_encoding import unknown_page
from lance_core.encodings.v2_0.base import ArrayPlan, PlanScope, plan_array
from lance_core.errors import CorruptFileError, PluginNotFoundError, UnsupportedFeatureError

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.decoding import DecodeContext, Decoding, Rows
    from lance_core.encodings.page import Column, Page


class FieldPlan(ABC):
    """How a field, with all that is below it, is decoded from its columns."""

    __slots__ = ()

    @abstractmethod
    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """Decode ``rows``, at least one; as `lance_core.encodings.dispatch.decode_field`."""


class ColumnPlan(FieldPlan):
    """A field that is one column, whose pages each hold one encoded array.

    Plans of pages are made when a page is first used. ``path`` is the dotted path of the field.
    """

    __slots__ = ("_plans", "column", "path", "type")

    def __init__(self, column: Column, type_: pa.DataType, path: str) -> None:
        self.column = column
        self.type = type_
        self.path = path
        self._plans: list[ArrayPlan | None] = [None] * len(column.pages)

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `FieldPlan`."""
        parts = split_rows(self.column, rows, self.path)
        if len(parts) == 1:
            return (yield from self.decode_page(*parts[0], context))
        results = yield from together([self.decode_page(*part, context) for part in parts])
        return [array for arrays in results for array in arrays]

    def decode_page(
        self, number: int, rows: Rows, context: DecodeContext
    ) -> Decoding[list[pa.Array]]:
        """Decode ``rows``, counted from the start of page ``number``."""
        try:
            plan = self._plans[number]
            if plan is None:
                plan = self._plans[number] = self._plan(self.column.pages[number], context)
            return (yield from plan.decode(rows, context))
        except CorruptFileError as error:
            raise placed(error, self.column.pages[number], self.path) from error
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"field {self.path!r}: {error}") from error
        except PluginNotFoundError as error:
            raise PluginNotFoundError(f"field {self.path!r}: {error}") from error

    def _plan(self, page: Page, context: DecodeContext) -> ArrayPlan:
        encoding = page.encoding
        if isinstance(encoding, ForeignEncoding):
            raise unknown_page(encoding)
        if not isinstance(encoding, ArrayEncoding):
            raise CorruptFileError("not an encoding of an array")
        return plan_array(encoding, page_scope(self.column, page, self.type, context))


def page_scope(column: Column, page: Page, type_: pa.DataType, context: DecodeContext) -> PlanScope:
    """The scope of the encoding of a whole page."""
    return PlanScope(
        context.registry, page.buffers, column.buffers, type_, page.num_rows, context.file_size
    )


def placed(error: CorruptFileError, page: Page, path: str) -> CorruptFileError:
    """``error`` with the page and the field it is about."""
    found = error.at(offset=page.buffers[0].start if page.buffers else None)
    inner = f" ({error.field})" if error.field else ""
    return CorruptFileError(error.reason + inner, error.path, found.offset, path)


def check_within(column: Column, rows: Rows, path: str) -> None:
    """Raise `CorruptFileError` if the column is too short for ``rows``."""
    if rows.last >= column.num_rows:
        raise CorruptFileError(
            f"row {rows.last} of a column that has {column.num_rows} rows", field=path
        )


def split_rows(column: Column, rows: Rows, path: str) -> list[tuple[int, Rows]]:
    """The pages that hold ``rows``, each with its part of them counted from its own start.

    Raises `CorruptFileError` if the column is too short.
    """
    starts = column.starts
    check_within(column, rows, path)
    if len(starts) == 2:
        return [(0, rows)]
    if isinstance(rows, RowRange):
        return _split_range(starts, rows)
    edges = [*np.searchsorted(rows.values, starts[:-1]).tolist(), len(rows)]
    return [
        (page, RowIndices(rows.values[a:b] - starts[page]))
        for page, (a, b) in enumerate(pairwise(edges))
        if a < b
    ]


def _split_range(starts: list[int], rows: RowRange) -> list[tuple[int, Rows]]:
    parts: list[tuple[int, Rows]] = []
    start, page = rows.start, bisect_right(starts, rows.start) - 1
    while start < rows.stop:
        stop = min(rows.stop, starts[page + 1])
        if stop > start:  # pages without rows occur
            parts.append((page, RowRange(start - starts[page], stop - starts[page])))
        start, page = stop, page + 1
    return parts
