"""SQL conditions and values over columns of every type."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.dataset.expressions.sql.grammar import MAX_DEPTH
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case

NAN, INF = math.nan, math.inf
NEW_YORK = pa.timestamp("us", "America/New_York")


def table(**columns: Any) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def rows(text: str, data: pa.Table) -> list[int]:
    """The rows that fulfil a condition, read through just the columns that it asks for."""
    condition = as_filter(text, data.schema)
    mask = condition.mask(needed(data, condition.columns))
    assert mask.dtype == bool
    assert len(mask) == data.num_rows
    return [int(row) for row in np.flatnonzero(mask)]


def values(text: str, data: pa.Table) -> list[Any]:
    value = as_value(text, data.schema)
    result = value.evaluate(needed(data, value.columns))
    assert result.type == value.type
    return list(result.to_pylist())


def needed(data: pa.Table, columns: tuple[tuple[str, ...], ...]) -> pa.Table:
    return data.select(list(dict.fromkeys(path[0] for path in columns)))


NUMBERS = table(
    i=pa.array([1, -2, 2147483647, None, 0], pa.int32()),
    l=pa.array([1, -2, 2**63 - 1, None, 0], pa.int64()),
    u=pa.array([1, 255, 3, None, 0], pa.uint8()),
    w=pa.array([1, 2**64 - 1, 3, None, 0], pa.uint64()),
    f=[1.5, -0.0, NAN, None, INF],
    h=pa.array([1.5, -2, NAN, None, 0], pa.float16()),
    r=pa.array([0.1, -0.0, NAN, None, 0], pa.float32()),
    d=pa.array([Decimal(x) if x else None for x in ("1.50", "-2.25", "100", "", "0")]),
    b=[True, False, True, None, False],
    s=["abc", "", "a%c_x", None, "Zé"],
)


@each_case(
    ("text", "expected"),
    [
        ("i = 1", [0]),
        ("i == 1", [0]),
        ("i != 1", [1, 2, 4]),
        ("i <> 1", [1, 2, 4]),
        ("i < 0", [1]),
        ("i <= 0", [1, 4]),
        ("i > 0", [0, 2]),
        ("i >= 0", [0, 2, 4]),
        ("0 < i", [0, 2]),
        ("0 >= i", [1, 4]),
        ("i = l", [0, 1, 4]),
        ("i < u", [1]),
        ("w > l", [1]),
        ("w = l", [0, 4]),
        ("s = 'abc'", [0]),
        ('s = "abc"', [0]),
        ("s > 'a'", [0, 2]),
        ("b = true", [0, 2]),
        ("b <> TRUE", [1, 4]),
        ("b", [0, 2]),
        ("f = s IS NULL", []),
    ],
)
def test_a_comparison_selects_the_rows_for_which_it_is_true(text: str, expected: list[int]) -> None:
    if "IS NULL" in text:
        with pytest.raises(InvalidInputError, match="cannot compare double with"):
            rows(text, NUMBERS)
    else:
        assert rows(text, NUMBERS) == expected


@each_case(
    ("text", "expected"),
    [
        ("u < 300", [0, 1, 2, 4]),
        ("u = 300", []),
        ("u <> 300", [0, 1, 2, 4]),
        ("u > 300", []),
        ("u >= -1", [0, 1, 2, 4]),
        ("u = -1", []),
        ("300 > u", [0, 1, 2, 4]),
        ("u IN (1, 300, -5)", [0]),
        ("u BETWEEN -5 AND 300", [0, 1, 2, 4]),
        ("i > 0.5", [0, 2]),
        ("i >= 0.5", [0, 2]),
        ("i < 0.5", [1, 4]),
        ("i <= -1.5", [1]),
        ("i = 1.0", [0]),
        ("i = 1.5", []),
        ("i <> 1.5", [0, 1, 2, 4]),
        ("i < 1e400", [0, 1, 2, 4]),
        ("i > -1e400", [0, 1, 2, 4]),
        ("i < 1e-999999999", [1]),
        ("l = 9223372036854775807", [2]),
        ("l < 9223372036854775808", [0, 1, 2, 4]),
        ("l > 9223372036854775806.5", [2]),
        ("l >= -9223372036854775808", [0, 1, 2, 4]),
        ("w = 18446744073709551615", [1]),
        ("w < 18446744073709551616", [0, 1, 2, 4]),
        ("d = 1.5", [0]),
        ("d > 1.499999", [0, 2]),
        ("d = 1.505", []),
        ("d < 1e30", [0, 1, 2, 4]),
        ("d IN (100, 1.5, 7)", [0, 2]),
        ("r = 0.1", [0]),
        ("r IN (0.1)", [0]),
        ("h = 1.5", [0]),
        ("f < 1e308", [0, 1]),
    ],
)
def test_a_number_is_compared_by_its_value_even_if_the_column_cannot_hold_it(
    text: str, expected: list[int]
) -> None:
    assert rows(text, NUMBERS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f > 5", [2, 4]),
        ("f >= 5", [2, 4]),
        ("f < 5", [0, 1]),
        ("f <= 1.5", [0, 1]),
        ("f <> 5", [0, 1, 2, 4]),
        ("f = f", [0, 1, 2, 4]),
        ("f > r", [0, 4]),
        ("f <= r", [1, 2]),
        ("f >= r", [0, 1, 2, 4]),
        ("f < r", []),
        ("f <> r", [0, 4]),
        ("f = CAST('nan' AS double)", [2]),
        ("f < CAST('nan' AS double)", [0, 1, 4]),
        ("f >= CAST('nan' AS double)", [2]),
        ("f <= CAST('nan' AS double)", [0, 1, 2, 4]),
        ("f IN (0, 1, 2, 3, CAST('nan' AS double))", [1, 2]),
        ("NOT f > 5", [0, 1]),
        ("isnan(f)", [2]),
        ("h > 1", [0, 2]),
    ],
)
def test_nan_equals_itself_and_lies_above_all_numbers(text: str, expected: list[int]) -> None:
    assert rows(text, NUMBERS) == expected


@pytest.mark.parametrize("zero", ["0", "0.0", "-0.0", "-0"])
@pytest.mark.parametrize("others", ["", ", 5, 6, 7, 8" * 5])
def test_both_zeros_are_equal(zero: str, others: str) -> None:
    data = table(x=[0.0, -0.0, 1.0], y=[-0.0, 0.0, 0.0])
    assert rows(f"x = {zero}", data) == [0, 1]
    assert rows(f"x IN ({zero}{others})", data) == [0, 1]
    assert rows(f"x < {zero} OR x > {zero}", data) == [2]
    assert rows("x = y", data) == [0, 1]


TRUTHS = [True, False, None]
TRUTH_TABLE = table(
    p=[p for p in TRUTHS for _ in TRUTHS], q=pa.array([q for _ in TRUTHS for q in TRUTHS])
)


def test_and_or_not_have_three_values() -> None:
    assert values("p AND q", TRUTH_TABLE) == [True, False, None, *[False] * 3, None, False, None]
    assert values("p OR q", TRUTH_TABLE) == [*[True] * 3, True, False, None, True, None, None]
    assert values("NOT p", TRUTH_TABLE) == [*[False] * 3, *[True] * 3, *[None] * 3]
    assert values("p AND NULL", TRUTH_TABLE) == [*[None] * 3, *[False] * 3, *[None] * 3]
    assert values("NULL OR p", TRUTH_TABLE) == [*[True] * 3, *[None] * 6]
    assert values("p = q", TRUTH_TABLE) == [True, False, None, False, True, *[None] * 4]


def test_is_true_is_false_and_is_null_are_never_null() -> None:
    data = table(p=TRUTHS)
    assert values("p IS TRUE", data) == [True, False, False]
    assert values("p IS NOT TRUE", data) == [False, True, True]
    assert values("p IS FALSE", data) == [False, True, False]
    assert values("p IS NOT FALSE", data) == [True, False, True]
    assert values("p IS NULL", data) == [False, False, True]
    assert values("p IS NOT NULL", data) == [True, True, False]
    assert values("(p = NULL) IS NULL", data) == [True, True, True]


@pytest.mark.parametrize(
    "padding", ["", ", 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 80, 81, 82, 83"]
)
def test_a_null_in_a_list_makes_a_miss_unknown(padding: str) -> None:
    data = table(i=[1, 5, None])
    assert values(f"i IN (1, 2, 3{padding})", data) == [True, False, None]
    assert values(f"i NOT IN (1, 2, 3{padding})", data) == [False, True, None]
    assert values(f"i IN (1, 2, NULL{padding})", data) == [True, None, None]
    assert values(f"i NOT IN (1, 2, NULL{padding})", data) == [False, None, None]


def test_in_takes_columns_and_values_of_all_ordered_types() -> None:
    assert rows("i IN (l, 2)", NUMBERS) == [0, 1, 4]
    assert rows("1 IN (i, l)", NUMBERS) == [0]
    assert rows("s IN ('abc', 'x', 'y', 'z', '')", NUMBERS) == [0, 1]
    assert rows("i IN (NULL)", NUMBERS) == []
    assert rows("NULL IN (i)", NUMBERS) == []


def test_between_includes_both_ends_and_knows_null() -> None:
    assert rows("i BETWEEN 0 AND 1", NUMBERS) == [0, 4]
    assert rows("i NOT BETWEEN 0 AND 1", NUMBERS) == [1, 2]
    assert rows("i BETWEEN 1 AND 0", NUMBERS) == []
    assert rows("i BETWEEN u AND l", NUMBERS) == [0, 2, 4]
    assert values("i BETWEEN NULL AND 0", NUMBERS) == [False, None, False, None, None]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", ["abc"]),
        ("", [""]),
        ("%", ["abc", "", "a%c", "a\nc", "é_c", "a\\c"]),
        ("%%", ["abc", "", "a%c", "a\nc", "é_c", "a\\c"]),
        ("a%", ["abc", "a%c", "a\nc", "a\\c"]),
        ("%c", ["abc", "a%c", "a\nc", "é_c", "a\\c"]),
        ("%b%", ["abc"]),
        ("a_c", ["abc", "a%c", "a\nc", "a\\c"]),
        ("___", ["abc", "a%c", "a\nc", "é_c", "a\\c"]),
        ("_", []),
        (r"a\%c", ["a%c"]),
        (r"%\_c", ["é_c"]),
        (r"a\\c", ["a\\c"]),
        (r"a\bc", ["abc"]),
        ("a.c", []),
        ("a%b%c", ["abc"]),
    ],
)
def test_like_matches_the_whole_text(pattern: str, expected: list[str]) -> None:
    texts = ["abc", "", "a%c", "a\nc", "é_c", "a\\c", None]
    for kind in (pa.string(), pa.large_string()):
        data = pa.table({"s": pa.array(texts, kind)})
        assert [texts[i] for i in rows(f"s LIKE '{pattern}'", data)] == expected
        others = [text for text in texts if text is not None and text not in expected]
        assert [texts[i] for i in rows(f"s NOT LIKE '{pattern}'", data)] == others
    data = pa.table({"s": pa.array(texts).dictionary_encode()})
    assert [texts[i] for i in rows(f"s LIKE '{pattern}'", data)] == expected


def test_like_takes_an_escape_and_any_case() -> None:
    data = table(s=["50%", "500", "É", None])
    assert rows("s LIKE '50!%' ESCAPE '!'", data) == [0]
    assert rows("s NOT LIKE '50!%' ESCAPE '!'", data) == [1, 2]
    assert rows("s ILIKE 'é'", data) == [2]
    assert rows("s NOT ILIKE 'é'", data) == [0, 1]
    assert rows("s LIKE NULL", data) == []
    with pytest.raises(InvalidInputError, match="one character"):
        rows("s LIKE 'a' ESCAPE 'ab'", data)


DAYS = [dt.date(2020, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), None]
TIMES = [dt.datetime(2020, 1, 1, 12), dt.datetime(1969, 12, 31), dt.datetime(2024, 2, 29, 1, 2, 3)]
MOMENTS = pa.table(
    {
        "d": pa.array(DAYS),
        "e": pa.array(DAYS, pa.date64()),
        "s": pa.array([*TIMES, None], pa.timestamp("s")),
        "u": pa.array([*TIMES, None], pa.timestamp("us")),
        "n": pa.array([*TIMES, None], pa.timestamp("ns")),
        "z": pa.array([*TIMES, None], NEW_YORK),
        "t": pa.array([0, 1, 86399, None], pa.time32("s")),
        "v": pa.array([0, 1_000_001, 86399 * 10**6, None], pa.time64("us")),
    }
)


@each_case(
    ("text", "expected"),
    [
        ("d = date '2020-01-01'", [0]),
        ("d = '2020-01-01'", [0]),
        ("e = date '2020-01-01'", [0]),
        ("d > date '2019-1-1'", [0, 2]),
        ("d IN ('2020-01-01', '2024-02-29', '2000-01-01', NULL)", [0, 2]),
        ("d > timestamp '2020-01-01 00:00:00.1'", [2]),
        ("d < timestamp '2020-01-01 00:00:00.1'", [0, 1]),
        ("d = timestamp '2020-01-01 00:00:00.1'", []),
        ("d BETWEEN date '1969-12-31' AND date '2020-01-01'", [0, 1]),
        ("u = timestamp '2020-01-01 12:00:00'", [0]),
        ("u = '2020-01-01T12:00'", [0]),
        ("u = timestamp '2020-01-01 13:00:00+01:00'", [0]),
        ("u > date '2020-01-01'", [0, 2]),
        ("s >= timestamp '2024-02-29 01:02:03.5'", []),
        ("s = timestamp '2024-02-29 01:02:03.5'", []),
        ("s = timestamp(0) '2024-02-29 01:02:03'", [2]),
        ("n < timestamp '1970-01-01'", [1]),
        ("n > timestamp '2024-02-29 01:02:02.999999999'", [2]),
        ("s = n AND u = s", [0, 1, 2]),
        ("d < u", [0, 2]),
        ("d = e", [0, 1, 2]),
        ("t = '00:00:01'", [1]),
        ("t < time '00:00:01.5'", [0, 1]),
        ("v > '00:00:01'", [1, 2]),
        ("t = v", [0, 2]),
    ],
)
def test_dates_and_times_are_compared_as_moments(text: str, expected: list[int]) -> None:
    assert rows(text, MOMENTS) == expected


def test_a_time_without_an_offset_is_read_in_the_columns_zone() -> None:
    assert rows("z = timestamp '2020-01-01 07:00:00'", MOMENTS) == [0]
    assert rows(
        "z IN ('2020-01-01 07:00:00', '2000-01-01', '2001-01-01', '2002-01-01')", MOMENTS
    ) == [0]
    assert rows("z = timestamp '2020-01-01 12:00:00Z'", MOMENTS) == [0]
    assert rows("z = timestamp '2020-01-01 07:00:00-05:00'", MOMENTS) == [0]
    assert rows("z > u", MOMENTS) == []


@pytest.mark.parametrize(
    "text",
    [
        "d = date '2020-13-01'",
        "d = date 'yesterday'",
        "d = date '10000-01-01'",
        "u = timestamp '2020-01-01 24:00:00'",
        "u = timestamp '2020-01-01 00:00:00+99:00'",
        "t = '25:00:00'",
        "n = timestamp(9) '9999-01-01'",
    ],
)
def test_a_moment_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"is not a|has no valid offset|does not fit"):
        rows(text, MOMENTS)


def test_bytes_are_compared_with_hexadecimal_literals() -> None:
    data = pa.table(
        {
            "a": pa.array([b"\x00\x01", b"", b"\xff", None]),
            "f": pa.array([b"\x00\x01", b"zz", b"\xff\x00", None], pa.binary(2)),
        }
    )
    assert rows("a = X'0001'", data) == [0]
    assert rows("a = 0x0001", data) == [0]
    assert rows("a > x'00'", data) == [0, 2]
    assert rows("a IN (X'', X'ff', X'01', X'02', X'03')", data) == [1, 2]
    assert rows("f = X'7a7a'", data) == [1]
    assert rows("f = X'7a'", data) == []
    assert rows("f >= X'7a'", data) == [1, 2]
    assert rows("f IN (X'0001', X'00', X'7a7a', X'01', X'02')", data) == [0, 1]
    assert rows("a = f", data) == [0]
    with pytest.raises(InvalidInputError, match="is not hexadecimal"):
        rows("a = X'0g'", data)


def test_dictionary_columns_are_compared_by_their_values() -> None:
    chunks = [pa.array(part).dictionary_encode() for part in (["x", "y", None], ["y", "z"])]
    data = pa.table({"s": pa.chunked_array([*chunks, chunks[0][:0]])})
    assert rows("s = 'y'", data) == [1, 3]
    assert rows("s <> 'y'", data) == [0, 4]
    assert rows("s > 'x'", data) == [1, 3, 4]
    assert rows("s IN ('x', 'z')", data) == [0, 4]
    assert rows("s NOT IN ('x', NULL)", data) == []
    assert rows("s IS NULL", data) == [2]
    assert rows("upper(s) = 'Z'", data) == [4]
    assert rows("s = s", data) == [0, 1, 3, 4]
    assert values("s || '!'", data) == ["x!", "y!", None, "y!", "z!"]


def test_extension_columns_are_compared_by_what_they_store() -> None:
    first, second = uuid.UUID(int=1), uuid.UUID(int=2)
    data = pa.table({"u": pa.array([first.bytes, second.bytes, None], pa.uuid())})
    assert rows(f"u = X'{second.hex}'", data) == [1]


INNER = pa.struct([("z", pa.float64())])
STRUCTS = pa.table(
    {
        "st": pa.array(
            [
                {"x": 1, "Y y": "p", "in": {"z": 1.0}},
                {"x": None, "Y y": "q", "in": None},
                None,
                {"x": 5, "Y y": None, "in": {"z": 9.0}},
            ],
            pa.struct([("x", pa.int32()), ("Y y", pa.string()), ("in", INNER)]),
        )
    }
)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


def test_names_differ_in_case_only_if_they_must() -> None:
    data = table(Name=[1], name=[2], Other=[3], **{"with space": [4], "a.b": [5], "é": [6]})
    assert rows("Name = 1 AND name = 2 AND other = 3 AND OTHER = 3", data) == [0]
    assert rows("`with space` = 4 AND `a.b` = 5 AND é = 6", data) == [0]
    assert values("a.b", data) == [5]
    assert values("with space", data) == [4]
    with pytest.raises(InvalidInputError, match="ambiguous: Name, name"):
        rows("NAME = 1", data)
    with pytest.raises(InvalidInputError, match="No field named `OTHER`"):
        rows("`OTHER` = 3", data)


@pytest.mark.parametrize(
    "name", ["select", "from", "where", "case", "end", "group", "order", "if", "any", "left"]
)
def test_a_keyword_can_be_the_name_of_a_column(name: str) -> None:
    data = table(**{name: [1, 2, None], "x": [1, 1, 1]})
    assert rows(f"{name} = 2 AND x = 1", data) == [1]
    assert rows(f"x < {name.upper()}", data) == [1]
    assert rows(f"{name} IS NOT NULL AND {name} BETWEEN 2 AND 3", data) == [1]


@each_case(
    "text",
    [
        "",
        "  ",
        "a =",
        "(a = 1",
        "a = 1)",
        "a = 'x",
        "`a = 1",
        "a b",
        "a = 1; DROP TABLE t",
        "a = 1 ORDER BY a",
        "a = 1 LIMIT 1",
        "a IN 1",
        "a NOT 1",
        "SELECT 1",
        "a = 1 FROM t",
        "AND",
        "a BETWEEN 1",
        "CASE WHEN a",
        "CAST(a)",
        "a = = = 1",
        "a = 1 ===",
    ],
)
def test_text_that_is_no_expression_is_refused(text: str) -> None:
    schema = pa.schema({"a": pa.int64()})
    with pytest.raises((InvalidInputError, UnsupportedFeatureError), match=r"\w"):
        as_filter(text, schema)


def test_a_syntax_error_says_where() -> None:
    with pytest.raises(InvalidInputError, match=r"'a = 1 \)': .* at line 1, column 7"):
        as_filter("a = 1 )", pa.schema({"a": pa.int64()}))
    with pytest.raises(InvalidInputError, match="operand is missing at line 2, column 3"):
        as_filter("a = 1\nAND", pa.schema({"a": pa.int64()}))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a = (SELECT 1)", "a subquery"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("a IN (SELECT 1)", "IN needs a list"),
        ("a = ?", r"\?"),
        ("a & 1 = 1", "&"),
        ("a << 1 = 1", "<<"),
        ("(a, a) = (1, 1)", "a tuple"),
        ("a > INTERVAL '1 day'", "INTERVAL"),
        ("frobnicate(a) = 1", "function frobnicate"),
        ("sum(a) = 1", "function sum"),
        ("row_number() OVER () = 1", "OVER"),
        ("TRY_CAST(a AS int) = 1", "TRY_CAST"),
        ("CAST(a AS geometry) = 1", "GEOMETRY"),
        ("s LIKE s", "pattern that is not a literal"),
        ("l[a] = 1", "index that is not a literal"),
        ("substr(s, a) = 'x'", "substr with an argument"),
        ("m % 2 = 1", "% of decimals"),
        ("date_part('fortnight', d) = 1", "fortnight"),
        ("l = [1, 2]", "list"),
    ],
)
def test_what_is_not_supported_is_named(text: str, named: str) -> None:
    schema = pa.schema(
        {
            "a": pa.int64(),
            "s": pa.string(),
            "f": pa.float64(),
            "l": pa.list_(pa.int64()),
            "m": pa.decimal128(5, 1),
            "d": pa.date32(),
        }
    )
    with pytest.raises(UnsupportedFeatureError, match=named):
        as_filter(text, schema)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("i", "not true or false but int32"),
        ("NULL", "not true or false"),
        ("i = '1'", "'1' is not a literal of type int32"),
        ("s = 5", "cannot compare string with 5"),
        ("s = i", "cannot compare string with int32"),
        ("b = 1", "cannot compare bool with 1"),
        ("b AND i", "AND needs true or false"),
        ("NOT s", "NOT needs true or false"),
        ("i IS TRUE", "IS TRUE needs true or false"),
        ("i LIKE 'a'", "LIKE does not work on int32"),
        ("s + 1 = 2", "does not work on string"),
        ("-u = 1", "uint8 has no negative values"),
        ("i[1] = 1", "int32 has no element"),
        ("i.x = 1", "i is a int32, it has no field x"),
        ("length(i) = 1", "length needs text"),
        ("abs(s) = 1", "abs needs a number"),
        ("abs(i, i) = 1", "abs does not take 2 arguments"),
        ("coalesce(i, s) = 1", "no type holds both"),
        ("regexp_like(s, '(')", "regular expression"),
        ("nope = 1", "No field named nope. Valid fields are i, l, u, w, f, h, r, d, b, s."),
    ],
)
def test_a_condition_that_means_nothing_is_refused_before_any_row_is_read(
    text: str, why: str
) -> None:
    with pytest.raises(InvalidInputError, match=why):
        as_filter(text, NUMBERS.schema)


def test_unknown_fields_of_a_struct_are_named_with_the_valid_ones() -> None:
    with pytest.raises(
        InvalidInputError, match=r"No field named nope in st. Valid fields are x, `Y"
    ):
        as_filter("st.nope = 1", STRUCTS.schema)


def test_strings_contain_quotes_and_backslashes_as_they_are() -> None:
    data = table(s=["it's", 'say "x"', "a\\nb", "a\nb", "-- c", None])
    assert rows("s = 'it''s'", data) == [0]
    assert rows("""s = 'say "x"'""", data) == [1]
    assert rows('s = "say ""x"""', data) == [1]
    assert rows(r"s = 'a\nb'", data) == [2]
    assert rows("s = 'a\nb'", data) == [3]
    assert rows("s = '-- c' -- a comment", data) == [4]
    assert rows("s /* here too */ = '-- c'", data) == [4]


def test_conditions_may_be_long_but_not_deep() -> None:
    data = table(a=list(range(5000)))
    chain = " OR ".join(f"a = {i}" for i in range(0, 5000, 2))
    assert len(rows(chain, data)) == 2500
    assert rows("NOT (" * 8 + "a = 1" + ")" * 8, data) == [1]
    for deep in ("(" * 5000 + "a = 1" + ")" * 5000, "NOT " * 5000 + "a = 1", "- " * 5000 + "a = 1"):
        with pytest.raises(InvalidInputError, match=f"more than {MAX_DEPTH} levels"):
            rows(deep, data)
    assert rows("a" + " + a" * 3000 + " = 3001", data) == [1]


def test_a_condition_without_columns_answers_for_every_row() -> None:
    data = pa.table({"a": [1, 2, 3]}).select([])
    assert as_filter("1 < 2", data.schema).mask(data).tolist() == [True] * 3
    assert as_filter("1 = NULL", data.schema).mask(data).tolist() == [False] * 3
    assert as_value("'x'", data.schema).evaluate(data).to_pylist() == ["x"] * 3


def test_masks_of_sliced_and_chunked_data_are_in_step() -> None:
    flags = [i % 3 == 0 if i % 7 else None for i in range(100)]
    chunked = pa.table({"b": pa.chunked_array([flags[:13], [], flags[13:50], flags[50:]])})
    for start in (0, 1, 7, 8, 12, 13, 51, 99, 100):
        data = chunked.slice(start)
        expected = [bool(flag) for flag in flags[start:]]
        assert as_filter("b", data.schema).mask(data).tolist() == expected
        assert as_filter("b OR b", data.schema).mask(data).tolist() == expected


def test_planned_expressions_can_be_pickled() -> None:
    condition = as_filter("i > 0 AND s LIKE 'a%' AND i IN (1, 2, l)", NUMBERS.schema)
    again = pickle.loads(pickle.dumps(condition))
    assert again.mask(NUMBERS).tolist() == condition.mask(NUMBERS).tolist()
    assert again.columns == condition.columns


def test_only_text_and_arrow_expressions_are_taken() -> None:
    with pytest.raises(InvalidInputError, match="SQL string or a pyarrow"):
        as_filter(1, NUMBERS.schema)
    with pytest.raises(InvalidInputError, match="SQL string or a pyarrow"):
        as_value(None, NUMBERS.schema)
