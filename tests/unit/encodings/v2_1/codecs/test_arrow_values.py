"""The values of an array make the same array again."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from lance_core.encodings.v2_1.codecs.arrow_values import validity_of, values_of
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from tests.each_case import each_case

VECTORS = pa.array([[1.5, None], None, [3.0, 4.0]] * 9, pa.list_(pa.float32(), 2))
ARRAYS = [
    pa.array([1, None, 3] * 9, pa.int16()),
    pa.array([True, None, False, True] * 9),
    pa.array([Decimal(7), None, Decimal(-1)] * 9, pa.decimal128(20, 2)),
    pa.array([b"abc", None, b"def"] * 9, pa.binary(3)),
    pa.array([b"", b""] * 9, pa.binary(0)),
    pa.array(["a", None, "", "ä"] * 9),
    pa.array(["a", None, "", "ä"] * 9, pa.large_string()),
    pa.array([], pa.string()),
    pa.array([None] * 12, pa.timestamp("us")),
    VECTORS,
    pa.array([[[True], [None]], None] * 9, pa.list_(pa.list_(pa.bool_(), 1), 2)),
    pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": ""}] * 9),
    pa.array([{"a": 1, "b": "x"}, None, {"a": 2, "b": ""}] * 9),
]


@each_case("array", ARRAYS, ids=lambda array: str(array.type))
@each_case("start", [0, 1, 5])
def test_values_make_the_same_array_again(array: pa.Array, start: int) -> None:
    part = array.slice(start, max(0, len(array) - start - 2))
    values = values_of(part)
    assert values.count == len(part)
    again = values.to_arrow(part.type, validity_of(part))
    again.validate(full=True)
    assert again.equals(part)


@each_case(
    "array",
    [
        pa.array([[1], [2, 3]]),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array([{"a": None}, {"a": 1}]),
        pa.array([["a"]], pa.list_(pa.string(), 1)),
        pa.nulls(3),
    ],
    ids=lambda array: str(array.type),
)
def test_what_has_no_values_of_its_own_is_refused(array: pa.Array) -> None:
    with pytest.raises(UnsupportedFeatureError):
        values_of(array)


def test_values_are_no_array_of_another_type() -> None:
    for array in ARRAYS:
        for other in ARRAYS:
            same = array.type == other.type
            lengths = {str(array.type), str(other.type)} == {"string", "large_string"}
            if not len(array) or same or lengths:
                continue
            try:
                got = values_of(array).to_arrow(other.type)
            except CorruptFileError:
                continue
            assert got.type == other.type
            got.validate()


def test_views_are_not_copied() -> None:
    array = pa.array(range(1000), pa.int64())
    values = values_of(array.slice(100, 50))
    assert values.to_arrow(pa.int64()).buffers()[1].address == array.buffers()[1].address + 800
