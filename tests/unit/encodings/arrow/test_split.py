"""The parts of an array have buffers of their own size."""

from __future__ import annotations

import decimal
import pickle

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.arrow.split import can_split, split_array
from tests.each_case import each_case

COUNT = 12
VALUES = {
    "numbers": pa.array(np.arange(COUNT, dtype=np.int16)),
    "decimals": pa.array([decimal.Decimal(n) for n in range(COUNT)], pa.decimal128(7, 2)),
    "booleans": pa.array([n % 3 == 0 for n in range(COUNT)]),
    "strings": pa.array(["x" * n for n in range(COUNT)]),
    "bytes": pa.array([b"y" * n for n in range(COUNT)], pa.large_binary()),
    "empty": pa.array([""] * COUNT),
    "lists": pa.array([[n, None] * (n % 4) for n in range(COUNT)]),
    "no items": pa.array([[]] * COUNT, pa.list_(pa.int8())),
    "lists of texts": pa.array(
        [["x" * n] * (n % 3) for n in range(COUNT)], pa.large_list(pa.utf8())
    ),
    "lists of flags": pa.array([[True, False] * n for n in range(COUNT)]),
    "lists of lists": pa.array([[[n], None, []] * (n % 3) for n in range(COUNT)]),
    "maps": pa.array([[("k", n)] * (n % 3) for n in range(COUNT)], pa.map_(pa.utf8(), pa.int16())),
    "structs": pa.array([{"a": n, "b": ["x" * n]} for n in range(COUNT)]),
    "vectors": pa.array([[n, None, 1] for n in range(COUNT)], pa.list_(pa.float32(), 3)),
    "pairs": pa.array([[{"a": n % 2 == 0}] * 2 for n in range(COUNT)]).cast(
        pa.list_(pa.struct({"a": pa.bool_()}), 2)
    ),
}


@each_case("name", VALUES)
@pytest.mark.parametrize("has_nulls", [False, True])
def test_parts_are_the_values_in_their_order(name: str, has_nulls: bool) -> None:
    values = VALUES[name]
    if has_nulls:
        values = pa.concat_arrays([values, pa.nulls(3, values.type), values, values[:9]])
    array = pa.concat_arrays([values] * 4)
    assert can_split(array.type)
    for offset in (0, 5, 8):
        for length in (1, 3, 8):
            some = array.slice(offset, (len(array) - offset) // length * length)
            parts = split_array(some, length)
            for part in parts:
                part.validate(full=True)
            assert {len(part) for part in parts} == {length}
            assert pa.concat_arrays(parts).equals(some)


@each_case("name", VALUES)
def test_a_part_is_pickled_without_the_others(name: str) -> None:
    array = pa.concat_arrays([VALUES[name]] * 1000)
    sizes = [len(pickle.dumps(part)) for part in split_array(array, COUNT)]
    assert max(sizes) < 1300
