"""Serialize copied pages: their messages with new positions and new priorities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.arrays import edges_of
from lance_core.hookspecs.stored_pages import (
    COLUMN_PAGES_TAG,
    PAGE_OFFSETS,
    PAGE_PRIORITY,
    ByteArray,
    Ints,
    JoinSlices,
    Ragged,
    encode_varints,
    merged_items,
    tagged_items,
)
from lance_core_compaction.page_copy.source_pages import SourcePages


class PageBytes:
    """The fields ``pages`` of a ``ColumnMetadata`` message for some pages of a table.

    Between its positions and its priority, and behind that, a message has the bytes that it has in
    the table.
    """

    def __init__(
        self, table: SourcePages, pages: Ints, offsets: Ints, priorities: Ints, join: JoinSlices
    ) -> None:
        """``offsets`` are the new positions of the buffers of ``pages``, page by page."""
        counts = table.num_buffers_of(pages)
        present = counts > 0
        starts, stops = table.middle_starts[pages], table.middle_stops[pages]
        positions = merged_items(encode_varints(offsets), counts)
        sizes = tagged_items(PAGE_OFFSETS, encode_varints(positions[1]), present)
        priority = tagged_items(PAGE_PRIORITY, encode_varints(priorities), priorities > 0)
        sums = table.sums_starts[pages], table.sums_stops[pages]
        length = sizes[1] + positions[1] + (stops - starts) + priority[1] + (sums[1] - sums[0])
        tags = tagged_items(COLUMN_PAGES_TAG, encode_varints(length), np.ones(len(pages), np.bool_))
        raw = np.frombuffer(table.raw, np.uint8)
        parts = [_Part.of(item) for item in (tags, sizes, positions)]
        parts += [_Part(raw, starts, stops), _Part.of(priority), _Part(raw, *sums)]
        joined = join(
            [pa.py_buffer(part.data) for part in parts],
            np.tile(np.arange(len(parts)), len(pages)),
            np.stack([part.starts for part in parts], axis=1).ravel(),
            np.stack([part.stops for part in parts], axis=1).ravel(),
        )
        self._all = joined.data
        self._edges: list[int] = edges_of(tags[1] + length).tolist()

    def between(self, first: int, stop: int) -> memoryview:
        """The messages of pages number ``first`` to ``stop``."""
        return self._all[self._edges[first] : self._edges[stop]]


class _Part(NamedTuple):
    """A part of each message: its bytes from ``starts`` to ``stops`` of ``data``."""

    data: ByteArray
    starts: Ints
    stops: Ints

    @classmethod
    def of(cls, items: Ragged) -> _Part:
        """Items that follow each other."""
        edges = edges_of(items[1])
        return cls(items[0], edges[:-1], edges[1:])
