"""Choose the rows of a stream's windows from the observed bytes of earlier windows.

File sizes are no good estimate: a page may contain one long value for a million rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lance_core.dataset.read.columns.widths import fixed_bytes, num_columns
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.encodings.arrow.dictionary_items import bytes_of_rows

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.read.fragments.span import Span
    from lance_core.schema import Field


class WindowBytes(NamedTuple):
    """The target bytes of a window, and the ceiling if the target has too few rows for a batch."""

    target: int
    ceiling: int

    def rows(self, rows: int, size: int, unit: int) -> int:
        """The rows of a window if ``rows`` rows took ``size`` bytes; ``unit``: rows of a batch."""
        size = max(1, size)
        fitting = self.target * rows // size
        return fitting if fitting >= unit else min(unit, self.ceiling * rows // size)


class WindowSizer:
    """Splits spans into windows and adapts the rows of each window to observed sizes.

    The first window has ``first`` rows. `observe` reports the bytes of a window; the sizer then
    aims at ``bytes_``. A window has at most ``most`` rows, and a multiple of ``unit`` rows if that
    many fit the target, or ``unit`` rows if they fit the ceiling. If ``bytes_`` is None, all
    windows have ``first`` rows. Any thread may call `observe`.
    """

    __slots__ = ("_bytes", "_most", "_rows", "_unit")

    def __init__(
        self, first: int, most: int, unit: int = 1, bytes_: WindowBytes | None = None
    ) -> None:
        self._most, self._unit, self._bytes = most, unit, bytes_
        self._rows = self._whole(min(first, most))

    def windows(self, spans: Iterable[Span]) -> Iterator[Span]:
        """The windows of ``spans``; the size of each is chosen when the iterator reaches it."""
        for span in spans:
            if span.chosen is not None:
                yield from self._chosen_windows(span, span.chosen)
                continue
            start = span.start
            while start < span.stop:
                stop = start + self._rows
                if span.stop - stop < self._rows // tuning().stream.min_rest:
                    stop = span.stop
                yield replace(span, start=start, stop=stop)
                start = stop

    def _chosen_windows(self, span: Span, chosen: BitMap) -> Iterator[Span]:
        """The windows of a span with chosen rows, which are counted."""
        start, first = span.start, chosen.rank(span.start - 1) if span.start else 0
        end = first + span.num_rows
        while first < end:
            first += self._rows
            stop = span.stop if first >= end else chosen[first]
            yield replace(span, start=start, stop=stop)
            start = stop

    @property
    def rows(self) -> int:
        """The number of rows of the next window."""
        return self._rows

    def observe(self, rows: int, size: int) -> None:
        """Report that a window of ``rows`` rows took ``size`` bytes in memory."""
        if self._bytes is None or not rows:
            return
        fitting = self._bytes.rows(rows, size, self._unit)
        self._rows = self._whole(min(fitting, tuning().stream.growth * rows, self._most))

    def observe_data(self, rows: int, *data: pa.Table) -> None:
        """Report what was read for a window of ``rows`` rows; dictionaries do not count.

        A dictionary is as large for fewer rows: a window that shrank because of it would end at a
        single row.
        """
        if self._bytes is None:
            return
        size = sum(table.nbytes for table in data)
        if size > self._bytes.target // 2:  # looking for dictionaries costs time for each column
            size = sum(map(bytes_of_rows, data))
        self.observe(rows, size)

    def _whole(self, rows: int) -> int:
        return max(1, rows if rows < self._unit else rows - rows % self._unit)


def stream_sizer(
    fields: Sequence[Field], batch_size: int, stored: Callable[[], int]
) -> WindowSizer:
    """The sizer for a stream of batches: windows as small as their fixed cost allows.

    ``stored``: estimates the bytes of a row of ``fields`` in files, 0 if unknown. It is called only
    if the width of the rows is not known, because it looks at all columns of a table.
    """
    target = min(num_columns(fields) * tuning().stream.column_bytes, most_bytes(fields))
    return _sizer(fields, batch_size, target, stored)


def most_bytes(fields: Iterable[Field]) -> int:
    """The maximum bytes of a stream's window of ``fields``."""
    stream = tuning().stream
    return stream.max_bytes * max(stream.wide_columns, num_columns(fields)) // stream.wide_columns


def count_sizer(
    fields: Sequence[Field],
    batch_size: int,
    stored: Callable[[], int],
) -> WindowSizer:
    """The sizer for counting: windows keep only the filter's result; ``fields`` are its columns.

    ``stored`` as in `stream_sizer`.
    """
    return _sizer(fields, batch_size, most_bytes(fields), stored)


def late_sizer(fields: Sequence[Field], most: int) -> WindowSizer:
    """The sizer for late materialisation in a stream, with at most ``most`` rows for each read."""
    width = fixed_bytes(fields)
    target = most_bytes(fields)
    first = tuning().stream.unknown_rows if width is None else target // width
    return WindowSizer(first, most, 1, WindowBytes(target, target))


def first_rows(rows: int, target: int, stored: int) -> int:
    """Rows of the first windows of rows of unknown width, at most ``rows``.

    Compressed values take more memory than their ``stored`` bytes of a row, so these are only an
    upper limit of the rows that are likely to fit ``target`` bytes. What was read
    improves the estimate.
    """
    return max(1, min(rows, target // max(1, stored)))


def _sizer(
    fields: Sequence[Field],
    batch_size: int,
    target: int,
    stored: Callable[[], int],
) -> WindowSizer:
    bytes_ = WindowBytes(target, most_bytes(fields))
    width = fixed_bytes(fields)
    if width is None:
        first = first_rows(batch_size, target, stored())
    else:
        first = bytes_.rows(1, width, batch_size)
    return WindowSizer(first, tuning().table.max_rows, batch_size, bytes_)
