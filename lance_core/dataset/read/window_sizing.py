"""How many rows a window of a stream has: as many as the bytes of those before it suggest.

What a file says of its size tells little: a page may hold one long value for a million rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import Span
    from lance_core.schema import Field

TABLE_WINDOW_ROWS = 1 << 19
STREAM_WINDOW_BYTES = 12 << 20
COLUMN_WINDOW_BYTES = 448 << 10
"""Bytes of a window of a stream: at most, and for each of its columns.

What a window costs besides its values, it costs for each column.
"""
_PROBABLE_BYTES = 16
"""What a text or a list is taken to have; many have more."""

_UNKNOWN_ROWS = 64
"""Rows that are materialised before it is known how long rows are."""

_GROWTH = 8
"""How many times the rows of the window before one may have: few windows are small ones at the
beginning, and rows that are longer than those before them do not take much more than they may."""


class WindowBytes(NamedTuple):
    """How large windows are to be, and how large so that they have rows enough for a batch."""

    target: int
    ceiling: int

    def rows(self, rows: int, size: int, unit: int) -> int:
        """How many to take if ``rows`` had ``size`` bytes and ``unit`` are a batch."""
        size = max(1, size)
        fitting = self.target * rows // size
        return fitting if fitting >= unit else min(unit, self.ceiling * rows // size)


class WindowSizer:
    """Cuts spans into windows, whose rows it chooses anew for each.

    It begins with ``first`` rows; `observe` tells it what a window took in memory, of which it
    wants ``bytes_``. A window has at most ``most`` rows, and whole multiples of ``unit`` if that
    many fit, one at least if that takes no more than the ceiling. Without ``bytes_`` all windows
    have ``first`` rows. `observe` may be called by any thread.
    """

    __slots__ = ("_bytes", "_most", "_rows", "_unit")

    def __init__(
        self, first: int, most: int, unit: int = 1, bytes_: WindowBytes | None = None
    ) -> None:
        self._most, self._unit, self._bytes = most, unit, bytes_
        self._rows = self._whole(min(first, most))

    def windows(self, spans: Iterable[Span]) -> Iterator[Span]:
        """The windows, each of as many rows as seems right when it is asked for."""
        for span in spans:
            start = span.start
            while start < span.stop:
                stop = min(start + self._rows, span.stop)
                yield replace(span, start=start, stop=stop)
                start = stop

    @property
    def rows(self) -> int:
        """How many rows the next window has."""
        return self._rows

    def observe(self, rows: int, size: int) -> None:
        """A window of so many rows took ``size`` bytes."""
        if self._bytes is None or not rows:
            return
        fitting = self._bytes.rows(rows, size, self._unit)
        self._rows = self._whole(min(fitting, _GROWTH * rows, self._most))

    def _whole(self, rows: int) -> int:
        return max(1, rows if rows < self._unit else rows - rows % self._unit)


def stream_sizer(fields: Sequence[Field], batch_size: int) -> WindowSizer:
    """Windows for a reader of batches: as small as pays."""
    columns = sum(not part.children for field in fields for part in field.walk())
    return _sizer(fields, batch_size, min(columns * COLUMN_WINDOW_BYTES, STREAM_WINDOW_BYTES))


def count_sizer(fields: Sequence[Field], batch_size: int) -> WindowSizer:
    """Windows of which nothing is kept but which rows pass a filter that looks at the fields."""
    return _sizer(fields, batch_size, STREAM_WINDOW_BYTES)


def late_pace(fields: Sequence[Field], most: int) -> WindowSizer:
    """How many rows of a stream, ``most`` at most, are materialised by one read of the fields."""
    width = fixed_bytes(fields)
    first = _UNKNOWN_ROWS if width is None else STREAM_WINDOW_BYTES // width
    return WindowSizer(first, most, 1, WindowBytes(STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES))


def _sizer(fields: Sequence[Field], batch_size: int, target: int) -> WindowSizer:
    bytes_ = WindowBytes(target, STREAM_WINDOW_BYTES)
    width = fixed_bytes(fields)
    first = batch_size if width is None else bytes_.rows(1, width, batch_size)
    return WindowSizer(first, TABLE_WINDOW_ROWS, batch_size, bytes_)


def probable_bytes(fields: Sequence[Field], others: int = _PROBABLE_BYTES) -> int:
    """Bytes of a row of the fields in memory; ``others``: of one whose rows differ."""
    widths = [_fixed_bits(field.storage_type) for field in fields]
    return sum(8 * others if width is None else width for width in widths) // 8


def fixed_bytes(fields: Sequence[Field]) -> int | None:
    """Bytes of a row of the fields in memory, None if rows differ."""
    widths = [_fixed_bits(field.storage_type) for field in fields]
    known = [width for width in widths if width is not None]
    return sum(known) // 8 + 1 if len(known) == len(widths) else None


def _fixed_bits(type_: pa.DataType) -> int | None:
    if pa.types.is_fixed_size_list(type_):
        width = _fixed_bits(type_.value_type)
        return None if width is None else width * type_.list_size
    if pa.types.is_struct(type_):
        widths = [_fixed_bits(field.type) for field in type_]
        known = [width for width in widths if width is not None]
        return sum(known) if len(known) == len(widths) else None
    has_width = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_fixed_size_binary)
    if any(check(type_) for check in has_width):
        return int(type_.bit_width)
    return 0 if pa.types.is_null(type_) else None
