"""Lists and nulls by their levels."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.encodings.kernels.numpy.levels import (
    Slots,
    check_levels,
    layer_offsets,
    layer_slots,
    rank_levels,
)
from lance_core.errors import CorruptFileError
from tests.each_case import each_case

# Lists of nullable items: [0, None, 0], [], [0, 0].
REPETITION = np.array([1, 0, 0, 1, 1, 0], np.uint16)
DEFINITION = np.array([0, 1, 0, 2, 0, 0], np.uint16)
LEAST = np.array([0, 0, 1], np.uint16)
LISTS, ITEMS = Slots(1, 2), Slots(0, 1)


def test_an_empty_list_has_no_items() -> None:
    assert layer_offsets(REPETITION, DEFINITION, LISTS, 1, 3).tolist() == [0, 3, 3, 5]


def test_without_definitions_every_level_is_an_item() -> None:
    assert layer_offsets(REPETITION, None, LISTS, 1, 3).tolist() == [0, 3, 4, 6]


def test_no_levels_are_no_lists() -> None:
    assert layer_offsets(REPETITION[:0], DEFINITION[:0], LISTS, 1, 0).tolist() == [0]


@each_case("lists", [-1, 0, 2, 4, 7, 1 << 62])
def test_another_number_of_lists_is_corruption(lists: int) -> None:
    with pytest.raises(CorruptFileError):
        layer_offsets(REPETITION, DEFINITION, LISTS, 1, lists)


def test_nulls_of_items_are_those_of_lists_that_have_items() -> None:
    count, nulls, bitmap = layer_slots(REPETITION, DEFINITION, ITEMS, 0, 0)
    assert bitmap is not None
    assert (count, nulls, bitmap.to_pybytes()) == (5, 1, bytes([0b11101]))


def test_an_empty_list_is_no_null() -> None:
    assert layer_slots(REPETITION, DEFINITION, LISTS, 1, 2) == (3, 0, None)


def test_levels_of_rows_are_accepted() -> None:
    check_levels(REPETITION, DEFINITION, 1, LEAST)
    check_levels(None, DEFINITION, 0, LEAST)


@each_case(
    ("repetition", "definition"),
    [
        ([0, 0], [0, 0]),
        ([1, 2], [0, 0]),
        ([1, 0], [0, 2]),
        ([1, 0], [0, 3]),
        ([1, 0], [0]),
    ],
    ids=["no first row", "repetition too high", "item of an empty list", "too high", "too few"],
)
def test_other_levels_are_corruption(repetition: list[int], definition: list[int]) -> None:
    levels = np.array(repetition, np.uint16), np.array(definition, np.uint16)
    with pytest.raises(CorruptFileError):
        check_levels(*levels, 1, LEAST)


def test_levels_are_counted_between_edges() -> None:
    assert rank_levels(DEFINITION, 1, np.array([0, 3, 3, 6])).tolist() == [3, 0, 2]


@each_case("edges", [[], [-1, 2], [0, 7], [3, 2]])
def test_edges_that_cannot_be_are_corruption(edges: list[int]) -> None:
    with pytest.raises(CorruptFileError):
        rank_levels(DEFINITION, 1, np.array(edges, np.int64))


def test_levels_of_different_numbers_are_corruption() -> None:
    with pytest.raises(CorruptFileError):
        layer_offsets(REPETITION, DEFINITION[:2], LISTS, 1, 3)
    with pytest.raises(CorruptFileError):
        layer_slots(REPETITION, DEFINITION[:2], LISTS, 1, 1)
