"""Functions that take texts apart, put others into them, or change single characters."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import InvalidInputError, ResultTooLargeError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import values

DATA = pa.table(
    {
        "s": ["a-b--c", "", None, "é🎉ß", "abcab"],
        "p": ["-", "a", "b", "🎉", None],
        "n": pa.array([1, 2, 3, 4, -1], pa.int32()),
        "w": pa.array([2**62, 0, None, 255, -(2**63)], pa.int64()),
        "u": pa.array([2**64 - 1, 0, None, 255, 16], pa.uint64()),
    }
)


@each_case(
    "sql, expected",
    [
        ("split_part(s, '-', 2)", ["b", "", None, "", ""]),
        ("split_part(s, '-', -1)", ["c", "", None, "é🎉ß", "abcab"]),
        ("split_part(s, '-', -3)", ["b", "", None, "", ""]),
        ("split_part(s, '', 1)", ["a-b--c", "", None, "é🎉ß", "abcab"]),
        ("split_part(s, '', 2)", ["", "", None, "", ""]),
        ("split_part(s, p, n)", ["a", "", None, "", None]),
        ("split_part(s, 'a', 9223372036854775807)", ["", "", None, "", ""]),
        ("substr_index(s, '-', 2)", ["a-b", "", None, "é🎉ß", "abcab"]),
        ("substr_index(s, '-', -1)", ["c", "", None, "é🎉ß", "abcab"]),
        ("substring_index(s, 'ab', -1)", ["a-b--c", "", None, "é🎉ß", ""]),
        ("substr_index(s, '🎉', 1)", ["a-b--c", "", None, "é", "abcab"]),
        ("substr_index(s, p, 0)", ["", "", None, "", None]),
        ("find_in_set(p, 'a,,-,b')", [3, 1, 4, 0, None]),
        ("find_in_set(s, '')", [0, 1, None, 0, 0]),
        ("translate(s, 'ab-', 'b🎉')", ["b🎉c", "", None, "é🎉ß", "b🎉cb🎉"]),
        ("translate(s, 'aa', 'xy')", ["x-b--c", "", None, "é🎉ß", "xbcxb"]),
        ("translate(s, p, '')", ["abc", "", None, "éß", None]),
        ("overlay(s, 'XY', 2)", ["aXY--c", "XY", None, "éXY", "aXYab"]),
        ("overlay(s PLACING 'XY' FROM 2 FOR 0)", ["aXY-b--c", "XY", None, "éXY🎉ß", "aXYbcab"]),
        ("overlay(s, p, 2, n)", ["a-b--c", "a", None, "é🎉", None]),
        ("overlay(s, 'X', 3, 9223372036854775807)", ["a-X", "X", None, "é🎉X", "abX"]),
        ("ascii(s)", [97, 0, None, 233, 97]),
        ("chr(ascii(s) + 1)", ["b", "\x01", None, "ê", "b"]),
        ("to_hex(n)", ["1", "2", "3", "4", "f" * 16]),
        ("to_hex(w)", ["4" + "0" * 15, "0", None, "ff", "8" + "0" * 15]),
        ("to_hex(u)", ["f" * 16, "0", None, "ff", "10"]),
        ("position(s, 'b')", [3, 0, None, 0, 2]),
        ("substring(s FROM 2 FOR 2)", ["-b", "", None, "🎉ß", "bc"]),
        ("right(s, -9223372036854775808)", ["", "", None, "", ""]),
        ("left(s, w)", ["a-b--c", "", None, "é🎉ß", ""]),
        ("substr(s, w)", ["", "", None, "", "abcab"]),
        ("length(CAST(s AS binary))", [6, 0, None, 3, 5]),
        ("X'61' || CAST(s AS binary)", [b"aa-b--c", b"a", None, "aé🎉ß".encode(), b"aabcab"]),
    ],
)
def test_values(sql: str, expected: list[Any]) -> None:
    assert values(sql, DATA) == expected


@each_case(
    "sql, reason",
    [
        ("split_part(s, '-', 0)", "split_part counts from 1"),
        ("overlay(s, 'x', n)", "overlay needs a start of 1 or more"),
        ("chr(n)", "-1 is no code point"),
        ("chr(55296)", "55296 is no code point"),
        ("length(X'ff')", "not in range as string"),
    ],
)
def test_what_has_no_value_is_an_error(sql: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        as_value(sql, DATA.schema).evaluate(DATA)
    assert reason.lower() in str(caught.value).lower()


def test_a_large_text_is_not_put_into_every_row() -> None:
    table = pa.table({"s": ["a"] * 2000, "i": range(2000)})
    value = as_value("overlay(s, repeat('x', 1000000), i + 1)", table.schema)
    with pytest.raises(ResultTooLargeError):
        value.evaluate(table)


def test_options_that_are_columns_keep_to_the_limit_together() -> None:
    table = pa.table({"s": ["abcdefgh"] * 64, "n": pa.array(range(1_000_000, 1_000_064))})
    value = as_value("repeat(s, n)", table.schema)
    with pytest.raises(ResultTooLargeError, match="repeat"):
        value.evaluate(table)
