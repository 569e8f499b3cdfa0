"""Comparisons and conditions of SQL, also where values are null or of other types."""

from __future__ import annotations

import datetime as dt
import math
import uuid

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import NUMBERS, rows, table, values

NEW_YORK = pa.timestamp("us", "America/New_York")


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
def test_nan_equals_itself_and_is_above_all_numbers(text: str, expected: list[int]) -> None:
    assert rows(text, NUMBERS) == expected


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 0", [2, 4]),
        ("x >= -1", [1, 2, 3, 4]),
        ("x < 0", [0, 1]),
        ("x < 5", [0, 1, 2, 3]),
        ("x <= 0", [0, 1, 3]),
        ("x = CAST('nan' AS double)", [4]),
        ("x <> CAST('nan' AS double)", [0, 1, 2, 3]),
        ("x < CAST('nan' AS double)", [0, 1, 2, 3]),
        ("x BETWEEN -1 AND 1", [1, 2, 3]),
        ("x < y", [0, 3]),
        ("x > y", [1, 4]),
        ("x <> y", [0, 1, 3, 4]),
        ("x IN (0, 1, CAST('nan' AS double))", [2, 3, 4]),
        (
            "x IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, CAST('nan' AS float))",
            [2, 4],
        ),
    ],
)
def test_nan_with_a_sign_is_below_all_numbers(
    kind: pa.DataType, text: str, expected: list[int]
) -> None:
    x = pa.array([-math.nan, -1, 1, -0.0, math.nan, None], pa.float64()).cast(kind)
    y = pa.array([-1, -math.nan, 1, 1, -math.nan, math.nan], pa.float64()).cast(kind)
    assert rows(text, table(x=x, y=y)) == expected


@each_case("zero", ["0", "0.0", "-0.0", "-0"])
@each_case("others", ["", ", 5, 6, 7, 8" * 5])
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


@each_case(
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


@each_case(
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
    with pytest.raises(
        InvalidInputError, match=r"is not a|has no valid offset|does not fit|cannot be"
    ):
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
