"""Which neighbouring pages become one page."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from lance_core.byte_ranges import ByteRange
from lance_core_compaction.page_copy.merge_groups import (
    MAX_NULLABLE_ROWS,
    MAX_NUMBER_BYTES,
    MAX_PAGE_BYTES,
    MIN_READ_BYTES,
    _is_small,
    _may_merge,
    _parts,
    _ranges,
    _runs,
)
from lance_core_compaction.page_copy.mergeable_pages import AnyForm, CodeForm, NumberForm, PageForm
from lance_core_compaction.page_copy.number_pages import NumberCodec
from tests.each_case import each_case


@each_case(
    "bits, levels, num_rows, expected",
    [
        (8, b"", MAX_NUMBER_BYTES, True),
        (8, b"", MAX_NUMBER_BYTES + 1, False),
        (64, b"", MAX_NUMBER_BYTES // 8, True),
        (8, b"nulls", MAX_NULLABLE_ROWS, True),
        (8, b"nulls", MAX_NULLABLE_ROWS + 1, False),
        (8, b"", MAX_NULLABLE_ROWS + 1, True),
    ],
)
def test_pages_of_many_numbers_stay(
    bits: int, levels: bytes, num_rows: int, expected: bool
) -> None:
    assert _is_small(NumberForm(b"", NumberCodec("flat", bits), levels), num_rows) == expected
    assert _is_small(CodeForm(b"", b""), num_rows)


@each_case(
    "sizes, most, expected",
    [
        ([3, 3, 3, 3, 3], 9, [(0, 3), (3, 5)]),
        ([3, 3, 3, 3], 9, [(0, 3)]),
        ([3, 3, 3, 3], 8, [(0, 2), (2, 4)]),
        ([9, 3, 3, 9, 3], 8, [(1, 3)]),
        ([9, 9], 8, []),
        ([1], 8, []),
    ],
)
def test_merged_pages_have_up_to_so_many_bytes(
    sizes: list[int], most: int, expected: list[tuple[int, int]]
) -> None:
    assert list(_parts(np.array(sizes), most)) == expected


def test_only_neighbours_of_one_form_and_column_merge() -> None:
    places = np.array([0, 1, 2, 4, 5, 6, 7, 8, 9])
    keys = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0])
    assert list(_runs(places, keys, [0, 7])) == [(0, 3), (4, 6), (6, 8)]


LARGE = MIN_READ_BYTES // 8


@each_case(
    "form, rows, is_copied",
    [
        (PageForm(b"", (64,), 0), [LARGE, LARGE + 5], True),
        (PageForm(b"", (64,), 0), [LARGE, LARGE - 1], False),
        (PageForm(b"", (64, 64), 0), [LARGE, LARGE], False),
        (PageForm(b"", (64,), 7), [LARGE, LARGE], False),
        (PageForm(b"", (1,), 0), [64 * LARGE, 64 * LARGE + 3], True),
        (PageForm(b"", (1,), 0), [64 * LARGE + 3, 64 * LARGE], False),
        (CodeForm(b"", b""), [LARGE, LARGE], False),
    ],
)
def test_only_large_single_buffers_of_whole_bytes_are_copied_by_the_store(
    form: AnyForm, rows: list[int], is_copied: bool
) -> None:
    table: Any = SimpleNamespace(
        rows=np.array(rows), first_buffer=np.array([0, 1]), offsets=np.array([10, 5000])
    )
    found = _ranges(table, np.array([0, 1]), [form, form])
    assert (found is not None) == is_copied
    if found is not None:
        assert isinstance(form, PageForm)
        sizes = [(count * (form.bits[0] or 0) + 7) // 8 for count in rows]
        expected = [ByteRange(10, 10 + sizes[0]), ByteRange(5000, 5000 + sizes[1])]
        assert list(found) == expected


def test_pages_up_to_a_maximum_merge_and_only_large_ones_of_files_that_must_be_read() -> None:
    sizes = [10, MIN_READ_BYTES - 1, MIN_READ_BYTES, MAX_PAGE_BYTES, MAX_PAGE_BYTES + 1, 10]
    zeros, counts = np.zeros(6, np.int64), np.ones(6, np.int64)
    table: Any = SimpleNamespace(
        sizes_of=lambda pages: np.array(sizes)[pages],
        rows=np.array([5, 5, 5, 5, 5, 0]),
        middle_stops=zeros + 20,
        encoding_starts=zeros,
        num_buffers_of=lambda pages: counts[pages],
    )
    pages = np.arange(6)
    assert np.flatnonzero(_may_merge(table, pages, must_copy=False)).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(_may_merge(table, pages, must_copy=True)).tolist() == [2, 3]
