"""Values that SQL computes: fields, lists, arithmetic, casts and functions."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.errors import InvalidInputError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import INF, NUMBERS, STRUCTS, rows, table, values


@each_case(
    ("text", "expected"),
    [
        ("st.x = 1", [0]),
        ("st['x'] = 1", [0]),
        ("`st`.`x` = 1", [0]),
        ("ST.x = 1", [0]),
        ("get_field(st, 'x') = 1", [0]),
        ("st.`Y y` = 'q'", [1]),
        ("st.in.z > 0", [0, 3]),
        ("st.`in`['z'] > 5", [3]),
        ("st IS NULL", [2]),
        ("st.x IS NULL", [1, 2]),
        ("st.in IS NULL", [1, 2]),
        ("st.in.z IS NULL", [1, 2]),
        ("st.x > 1 AND st.in.z > st.x", [3]),
    ],
)
def test_fields_of_structs_are_columns_and_null_if_the_struct_is(
    text: str, expected: list[int]
) -> None:
    assert rows(text, STRUCTS) == expected


def test_a_condition_asks_for_the_fields_that_it_needs() -> None:
    schema = STRUCTS.append_column("a", pa.array([1, 2, 3, 4])).schema
    assert as_filter("st.in.z > 0 AND A = 1 AND a < 3", schema).columns == (
        ("st", "in", "z"),
        ("a",),
    )
    assert as_filter("1 = 1", schema).columns == ()
    assert as_filter("a = NULL", schema).columns == ()
    # What it needs may come pruned, and beside other columns.
    pruned = pa.table({"st": pa.array([{"x": 7}]), "other": [1]})
    assert as_filter("st.x = 7", schema).mask(pruned).tolist() == [True]


LISTS = pa.table(
    {
        "l": pa.chunked_array(
            [pa.array([[0], [1, 2], [], None])[1:], pa.array([[3, None, 1]])],
            pa.list_(pa.int64()),
        ),
        "f": pa.array([[1, 2], [0, 0], None, [5, 6]], pa.list_(pa.float32(), 2)),
        "t": pa.array([["a"], ["b", "a"], None, []], pa.large_list(pa.string())),
    }
)


def test_list_elements_count_from_one_and_from_the_end() -> None:
    assert values("l[1]", LISTS) == [1, None, None, 3]
    assert values("l[2]", LISTS) == [2, None, None, None]
    assert values("l[-1]", LISTS) == [2, None, None, 1]
    assert values("l[0]", LISTS) == [None] * 4
    assert values("l[9]", LISTS) == [None] * 4
    assert values("f[2]", LISTS) == [2, 0, None, 6]
    assert values("f[2]", LISTS.slice(1, 2)) == [0, None]
    assert rows("t[1] = 'b'", LISTS) == [1]


def test_lists_are_searched() -> None:
    assert values("array_has(l, 1)", LISTS) == [True, False, None, True]
    assert values("array_has(l, 1)", LISTS.slice(1)) == [False, None, True]
    assert values("array_contains(f, 5)", LISTS) == [False, False, None, True]
    assert rows("array_has(t, 'a')", LISTS) == [0, 1]
    assert rows("array_has_any(l, [3, 2])", LISTS) == [0, 3]
    assert rows("array_has_all(l, [1, 3])", LISTS) == [3]
    assert values("array_length(l)", LISTS) == [2, 0, None, 3]
    assert values("cardinality(f)", LISTS) == [2, 2, None, 2]


@each_case(
    ("text", "expected"),
    [
        ("a + 1", [8, -6, None]),
        ("a - b", [5, -9, None]),
        ("a * b", [14, -14, None]),
        ("a / b", [3, -3, None]),
        ("a % b", [1, -1, None]),
        ("-a", [-7, 7, None]),
        ("- -a", [7, -7, None]),
        ("+a", [7, -7, None]),
        ("a / 2.0", [3.5, -3.5, None]),
        ("a - b - 1", [4, -10, None]),
        ("2 * (a + 1)", [16, -12, None]),
        ("2 + a * 2", [16, -12, None]),
        ("x / 0", [INF, -INF, None]),
        ("x % 1", [0.5, -0.5, None]),
        ("a + NULL", [None] * 3),
        ("1 + 1", [2, 2, 2]),
        ("m + 1", [Decimal("2.50"), Decimal("-0.25"), None]),
        ("m * m", [Decimal("2.2500"), Decimal("1.5625"), None]),
        ("m / 3", [Decimal("0.500000"), Decimal("-0.416666"), None]),
        ("m + x", [2.0, -1.75, None]),
        ("t - t", [dt.timedelta(0)] * 2 + [None]),
        ("d - d", [0, 0, None]),
        ("p || q", ["xab", None, None]),
        ("p || a", ["x7", "y-7", None]),
    ],
)
def test_arithmetic(text: str, expected: list[Any]) -> None:
    data = pa.table(
        {
            "a": [7, -7, None],
            "b": [2, 2, 2],
            "x": [0.5, -0.5, None],
            "m": pa.array([Decimal("1.50"), Decimal("-1.25"), None], pa.decimal128(10, 2)),
            "t": pa.array([dt.datetime(2020, 1, 1), dt.datetime(1, 1, 1), None]),
            "d": pa.array([dt.date(2020, 1, 1), dt.date(1, 1, 1), None]),
            "p": ["x", "y", None],
            "q": ["ab", None, "z"],
        }
    )
    assert values(text, data) == expected


def test_a_literal_beside_a_column_keeps_the_columns_type() -> None:
    data = pa.table({name: pa.array([1], kind) for name, kind in KINDS.items()})
    for name, kind in KINDS.items():
        assert as_value(f"{name} + 1", data.schema).type == kind
        assert as_value(f"2 * {name}", data.schema).type == kind
        # Deeper inside it is a 64 bit integer, which has room for the result.
        deeper = as_value(f"({name} + 1) + {name}", data.schema).type
        assert deeper.bit_width == 64 or pa.types.is_floating(kind) or pa.types.is_decimal(deeper)


KINDS = {
    "i8": pa.int8(),
    "i32": pa.int32(),
    "u16": pa.uint16(),
    "u64": pa.uint64(),
    "f16": pa.float16(),
    "f32": pa.float32(),
    "f64": pa.float64(),
}


@each_case(
    ("text", "why"),
    [
        ("i + i > 0", "overflow"),
        ("l + 1 > 0", "overflow"),
        ("l * l > 0", "overflow"),
        ("u - 2 > 0", ""),
        ("CAST(u AS tinyint) > 0", "not in range"),
        ("l / 0 = 1", "divide by zero"),
        ("l % 0 = 1", "division by zero"),
        ("1 / i = 1", "divide by zero"),
        ("d / 0 > 1", "[Dd]ivide by zero"),
        ("CAST(s AS int) = 1", "parse"),
        ("CAST(f AS int) = 1", "nan"),
    ],
)
def test_a_result_that_does_not_exist_is_an_error_and_no_wrong_row(text: str, why: str) -> None:
    if not why:
        assert rows(text, NUMBERS) == [1, 2]  # a literal inside a condition has 64 bits
        return
    with pytest.raises(InvalidInputError, match=why):
        rows(text, NUMBERS)


@each_case(
    ("text", "kind", "expected"),
    [
        ("CAST(i AS bigint)", pa.int64(), [1, None]),
        ("i::double", pa.float64(), [1.0, None]),
        ("CAST(i AS string)", pa.string(), ["1", None]),
        ("CAST(i AS boolean)", pa.bool_(), [True, None]),
        ("CAST(i AS tinyint unsigned)", pa.uint8(), [1, None]),
        ("CAST(i AS decimal(12, 2))", pa.decimal128(12, 2), [Decimal("1.00"), None]),
        ("CAST(f AS int)", pa.int32(), [-1, None]),
        ("CAST(f AS float)", pa.float32(), [-1.5, None]),
        ("CAST(m AS int)", pa.int32(), [2, None]),
        ("CAST(m AS string)", pa.string(), ["2.75", None]),
        ("CAST(s AS int)", pa.int32(), [12, None]),
        ("CAST(s AS binary)", pa.binary(), [b"12", None]),
        ("CAST(b AS int)", pa.int32(), [1, None]),
        ("CAST(b AS string)", pa.string(), ["true", None]),
        ("CAST(d AS timestamp)", pa.timestamp("us"), [dt.datetime(2020, 1, 2), None]),
        ("CAST(t AS date)", pa.date32(), [dt.date(2020, 1, 2), None]),
        ("CAST(t AS string)", pa.string(), ["2020-01-02T03:04:05.600", None]),
        ("CAST(d AS timestamp(3))", pa.timestamp("ms"), [dt.datetime(2020, 1, 2), None]),
        ("CAST('2020-01-02' AS date)", pa.date32(), [dt.date(2020, 1, 2)] * 2),
        ("CAST(NULL AS int)", pa.int32(), [None, None]),
    ],
)
def test_cast(text: str, kind: pa.DataType, expected: list[Any]) -> None:
    data = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "f": [-1.5, None],
            "m": pa.array([Decimal("2.75"), None]),
            "s": ["12", None],
            "b": [True, None],
            "d": [dt.date(2020, 1, 2), None],
            "t": [dt.datetime(2020, 1, 2, 3, 4, 5, 600_000), None],
        }
    )
    assert as_value(text, data.schema).type == kind
    assert values(text, data) == expected


@each_case(
    ("text", "expected"),
    [
        ("CASE WHEN a > 1 THEN 'big' WHEN a > 0 THEN 'small' END", ["small", "big", None]),
        ("CASE WHEN a > 1 THEN 1 ELSE 0.5 END", [0.5, 1.0, 0.5]),
        ("CASE a WHEN 1 THEN 'one' ELSE s END", ["one", "Bx", None]),
        ("coalesce(a, 7)", [1, 2, 7]),
        ("coalesce(s, 'none')", ["ab", "Bx", "none"]),
        ("coalesce(NULL, a)", [1, 2, None]),
        ("ifnull(a, 0)", [1, 2, 0]),
        ("nvl2(a, 'set', 'unset')", ["set", "set", "unset"]),
        ("nullif(a, 1)", [None, 2, None]),
        ("greatest(a, 1.5)", [1.5, 2.0, 1.5]),
        ("least(a, 1)", [1, 1, 1]),
        ("is_valid(a)", [True, True, False]),
        ("a IS DISTINCT FROM 1", [False, True, True]),
        ("a IS NOT DISTINCT FROM NULL", [False, False, True]),
        ("abs(-a)", [1, 2, None]),
        ("round(x)", [3.0, -3.0, None]),
        ("round(x, 1)", [2.5, -2.5, None]),
        ("floor(x)", [2.0, -3.0, None]),
        ("ceil(x)", [3.0, -2.0, None]),
        ("trunc(x)", [2.0, -2.0, None]),
        ("signum(x)", [1.0, -1.0, None]),
        ("sqrt(a * a)", [1.0, 2.0, None]),
        ("power(a, 2)", [1.0, 4.0, None]),
        ("log(2, power(2, a))", [1.0, 2.0, None]),
        ("exp(ln(a)) > 0", [True, True, None]),
        ("isnan(a)", [False, False, None]),
        ("iszero(x - x)", [True, True, None]),
        ("nanvl(x, 0)", [2.5, -2.5, None]),
        ("lower(s)", ["ab", "bx", None]),
        ("UPPER(s)", ["AB", "BX", None]),
        ("length('é' || s)", [3, 3, None]),
        ("octet_length('é' || s)", [4, 4, None]),
        ("bit_length(s)", [16, 16, None]),
        ("starts_with(s, 'a')", [True, False, None]),
        ("ends_with(s, 'x')", [False, True, None]),
        ("contains(s, 'B')", [False, True, None]),
        ("strpos('é' || s, 'x')", [0, 3, None]),
        ("strpos(s, '')", [1, 1, None]),
        ("regexp_like(s, '^[a-c]+$')", [True, False, None]),
        ("regexp_like(s, '^A', 'i')", [True, False, None]),
        ("regexp_match(s, 'x')", [None, ["x"], None]),
        ("regexp_match(s, '(a)|(b)|(.)')", [["a"], ["B"], None]),
        ("regexp_match(s, '(b?)(.)')", [["", "a"], ["", "B"], None]),
        ("regexp_match(s, '[(]|A(?:b)', 'i')", [["ab"], None, None]),
        ("regexp_match(s, 'x')[1]", [None, "x", None]),
        ("NOT regexp_match(s, 'x')", [True, False, True]),
        ("regexp_replace(s, '[ax]', '')", ["b", "B", None]),
        ("replace(s, 'a', '')", ["b", "Bx", None]),
        ("reverse(s)", ["ba", "xB", None]),
        ("left(s, 1)", ["a", "B", None]),
        ("left(s, -1)", ["a", "B", None]),
        ("right(s, 1)", ["b", "x", None]),
        ("right(s, 0)", ["", "", None]),
        ("substr(s, 2)", ["b", "x", None]),
        ("substr(s, 0, 2)", ["a", "B", None]),
        ("trim('  ' || s || ' ')", ["ab", "Bx", None]),
        ("ltrim(s, 'a')", ["b", "Bx", None]),
        ("rtrim(s, 'x')", ["ab", "B", None]),
        ("concat(s, '-', a)", ["ab-1", "Bx-2", "-"]),
        ("concat_ws('-', s, a)", ["ab-1", "Bx-2", ""]),
        ("repeat(s, 2)", ["abab", "BxBx", None]),
        ("date_part('year', d)", [2020, 1969, None]),
        ("date_part('dow', d)", [3, 3, None]),
        ("date_part('hour', d)", [0, 0, None]),
        ("date_trunc('month', d) < d", [False, True, None]),
    ],
)
def test_functions(text: str, expected: list[Any]) -> None:
    data = table(
        a=[1, 2, None],
        x=[2.5, -2.5, None],
        s=["ab", "Bx", None],
        d=[dt.date(2020, 1, 1), dt.date(1969, 12, 31), None],
    )
    assert values(text, data) == expected
