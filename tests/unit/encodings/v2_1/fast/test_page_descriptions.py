"""Descriptions of pages are found again, however they were put together."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.v2_1.fast.page_descriptions import (
    MAX_KEPT,
    DescribedPages,
    PageCache,
    PageDescriptions,
)
from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkedPages
from tests.each_case import each_case


def block(pages: list[int], has_items: bool = True) -> DescribedPages:
    """Page p has p + 1 bytes of words, p bytes of index and p + 2 items, each with its number."""
    numbers = np.array(pages, np.int64)
    octets = numbers.astype(np.uint8)
    items = pa.array([f"{page}" for page in pages for _ in range(page + 2)])
    num_items = numbers + 2 if has_items else 0 * numbers
    return DescribedPages(
        octets.repeat(numbers + 1),
        numbers + 1,
        octets.repeat(numbers),
        numbers,
        items if has_items else None,
        num_items,
    )


def plain(described: DescribedPages) -> list[object]:
    return [one if one is None else one.tolist() for one in described]


def known(has_items: bool) -> PageDescriptions:
    found = PageDescriptions.none(8)
    for pages in ([2, 3, 5], [0], [4, 6]):
        found = found.with_block(np.array(pages), block(pages, has_items))
    return found


@each_case("pages", [[2, 3, 5], [3, 5], [0], [0, 2, 4], [0, 2, 3, 4, 5, 6]])
@each_case("has_items", [False, True])
def test_pages_of_several_blocks_are_described_in_their_order(
    has_items: bool, pages: list[int]
) -> None:
    found = known(has_items).of(np.array(pages), NUMPY.join_slices)
    assert plain(found) == plain(block(pages, has_items))


def test_pages_that_no_block_has_are_missing() -> None:
    pages: Int64Array = np.arange(8)
    assert known(True).missing(pages).tolist() == [1, 7]
    assert PageDescriptions.none(8).missing(pages[3:5]).tolist() == [3, 4]


def test_the_last_sets_of_pages_are_kept() -> None:
    cache = PageCache(8)
    sets = [np.array([number, number + 1]) for number in range(MAX_KEPT + 1)]
    values = [cast("ChunkedPages", f"chunks of {number}") for number in range(len(sets))]
    for pages, value in zip(sets, values, strict=True):
        cache.keep(pages, value)
    assert [cache.chunked(pages) for pages in sets] == [None, *values[1:]]
