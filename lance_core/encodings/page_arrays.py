"""The pages of a column as arrays, so that code for many pages runs once instead of once a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.spans import edges_of, spans_index
from lance_core.encodings.page import ForeignEncoding, Page
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from lance_core.encodings.decoding import Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class PageArrays(Sequence[Page]):
    """The pages of a column, in order; an item is created on access.

    Page p has the encoding ``encodings[kinds[p]]``, ``num_rows[p]`` rows, and the buffers from
    ``edges[p]`` to ``edges[p + 1]``. Buffer b is at the bytes ``starts[b]`` to ``stops[b]``.
    """

    encodings: Sequence[Message | ForeignEncoding]
    kinds: Int64Array
    num_rows: Int64Array
    edges: Int64Array
    starts: Int64Array
    stops: Int64Array

    @classmethod
    def of(cls, pages: Sequence[Page]) -> PageArrays:
        """The table of ``pages``; equal encodings should be the same object."""
        if isinstance(pages, PageArrays):
            return pages
        pages = tuple(pages)
        # By identity, because messages have no hash.
        number: dict[int, int] = {}
        encodings: list[Message | ForeignEncoding] = []
        for page in pages:
            if number.setdefault(id(page.encoding), len(encodings)) == len(encodings):
                encodings.append(page.encoding)
        kinds = np.array([number[id(page.encoding)] for page in pages], np.int64)
        buffers = [buffer for page in pages for buffer in page.buffers]
        spans = np.array(buffers, np.int64).reshape(-1, 2)
        edges = np.cumsum([0, *(len(page.buffers) for page in pages)])
        rows = np.array([page.num_rows for page in pages], np.int64)
        return cls(encodings, kinds, rows, edges, spans[:, 0].copy(), spans[:, 1].copy())

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, index: int) -> Page: ...

    @overload
    def __getitem__(self, index: slice) -> list[Page]: ...

    def __getitem__(self, index: int | slice) -> Page | list[Page]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        first, stop = self.edges[index], self.edges[index + 1]
        spans = zip(self.starts[first:stop].tolist(), self.stops[first:stop].tolist(), strict=True)
        buffers = tuple(ByteRange(start, end) for start, end in spans)
        return Page(buffers, int(self.num_rows[index]), self.encodings[self.kinds[index]])

    def __iter__(self) -> Iterator[Page]:
        return (self[number] for number in range(len(self)))

    def taken(self, pages: Int64Array) -> PageArrays:
        """Some of the pages, in the order of ``pages``."""
        used, kinds = np.unique(self.kinds[pages], return_inverse=True)
        firsts, stops = self.edges[pages], self.edges[pages + 1]
        buffers = spans_index(firsts, stops)
        edges = edges_of(stops - firsts)
        return PageArrays(
            [self.encodings[kind] for kind in used.tolist()],
            kinds,
            self.num_rows[pages],
            edges,
            self.starts[buffers],
            self.stops[buffers],
        )

    def buffers(self, pages: Int64Array, number: int) -> tuple[Int64Array, Int64Array]:
        """The starts and stops of buffer ``number`` of each of ``pages``, which all have it."""
        indices = self.edges[pages] + number
        return self.starts[indices], self.stops[indices]
