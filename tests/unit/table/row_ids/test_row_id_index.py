from __future__ import annotations

from collections import defaultdict
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.errors import CorruptFileError
from lance_core.table.row_ids import row_id_index
from lance_core.table.row_ids.row_id_index import LayeredIndex, RowIdIndex, disjoint_layers
from lance_core.table.row_ids.row_ids import RowIdSequence


def sequence(ids: list[int]) -> RowIdSequence:
    return RowIdSequence.from_ids(np.array(ids, np.uint64))


def found(index: RowIdIndex, ids: list[int]) -> list[int]:
    return index.find(np.array(ids, np.uint64)).tolist()


def place(position: int, offset: int) -> int:
    return (position << 32) + offset


def test_ids_are_found_in_their_fragments() -> None:
    index = RowIdIndex.of({0: sequence([0, 1, 2]), 1: sequence([7, 3, 1 << 40])})
    assert found(index, [2, 0, 3, 1 << 40, 7]) == [
        place(0, 2), place(0, 0), place(1, 1), place(1, 2), place(1, 0)
    ]  # fmt: skip
    assert found(index, [4, 8, 1 << 50, (1 << 40) + 1]) == [-1] * 4
    assert found(index, []) == []


def test_an_empty_table_has_no_ids() -> None:
    assert found(RowIdIndex.of({}), [0, 5]) == [-1, -1]
    assert found(RowIdIndex.of({0: sequence([])}), [0]) == [-1]
    assert LayeredIndex.of([]).candidates(np.array([0], np.uint64)).shape == (0, 1)


def test_two_rows_with_one_id_are_corrupt() -> None:
    shared = {0: sequence([0, 1, 2, 3]), 1: sequence([3, 9])}
    with pytest.raises(CorruptFileError, match="two rows have the row id 3"):
        RowIdIndex.of(shared)
    index = RowIdIndex.of(shared, {0: np.array([1, 3])})
    assert found(index, [0, 1, 2, 3]) == [place(0, 0), -1, place(0, 2), place(1, 0)]
    with pytest.raises(CorruptFileError, match="two rows have the row id 4"):
        LayeredIndex.of([sequence([4, 4])])


def test_a_huge_range_is_not_expanded() -> None:
    huge = RowIdSequence.from_range(5, 1 << 31)
    index = RowIdIndex.of({0: huge}, {0: np.array([7])})
    assert index.nbytes == 48
    assert found(index, [11, 12, 13, 1 << 30]) == [place(0, 6), -1, place(0, 8), (1 << 30) - 5]


TABLES = st.lists(st.lists(st.integers(0, 40), unique=True, max_size=12), max_size=6)


@given(TABLES, st.booleans(), st.sampled_from([0, 1, 16]))
def test_layers_have_all_places_of_an_id(fragments: list[list[int]], sort: bool, most: int) -> None:
    fragments = [sorted(ids) if sort else ids for ids in fragments]
    places: dict[int, set[int]] = defaultdict(set)
    for position, ids in enumerate(fragments):
        for offset, id_ in enumerate(ids):
            places[id_].add(place(position, offset))
    with mock.patch.object(row_id_index, "MAX_LAYERS", most):
        index = LayeredIndex.of([sequence(ids) for ids in fragments])
    candidates = index.candidates(np.arange(45, dtype=np.uint64))
    assert [set(column.tolist()) - {-1} for column in candidates.T] == [
        places[id_] for id_ in range(45)
    ]


def test_many_updates_of_scattered_rows_need_few_layers() -> None:
    scattered = [sequence([number, 1000 - number]) for number in range(100)]
    index = LayeredIndex.of([RowIdSequence.from_range(0, 1001), *scattered])
    assert len(index.layers) < 20
    found = index.candidates(np.array([40, 960], np.uint64)).max(axis=0)
    assert found.tolist() == [place(41, 0), place(41, 1)]


def test_many_layers_are_merged_range_by_range() -> None:
    parts = [sequence([0, 100]), sequence([1, 99]), sequence([2, 98]), sequence([3, 97])]
    with mock.patch.object(row_id_index, "MAX_LAYERS", 0):
        index = LayeredIndex.of(parts)
    assert len(index.layers) == 1
    assert found(index.layers[0], [100, 2, 98, 3, 50]) == [
        *(place(0, 1), place(2, 0), place(2, 1), place(3, 0), -1)
    ]


@given(st.permutations(range(40)), st.sets(st.integers(0, 39)), st.booleans())
def test_rows_can_be_left_out(ids: list[int], excluded: set[int], sort: bool) -> None:
    ids = sorted(ids) if sort else ids
    parts = {3: ids[:25], 5: ids[25:]}
    model = {
        id_: place(position, offset)
        for position, part in parts.items()
        for offset, id_ in enumerate(part)
        if id_ not in excluded
    }
    index = RowIdIndex.of(
        {position: sequence(part) for position, part in parts.items()},
        {
            position: np.array([n for n, id_ in enumerate(part) if id_ in excluded], np.int64)
            for position, part in parts.items()
        },
    )
    assert found(index, list(range(45))) == [model.get(id_, -1) for id_ in range(45)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=10))
def test_spans_of_a_layer_do_not_overlap(given: list[tuple[int, int]]) -> None:
    spans = [(first, first + length) for first, length in given]
    layers = disjoint_layers(spans)
    assert sorted(number for layer in layers for number in layer) == list(range(len(spans)))
    for layer in layers:
        values = [value for number in layer for value in range(*spans[number])]
        assert len(values) == len(set(values))
    depth = max((sum(a <= x < b for a, b in spans) for x in range(40)), default=0)
    assert len(layers) == depth
