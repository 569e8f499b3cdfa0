from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.errors import CorruptFileError
from lance_core.table.row_ids.row_id_index import RowIdIndex, overlapping
from lance_core.table.row_ids.row_ids import RowIdSequence


def sequence(ids: list[int]) -> RowIdSequence:
    return RowIdSequence.from_ids(np.array(ids, np.uint64))


def found(index: RowIdIndex, ids: list[int]) -> list[int]:
    return index.find(np.array(ids, np.uint64)).tolist()


def place(position: int, offset: int) -> int:
    return (position << 32) + offset


def test_ids_are_found_in_their_fragments() -> None:
    index = RowIdIndex.of([(sequence([0, 1, 2]), None), (sequence([7, 3, 1 << 40]), None)])
    assert found(index, [2, 0, 3, 1 << 40, 7]) == [
        place(0, 2), place(0, 0), place(1, 1), place(1, 2), place(1, 0)
    ]  # fmt: skip
    assert found(index, [4, 8, 1 << 50, (1 << 40) + 1]) == [-1] * 4
    assert found(index, []) == []


def test_an_empty_table_has_no_ids() -> None:
    assert found(RowIdIndex.of([]), [0, 5]) == [-1, -1]
    assert found(RowIdIndex.of([(sequence([]), None)]), [0]) == [-1]


def test_a_moved_row_is_found_in_its_new_fragment() -> None:
    old, new = sequence([0, 1, 2, 3]), sequence([1, 3])
    index = RowIdIndex.of([(old, np.array([1, 3])), (new, None)])
    assert found(index, [0, 1, 2, 3]) == [place(0, 0), place(1, 0), place(0, 2), place(1, 1)]


def test_two_rows_with_one_id_are_corrupt() -> None:
    with pytest.raises(CorruptFileError, match="two rows have the row id 3"):
        RowIdIndex.of([(sequence([0, 1, 2, 3]), None), (sequence([3, 9]), None)])


def test_a_huge_range_is_not_expanded() -> None:
    huge = RowIdSequence.from_range(5, 1 << 31)
    index = RowIdIndex.of([(huge, np.array([7]))])
    assert index.nbytes == 48
    assert found(index, [11, 12, 13, 1 << 30]) == [place(0, 6), -1, place(0, 8), (1 << 30) - 5]


TABLES = st.permutations(range(40)).flatmap(
    lambda ids: st.lists(st.integers(0, 40), max_size=4).map(
        lambda cuts: [list(ids[a:b]) for a, b in itertools.pairwise([0, *sorted(cuts), len(ids)])]
    )
)


@given(TABLES, st.sets(st.integers(0, 39)), st.booleans())
def test_an_index_equals_a_dict_of_the_rows(
    fragments: list[list[int]], deleted: set[int], sort: bool
) -> None:
    fragments = [sorted(ids) if sort else ids for ids in fragments]
    model = {
        id_: place(position, offset)
        for position, ids in enumerate(fragments)
        for offset, id_ in enumerate(ids)
        if id_ not in deleted
    }
    parts = [
        (sequence(ids), np.array([n for n, id_ in enumerate(ids) if id_ in deleted], np.int64))
        for ids in fragments
    ]
    index = RowIdIndex.of(parts)
    assert found(index, list(range(45))) == [model.get(id_, -1) for id_ in range(45)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=8))
def test_spans_overlap_as_sets_of_ids_do(given: list[tuple[int, int]]) -> None:
    spans = [(first, first + length) for first, length in given]
    sets = [set(range(*span)) for span in spans]
    assert overlapping(spans) == [
        any(sets[i] & sets[j] for j in range(len(sets)) if i != j) for i in range(len(sets))
    ]
