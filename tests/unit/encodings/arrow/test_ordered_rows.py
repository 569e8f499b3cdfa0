"""Rows in any order, from decoders of ascending ones."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.encodings.arrow.ordered_rows import reorder
from lance_core.encodings.decoding import Decoding
from lance_core.errors import CorruptFileError
from tests.each_case import each_case
from tests.sequences import sequence

ROWS = sequence([5, 9, 1, 9])


def decoder(arrays: list[pa.Array]) -> Decoding[list[pa.Array]]:
    yield from ()
    return arrays


def ordered(arrays: list[pa.Array]) -> list[pa.Array]:
    with pytest.raises(StopIteration) as done:
        next(reorder(decoder(arrays), ROWS))
    result: list[pa.Array] = done.value.value
    return result


def test_a_sequence_has_its_rows_as_often_as_asked_for() -> None:
    assert len(ROWS) == 4
    assert ROWS.numbers.tolist() == [5, 9, 1, 9]
    assert ROWS.moved(3).numbers.tolist() == [8, 12, 4, 12]
    assert ROWS.moved(0) is ROWS


@each_case("arrays", [[["a", "b", "c"]], [["a"], ["b", "c"]], [["a"], [], ["b", "c"]]], ids=str)
def test_distinct_rows_are_brought_in_order(arrays: list[list[str]]) -> None:
    found = ordered([pa.array(values, pa.string()) for values in arrays])
    assert pa.chunked_array(found).to_pylist() == ["b", "c", "a", "c"]


@each_case("arrays", [[], [[1, 2]], [[1], [2]], [[1, 2, 3, 4]], [[1, 2], [3, 4]]])
def test_more_or_fewer_rows_are_refused(arrays: list[list[int]]) -> None:
    with pytest.raises(CorruptFileError, match="instead of 3"):
        ordered([pa.array(values, pa.int64()) for values in arrays])
