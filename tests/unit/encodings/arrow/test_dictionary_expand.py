"""Strings by index: the same as taking them one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.arrow import dictionary_expand as module
from lance_core.encodings.arrow.dictionary_expand import Lookup
from lance_core.errors import CorruptFileError
from tests.each_case import each_case


@each_case("type_", [pa.string(), pa.large_string(), pa.binary()])
@each_case("count", [0, 1, 2, 3, 25, 99, 255])
@each_case("rows", [1, 5, 999, 70_001])
def test_items_are_taken(type_: pa.DataType, count: int, rows: int) -> None:
    texts = ["x" * (i % 7) + str(i) for i in range(count)]
    lookup = Lookup.of([pa.array(texts).cast(type_)], type_)
    indices = np.random.default_rng(rows).integers(0, count + 1, rows).astype(np.uint8)
    got = lookup.take(indices)
    got.validate(full=True)
    assert got.type == type_
    assert got.equals(lookup.items.take(pa.array(indices)))


def test_without_index_0_there_are_no_nulls() -> None:
    lookup = Lookup.of([pa.array(["a", "b"])], pa.string())
    taken = lookup.take(np.ones(70_000, np.uint8))
    assert taken.null_count == 0
    assert taken.buffers()[0] is None


def test_neighbours_are_taken_together_only_where_it_pays() -> None:
    few = Lookup.of([pa.array(["a", "bb", "ccc"])], pa.string())
    assert few.sequence_length(100_000) > 2
    assert few.sequence_length(10) == 1
    long = Lookup.of([pa.array(["x" * 1000, "y"])], pa.string())
    assert long.sequence_length(100_000) == 1
    none = Lookup.of([], pa.string())
    assert none.take(np.zeros(100_000, np.uint8)).null_count == 100_000


def test_more_bytes_than_a_page_can_hold_are_corruption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OFFSET", 1002)
    lookup = Lookup.of([pa.array(["x" * 500, "y"])], pa.string())
    assert len(lookup.take(np.array([1, 1, 2, 2, 0], np.uint8))) == 5
    with pytest.raises(CorruptFileError, match="expand to 1500 bytes"):
        lookup.take(np.array([1, 1, 1], np.uint8))
