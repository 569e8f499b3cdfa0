"""Lists over items that come in several arrays: nothing is lost where these meet."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.arrow import lists as module
from lance_core.encodings.arrow.lists import Lists, list_arrays
from lance_core.errors import UnsupportedFeatureError
from tests.each_case import each_case

LIST = pa.list_(pa.int64())


def lists_of(lengths: list[int], begin: int = 0, valid: list[bool] | None = None) -> Lists:
    ends = begin + np.cumsum(lengths)
    return Lists(begin, ends.astype(np.int64), None if valid is None else np.array(valid))


def items_of(lengths: list[int], begin: int = 0) -> tuple[list[pa.Array], list[int]]:
    edges = list(accumulate(lengths, initial=begin))
    return [pa.array(range(a, b)) for a, b in pairwise(edges)], edges


def expected(lists: Lists) -> list[list[int] | None]:
    starts = [lists.begin, *lists.ends[:-1].tolist()]
    valid = [True] * len(starts) if lists.valid is None else lists.valid.tolist()
    return [
        list(range(a, b)) if ok else None
        for a, b, ok in zip(starts, lists.ends.tolist(), valid, strict=True)
    ]


@each_case("type_", [LIST, pa.large_list(pa.int64())])
@each_case("pieces", [[20], [10, 10], [1, 2, 3, 4, 5, 5], [1] * 20, [19, 1]])
@each_case(
    "lengths", [[20], [0, 0, 20, 0], [1] * 20, [3, 0, 7, 0, 0, 4, 6], [5, 5, 5, 5, 0], [9, 11]]
)
def test_lists_are_whole(type_: pa.DataType, pieces: list[int], lengths: list[int]) -> None:
    for begin in (0, 7):
        valid = [number % 3 != 1 for number in range(len(lengths))]
        for lists in (lists_of(lengths, begin), lists_of(lengths, begin, valid)):
            arrays = list_arrays(type_, lists, *items_of(pieces, begin))
            for array in arrays:
                array.validate(full=True)
            joined = pa.concat_arrays(arrays)
            assert joined.type == type_
            assert joined.to_pylist() == expected(lists)


def test_lists_within_one_array_of_items_share_them() -> None:
    items, edges = items_of([10, 10])
    first, second = list_arrays(LIST, lists_of([4, 6, 5, 5]), items, edges)
    assert first.values.buffers()[1].address == items[0].buffers()[1].address
    assert second.values.buffers()[1].address == items[1].buffers()[1].address


def test_lists_without_items_need_none() -> None:
    (array,) = list_arrays(LIST, lists_of([0, 0], 5, [True, False]), [], [5])
    assert array.to_pylist() == [[], None]


def test_more_items_than_offsets_reach_become_several_arrays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_OFFSET", 6)
    lists = lists_of([4, 2, 3, 3, 6])
    arrays = list_arrays(LIST, lists, *items_of([18]))
    assert [len(array) for array in arrays] == [2, 2, 1]
    assert pa.concat_arrays(arrays).to_pylist() == expected(lists)
    with pytest.raises(UnsupportedFeatureError, match="a list of 2\\^31 items"):
        list_arrays(LIST, lists_of([7]), *items_of([7]))
