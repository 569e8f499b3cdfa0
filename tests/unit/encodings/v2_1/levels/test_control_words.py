"""Levels zipped with values: rows are found again, and damage is."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_NULL_AND_EMPTY_LIST,
    REPDEF_NULLABLE_ITEM,
)
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.v2_1.levels.control_words import ControlWords
from lance_core.encodings.v2_1.levels.repdef import layer_kinds
from lance_core.errors import CorruptFileError
from tests.each_case import each_case

LISTS = layer_kinds((REPDEF_NULLABLE_ITEM, REPDEF_NULL_AND_EMPTY_LIST))
# Rows [1, None], None, [], [3] as u16 behind control words of 1 + 2 bits.
FIXED = bytes([4, 1, 0, 1, 0, 0, 6, 7, 4, 3, 0])
EDGES = np.array([0, 6, 7, 8, 11])


def octets(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


@pytest.mark.parametrize("repeats", [1, 5], ids=["few rows", "many rows"])
def test_values_of_one_width_are_found_in_lists(repeats: int) -> None:
    words = ControlWords(LISTS, 1, 2, 2, 0)
    starts = np.concatenate([EDGES[:-1] + 11 * n for n in range(repeats)])
    stops = np.concatenate([EDGES[1:] + 11 * n for n in range(repeats)])
    found = words.parse(octets(FIXED * repeats), starts, stops, NUMPY)
    assert found.levels.rep is not None
    assert found.levels.definition is not None
    assert found.levels.rep.tolist() == [1, 0, 1, 1, 1] * repeats
    assert found.levels.definition.tolist() == [0, 1, 2, 3, 0] * repeats
    assert found.starts.tolist()[:3] == [1, 4, 9]
    assert len(found.starts) == 3 * repeats


@pytest.mark.parametrize("repeats", [1, 9], ids=["few rows", "many rows"])
def test_lengths_stand_before_values_that_are_there(repeats: int) -> None:
    words = ControlWords(LISTS, 1, 2, 0, 4)
    row = bytes([4, 2, 0, 0, 0]) + b"ab" + bytes([1]) + bytes([0, 0, 0, 0, 0])
    edges = np.arange(repeats + 1) * len(row)
    found = words.parse(octets(row * repeats), edges[:-1], edges[1:], NUMPY)
    assert (found.stops - found.starts).tolist() == [2, 0, 0] * repeats
    assert found.starts[0] == 5


@each_case(
    ("data", "edges"),
    [
        (FIXED, [0, 5, 7, 8, 11]),
        (FIXED, [0, 6, 6, 8, 11]),
        (FIXED, [0, 6, 7, 11]),
        (b"\0" + FIXED[1:], [0, 6, 7, 8, 11]),
        (FIXED[:10], [0, 6, 7, 8, 10]),
    ],
    ids=["row too short", "empty row", "two rows in one", "no start of a row", "cut"],
)
def test_rows_that_do_not_end_with_their_values_are_damage(data: bytes, edges: list[int]) -> None:
    places = np.array(edges)
    with pytest.raises(CorruptFileError):
        ControlWords(LISTS, 1, 2, 2, 0).parse(octets(data), places[:-1], places[1:], NUMPY)


def test_a_length_past_the_data_is_damage() -> None:
    kinds = layer_kinds((REPDEF_ALL_VALID_ITEM,))
    data = octets(b"\xff\xff\xff\xff" + b"x" * 4)
    with pytest.raises(CorruptFileError):
        ControlWords(kinds, 0, 0, 0, 4).parse(data, np.array([0]), np.array([8]), NUMPY)


def test_lists_without_repetition_levels_are_damage() -> None:
    with pytest.raises(CorruptFileError):
        ControlWords(LISTS, 0, 2, 2, 0)
