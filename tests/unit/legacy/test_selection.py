"""Rows of a file are found in its batches, and neighbours are asked for together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core_legacy.selection import BatchSelection, merged, select
from tests.each_case import each_case

EDGES = np.array([0, 3, 3, 10, 14])


def listed(selection: BatchSelection) -> list[tuple[int, int, int]]:
    return list(zip(*(part.tolist() for part in selection), strict=True))


@each_case(
    ("start", "stop", "expected"),
    [
        (0, 14, [(0, 0, 3), (2, 0, 7), (3, 0, 4)]),
        (2, 4, [(0, 2, 3), (2, 0, 1)]),
        (3, 10, [(2, 0, 7)]),
        (13, 14, [(3, 3, 4)]),
    ],
)
def test_a_range_is_split_at_batches(
    start: int, stop: int, expected: list[tuple[int, int, int]]
) -> None:
    assert listed(select(RowRange(start, stop), EDGES)) == expected


@given(st.sets(st.integers(0, 13), min_size=1))
def test_single_rows_become_ranges_that_do_not_touch(rows: set[int]) -> None:
    selection = select(RowIndices(np.array(sorted(rows))), EDGES)
    found = [EDGES[batch] + row for batch, a, b in listed(selection) for row in range(a, b)]
    assert found == sorted(rows)
    assert selection.num_rows == len(rows)
    for one, other in zip(listed(selection), listed(selection)[1:], strict=False):
        assert one[0] < other[0] or one[2] < other[1]


def test_empty_ranges_are_left_out() -> None:
    none = np.array([], np.int64)
    assert listed(merged(np.array([0, 1]), np.array([2, 5]), np.array([2, 5]))) == []
    assert listed(merged(none, none, none)) == []
    batches = np.array([0, 0, 0, 1])
    starts, stops = np.array([0, 2, 2, 4]), np.array([2, 2, 5, 6])
    assert listed(merged(batches, starts, stops)) == [(0, 0, 5), (1, 4, 6)]
