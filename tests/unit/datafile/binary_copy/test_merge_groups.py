"""Which neighbouring pages become one page."""

from __future__ import annotations

import numpy as np

from lance_core.datafile.binary_copy.merge_groups import (
    MAX_NULLABLE_ROWS,
    MAX_NUMBER_BYTES,
    _is_small,
    _parts,
    _runs,
)
from lance_core.encodings.mergeable_pages import CodeForm, NumberForm
from lance_core.encodings.v2_1.pages.mini_block.number_pages import NumberCodec
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
