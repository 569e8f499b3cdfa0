"""Checksums of the values of rows."""

from __future__ import annotations

import math

import pyarrow as pa

from lance_core_compaction.checksum import checksum
from tests.each_case import each_case


def sums(array: pa.Array) -> str:
    return checksum([pa.record_batch([array], ["a"])])


@each_case(
    "values, kind",
    [
        ([1, None, 3], pa.int64()),
        ([math.nan, 0.0, None], pa.float32()),
        (["a", None, "", "bcd"], pa.string()),
        ([b"a", None, b""], pa.large_binary()),
        (["a", None, ""], pa.string_view()),
        ([True, None, False], pa.bool_()),
        ([None, None], pa.null()),
        ([b"ab", None], pa.binary(2)),
        ([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}], pa.struct({"x": "i4", "y": "str"})),
        ([[1, 2], None, [], [None]], pa.list_(pa.int8())),
        ([[1, 2], None, [3, None]], pa.list_(pa.int8(), 2)),
        ([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int8())),
        (["a", "b", None, "a"], pa.dictionary(pa.int8(), pa.string())),
        (
            [[{"x": [1]}], None, [{"x": None}, None]],
            pa.list_(pa.struct({"x": pa.list_(pa.int32())})),
        ),
    ],
)
def test_a_checksum_depends_on_values_only(values: list[object], kind: pa.DataType) -> None:
    plain = pa.array(values, kind)
    longer = pa.array([values[0], *values, values[0]], kind)
    assert sums(longer.slice(1, len(values))) == sums(plain)
    if len(set(map(str, values))) > 1:
        assert sums(pa.array(values[::-1], kind)) != sums(plain)


def test_bytes_below_nulls_do_not_count() -> None:
    valid = pa.py_buffer(bytes([0b101]))
    one = pa.Array.from_buffers(pa.int8(), 3, [valid, pa.py_buffer(bytes([1, 2, 3]))])
    other = pa.Array.from_buffers(pa.int8(), 3, [valid, pa.py_buffer(bytes([1, 9, 3]))])
    assert sums(one) == sums(other)
    assert sums(pa.array(["ab", "c"])) != sums(pa.array(["a", "bc"]))


@each_case(
    "one, other, kind",
    [
        ([[("a", 1)], []], [[("a", 2)], []], pa.map_(pa.string(), pa.int8())),
        ([[("a", 1)], []], [[("b", 1)], []], pa.map_(pa.string(), pa.int8())),
        ([[("a", 1)], []], [[], [("a", 1)]], pa.map_(pa.string(), pa.int8())),
        ([[1], [2, 3]], [[1, 2], [3]], pa.list_(pa.int8())),
        ([[1, 2], [3, 4]], [[1, 2], [3, 5]], pa.list_(pa.int8(), 2)),
        ([1, 2, None], [1, 2, 0], pa.int64()),
        ([{"x": 1, "y": 2}], [{"x": 2, "y": 1}], pa.struct({"x": "i4", "y": "i4"})),
        (["a", "b"], ["a", "c"], pa.dictionary(pa.int8(), pa.string())),
        ([b"ab", b"cd"], [b"ab", b"ce"], pa.binary(2)),
    ],
)
def test_another_value_has_another_checksum(
    one: list[object], other: list[object], kind: pa.DataType
) -> None:
    assert sums(pa.array(one, kind)) != sums(pa.array(other, kind))
    assert len(sums(pa.array(one, kind))) == 32


def test_a_checksum_of_no_rows_is_one_of_their_type() -> None:
    for kind in (pa.int8(), pa.string(), pa.map_(pa.string(), pa.int8()), pa.list_(pa.int8())):
        assert sums(pa.array([], kind)) == sums(pa.array([], kind))
        assert sums(pa.array([], kind)) != sums(pa.array([None], kind))
