"""Items of lists by their levels."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.encodings.levels import level_items
from lance_core.errors import CorruptFileError

REPETITION = np.array([1, 0, 0, 1, 1, 0], np.uint16)
DEFINITION = np.array([0, 1, 0, 2, 0, 0], np.uint16)
STARTS = np.array([0, 3, 4])


def test_an_empty_list_has_no_items() -> None:
    items, offsets = level_items(REPETITION, DEFINITION, STARTS, 0, 1)
    assert items.tolist() == [0, 1, 2, 4, 5]
    assert offsets.tolist() == [0, 3, 3, 5]


def test_items_that_are_lists_start_where_the_repetition_says() -> None:
    items, offsets = level_items(REPETITION, None, np.array([0, 4]), 1, 0)
    assert items.tolist() == [0, 3, 4]
    assert offsets.tolist() == [0, 2, 3]


def test_no_levels_are_no_lists() -> None:
    items, offsets = level_items(REPETITION[:0], None, STARTS[:0], 0, 0)
    assert items.tolist() == []
    assert offsets.tolist() == [0]


@pytest.mark.parametrize("starts", [[-1], [6], [0, 0], [3, 2]])
def test_starts_that_cannot_be_are_corruption(starts: list[int]) -> None:
    with pytest.raises(CorruptFileError):
        level_items(REPETITION, None, np.array(starts), 0, 0)


def test_levels_of_different_numbers_are_corruption() -> None:
    with pytest.raises(CorruptFileError):
        level_items(REPETITION, DEFINITION[1:], STARTS, 0, 0)
