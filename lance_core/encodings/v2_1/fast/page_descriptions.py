"""What is read once of the pages of a column: chunk words, repetition indices, dictionary items.

Pages are described together: those that a read needs and no earlier one described. What a later
read needs is found with array operations, and what a repeated read needs is kept as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.memory_pool import concat_arrays

if TYPE_CHECKING:
    from lance_core.byte_ranges import JoinSlices
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
    from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkedPages

MAX_KEPT = 4
"""Maximum sets of pages, and ranges of rows, of which results are kept: those of the windows of a
scan in one run."""


class DescribedPages(NamedTuple):
    """The descriptions of some pages, one after the other.

    Page p has the next ``sizes[p]`` bytes of chunk ``words``, ``rep_sizes[p]`` bytes of repetition
    index and ``num_items[p]`` dictionary items. ``items`` is None without dictionaries.
    """

    words: Bytes
    sizes: Int64Array
    rep_index: Bytes
    rep_sizes: Int64Array
    items: pa.Array | None
    num_items: Int64Array


class PageDescriptions(NamedTuple):
    """The descriptions of pages of a column that are known so far. Immutable.

    ``locations`` has for each page the number of its block, -1 if it is not described, and the
    starts and stops of its words, repetition index and items in the block.
    """

    locations: Int64Array
    blocks: tuple[DescribedPages, ...]

    @classmethod
    def none(cls, num_pages: int) -> PageDescriptions:
        """No description of any page."""
        # A row for the block, and two for the starts and stops of each of three descriptions.
        return cls(np.full((7, num_pages), -1), ())

    def missing(self, pages: Int64Array) -> Int64Array:
        """Those of ``pages`` that are not described."""
        undescribed: Int64Array = pages[self.locations[0, pages] < 0]
        return undescribed

    def with_block(self, pages: Int64Array, block: DescribedPages) -> PageDescriptions:
        """These descriptions and those of ``pages``."""
        locations = self.locations.copy()
        locations[0, pages] = len(self.blocks)
        for row, sizes in ((1, block.sizes), (3, block.rep_sizes), (5, block.num_items)):
            stops = sizes.cumsum()
            locations[row, pages], locations[row + 1, pages] = stops - sizes, stops
        return PageDescriptions(locations, (*self.blocks, block))

    def of(self, pages: Int64Array, join: JoinSlices) -> DescribedPages:
        """The descriptions of ascending ``pages``, none of which is missing."""
        locations: Int64Array = self.locations[:, pages]
        used, owners = np.unique(locations[0], return_inverse=True)
        blocks: list[DescribedPages] = [self.blocks[number] for number in used.tolist()]
        if len(blocks) == 1 and len(blocks[0].sizes) == len(pages):
            return blocks[0]
        words = join(
            [pa.py_buffer(block.words) for block in blocks], owners, locations[1], locations[2]
        )
        index = join(
            [pa.py_buffer(block.rep_index) for block in blocks], owners, locations[3], locations[4]
        )
        sizes, rep_sizes, num_items = locations[2::2] - locations[1::2]
        items = None
        if blocks[0].items is not None:
            spans = zip(owners.tolist(), locations[5].tolist(), num_items.tolist(), strict=True)
            parts = [blocks[owner].items.slice(start, count) for owner, start, count in spans]
            items = concat_arrays(parts)
        return DescribedPages(words, sizes, index, rep_sizes, items, num_items)


class PageCache:
    """What is known of the pages of a column. Thread-safe.

    ``descriptions`` is replaced as a whole. Of two threads that do so at the same time, one may
    lose its additions, which are then read again.
    """

    __slots__ = ("_chunked", "descriptions")

    def __init__(self, num_pages: int) -> None:
        self.descriptions = PageDescriptions.none(num_pages)
        self._chunked: dict[bytes, ChunkedPages] = {}

    def chunked(self, pages: Int64Array) -> ChunkedPages | None:
        """What `keep` kept for ``pages``."""
        return self._chunked.get(pages.tobytes())

    def keep(self, pages: Int64Array, chunked: ChunkedPages) -> None:
        """Keep the chunks of ``pages``, and those of the last sets of pages."""
        recent = list(self._chunked.items())[1 - MAX_KEPT :]
        self._chunked = {**dict(recent), pages.tobytes(): chunked}
