"""Serialize copied pages: their messages with new positions and new priorities."""

from __future__ import annotations

import numpy as np

from lance_core.datafile.binary_copy.source_pages import SourcePages
from lance_core.datafile.column_metadata import COLUMN_PAGES_TAG
from lance_core.datafile.page_messages import PAGE_OFFSETS, PAGE_PRIORITY
from lance_core.datafile.varints import Ints, concatenated, encode, tagged
from lance_core.datafile.varints import merged as merge_items


class PageBytes:
    """The fields ``pages`` of a ``ColumnMetadata`` message for some pages of a table.

    A message is the bytes of ``changed`` before the page's middle, the middle as it is in the
    table, and the bytes of ``changed`` after it.
    """

    def __init__(self, table: SourcePages, pages: Ints, offsets: Ints, priorities: Ints) -> None:
        """``offsets`` are the new positions of the buffers of ``pages``, page by page."""
        self._raw = memoryview(table.raw)
        counts = table.first_buffer[pages + 1] - table.first_buffer[pages]
        present = counts > 0
        starts, stops = table.middle_starts[pages], table.middle_stops[pages]
        positions = merge_items(encode(offsets), counts)
        sizes = tagged(PAGE_OFFSETS, encode(positions[1]), present)
        priority = tagged(PAGE_PRIORITY, encode(priorities), priorities > 0)
        length = sizes[1] + positions[1] + (stops - starts) + priority[1]
        everywhere = np.ones(len(pages), np.bool_)
        head = concatenated(
            [tagged(COLUMN_PAGES_TAG, encode(length), everywhere), sizes, positions]
        )
        changed, total = concatenated([head, priority])
        self._changed = memoryview(changed.data)
        ends = np.cumsum(total)
        self._head_starts: list[int] = (ends - total).tolist()
        self._head_stops: list[int] = (ends - priority[1]).tolist()
        self._ends: list[int] = ends.tolist()
        self._middles: list[tuple[int, int]] = list(
            zip(starts.tolist(), stops.tolist(), strict=True)
        )

    def chunks(self, first: int, stop: int) -> list[memoryview]:
        """The bytes of pages number ``first`` to ``stop`` in pieces."""
        raw, changed = self._raw, self._changed
        chunks = []
        done = self._head_starts[first] if first < stop else 0
        for number in range(first, stop):
            chunks.append(changed[done : (done := self._head_stops[number])])
            start, end = self._middles[number]
            chunks.append(raw[start:end])
        if first < stop:
            chunks.append(changed[done : self._ends[stop - 1]])
        return chunks
