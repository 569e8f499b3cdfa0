"""Decimals in SQL: exact arithmetic of each precision, rounding, and casts."""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import InvalidInputError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import rows, values

MOST = 10**38 - 1
PLAIN = [Decimal(text) if text else None for text in ("1", "-2", "", "12345678")]
OTHER = [Decimal(text) if text else None for text in ("3", "4", "", "7")]
EXACT = decimal.Context(prec=160)


def kind(digits: int, scale: int, bits: int = 128) -> pa.DataType:
    return (pa.decimal128 if bits == 128 else pa.decimal256)(digits, scale)


def one(text: str, **columns: tuple[str, pa.DataType]) -> Any:
    """The value of ``text`` for columns of one row."""
    arrays = {name: pa.array([Decimal(v)], of) for name, (v, of) in columns.items()}
    return values(text, pa.table(arrays))[0]


@each_case(
    "of",
    [
        *(kind(10, 2), kind(20, 2), kind(37, 2), kind(38, 0), kind(38, 2), kind(38, 9)),
        *(kind(38, 18), kind(50, 2, 256), kind(76, 2, 256), kind(76, 30, 256)),
    ],
    ids=str,
)
def test_arithmetic_is_exact_in_each_precision(of: pa.DataType) -> None:
    data = pa.table({"c": pa.array(PLAIN, of), "e": pa.array(OTHER, of)})
    operations = {
        "c + 1": lambda a, b: a + 1,
        "c - 1": lambda a, b: a - 1,
        "c * 2": lambda a, b: a * 2,
        "c * 0.5": lambda a, b: a / 2,
        "c + e": lambda a, b: a + b,
        "c - e": lambda a, b: a - b,
        "c * e": lambda a, b: a * b,
        "c / 2": lambda a, b: a / 2,
        "c % e": EXACT.remainder,
        "e - c % 2": lambda a, b: b - EXACT.remainder(a, Decimal(2)),
        "-c": lambda a, b: -a,
    }
    for text, operation in operations.items():
        pairs = zip(PLAIN, OTHER, strict=True)
        expected = [None if a is None or b is None else operation(a, b) for a, b in pairs]
        assert values(text, data) == expected, text
        larger = [row for row, value in enumerate(expected) if value is not None and value > 1]
        assert rows(f"{text} > 1", data) == larger, text


@each_case(
    ("text", "left", "right", "expected"),
    [
        ("a + b", kind(10, 2), kind(5, 4), kind(13, 4)),
        ("a * b", kind(10, 2), kind(5, 4), kind(16, 6)),
        ("a / b", kind(10, 2), kind(5, 4), kind(18, 6)),
        ("a % b", kind(10, 2), kind(5, 4), kind(5, 4)),
        ("a + b", kind(38, 2), kind(38, 2), kind(38, 2)),
        ("a * b", kind(38, 0), kind(38, 0), kind(38, 0)),
        ("a * b", kind(20, 2), kind(20, 2), kind(38, 4)),
        # 38 digits have no room for the digits before the point.
        ("a * b", kind(38, 2), kind(38, 2), kind(76, 4, 256)),
        ("a + b", kind(38, 38), kind(10, 2), kind(47, 38, 256)),
        ("a / b", kind(38, 2), kind(10, 2), kind(44, 6, 256)),
        ("a + b", kind(76, 2, 256), kind(10, 2), kind(76, 2, 256)),
        ("a * b", kind(50, 10, 256), kind(10, 2), kind(61, 12, 256)),
        ("a * 2", kind(38, 2), kind(1, 0), kind(38, 2)),
        ("a + 1.5", kind(10, 2), kind(1, 0), kind(11, 2)),
        ("round(a)", kind(10, 2), kind(1, 0), kind(10, 0)),
        ("round(a, 1)", kind(10, 2), kind(1, 0), kind(10, 1)),
        ("trunc(a, -1)", kind(38, 2), kind(1, 0), kind(38, 0)),
        ("floor(a)", kind(76, 2, 256), kind(1, 0), kind(76, 0, 256)),
        ("abs(a)", kind(10, 2), kind(1, 0), kind(10, 2)),
        ("nullif(a, 1.5)", kind(10, 2), kind(1, 0), kind(10, 2)),
        ("coalesce(a, 0.25)", kind(10, 1), kind(1, 0), kind(11, 2)),
    ],
)
def test_results_have_the_precision_and_scale_of_the_rules(
    text: str, left: pa.DataType, right: pa.DataType, expected: pa.DataType
) -> None:
    assert as_value(text, pa.schema({"a": left, "b": right})).type == expected


@each_case(
    ("text", "value", "of", "expected"),
    [
        ("a * 1", "9" * 74 + ".99", kind(76, 2, 256), "9" * 74 + ".99"),
        ("a / 7", str(MOST), kind(38, 0), "14285714285714285714285714285714285714.1428"),
        ("a + 1", f"0.{MOST}", kind(38, 38), f"1.{MOST}"),
        ("a * a", f"0.{MOST}", kind(38, 38), str(EXACT.power(Decimal(f"0.{MOST}"), 2))),
        ("a % 3", "9" * 75, kind(76, 0, 256), "0"),
        ("a % 0.07", "-1.50", kind(10, 2), "-0.03"),
        ("7 % a", "-2.25", kind(10, 2), "0.25"),
        ("a / 3", "-2.00", kind(5, 2), "-0.666666"),
        ("a * 1.1", "1.50", kind(10, 2), "1.65"),
        ("a * 12345678901234567890123", "2.00", kind(10, 2), "24691357802469135780246"),
        ("round(a)", "2.50", kind(10, 2), "3"),
        ("round(a)", "-2.50", kind(10, 2), "-3"),
        ("round(a, 1)", "-2.25", kind(10, 2), "-2.3"),
        ("round(a, 9)", "2.25", kind(10, 2), "2.25"),
        ("round(a, -2)", "150.00", kind(10, 2), "200"),
        ("round(a, -30)", "150.00", kind(10, 2), "0"),
        ("round(a, 0)", "9" * 74 + ".49", kind(76, 2, 256), "9" * 74),
        ("trunc(a)", "-2.99", kind(10, 2), "-2"),
        ("trunc(a, 1)", "2.99", kind(10, 2), "2.9"),
        ("trunc(a, -1)", "-29.99", kind(10, 2), "-20"),
        ("floor(a)", "-2.01", kind(10, 2), "-3"),
        ("ceil(a)", "-2.99", kind(10, 2), "-2"),
        ("ceil(a)", "2.01", kind(38, 2), "3"),
        ("mod(a, 2)", "-7.50", kind(10, 2), "-1.50"),
        ("greatest(a, 1.75)", "1.50", kind(10, 2), "1.75"),
        ("least(a, 1)", "1.50", kind(10, 2), "1"),
        ("coalesce(NULL, a)", "1.50", kind(10, 2), "1.50"),
        ("CAST(a AS decimal(10, 1))", "-2.25", kind(10, 2), "-2.3"),
        ("CAST(a AS decimal(38, 0))", "2.50", kind(76, 2, 256), "3"),
        ("CAST(a AS decimal(76, 40))", "2.25", kind(10, 2), "2.25"),
        ("CAST('1.545' AS decimal(5, 2)) + a", "0.00", kind(10, 2), "1.55"),
        ("CAST('-0.005' AS decimal(5, 2)) + a", "0.00", kind(10, 2), "-0.01"),
        ("CAST(1e2 AS decimal(5, 2)) + a", "0.00", kind(10, 2), "100"),
    ],
)
def test_values_of_decimals(text: str, value: str, of: pa.DataType, expected: str) -> None:
    assert one(text, a=(value, of)) == Decimal(expected)


@each_case(
    ("text", "value", "of"),
    [
        ("a + a", str(MOST), kind(38, 0)),
        ("a * 2", "9" * 74 + ".99", kind(76, 2, 256)),
        ("a * a", "9" * 76, kind(76, 0, 256)),
        ("CAST(a AS decimal(3, 2))", "10.00", kind(10, 2)),
        ("CAST(a AS decimal(3, 2))", "9.995", kind(10, 3)),
        ("CAST(a AS decimal(38, 2))", "1e40", kind(76, 2, 256)),
        ("CAST(a AS tinyint)", "128.5", kind(10, 2)),
        ("round(a, -1)", "99", kind(2, 0)),
    ],
)
def test_only_a_value_that_does_not_fit_is_an_error(text: str, value: str, of: pa.DataType) -> None:
    with pytest.raises(InvalidInputError, match=r"does not fit|not in range"):
        one(text, a=(value, of))


def test_a_division_of_decimals_by_zero_is_an_error_where_both_are_there() -> None:
    of = kind(38, 2)
    data = pa.table({"a": pa.array([None, Decimal(1)], of), "b": pa.array([Decimal(0)] * 2, of)})
    for operator in "/%":
        assert values(f"a {operator} b", data.slice(0, 1)) == [None]
        with pytest.raises(InvalidInputError, match="divide by zero"):
            values(f"a {operator} b", data)


@each_case(
    ("text", "expected"),
    [
        ("a = 1.5", [0]),
        ("a > b", [1]),
        ("a <> b", [1, 2]),
        ("a < x", [2]),
        ("a IN (1.5, 2)", [0, 1]),
        ("a BETWEEN 1.49 AND 1.51", [0]),
        ("a * 0.1 = 0.15", [0]),
        ("a > 1e400", []),
        ("a > -99999999999999999999999999999999999999999.5", [0, 1, 2]),
        ("n = 200", [0]),
        ("n > a", [0, 1, 2]),
        ("n + 1 = 201", [0]),
    ],
)
def test_decimals_are_compared_by_value(text: str, expected: list[int]) -> None:
    data = pa.table(
        {
            "a": pa.array([Decimal("1.50"), Decimal(2), Decimal("-0.25")], kind(10, 2)),
            "b": pa.array([Decimal("1.5"), Decimal("-7.125"), Decimal(0)], kind(60, 3, 256)),
            "n": pa.array([Decimal(200), Decimal(300), Decimal(0)], kind(4, -2)),
            "x": [0.5, 1.0, 1.0],
        }
    )
    assert rows(text, data) == expected


def test_numbers_of_digits_may_be_a_column() -> None:
    data = pa.table(
        {
            "a": pa.array([Decimal("15.15")] * 4, kind(10, 2)),
            "x": [15.25] * 4,
            "k": [1, -1, 7, None],
        }
    )
    assert values("round(a, k)", data) == [Decimal("15.2"), Decimal(20), Decimal("15.15"), None]
    assert values("round(x, k)", data) == [15.3, 20.0, 15.25, None]
    assert values("trunc(x, k)", data) == [15.2, 10.0, 15.25, None]


def test_small_decimals_are_written_without_an_exponent() -> None:
    texts = ["0.0000000000", "0.0000000001", "-0.0000000030", "-12.5000000000", None]
    numbers = [None if text is None else Decimal(text) for text in texts]
    for of in (kind(38, 10), kind(76, 10, 256)):
        data = pa.table({"a": pa.array([Decimal(1), *numbers], of)}).slice(1)
        assert values("CAST(a AS string)", data) == texts
        assert values("'' || a", data) == texts


def test_integers_without_a_common_type_become_decimals() -> None:
    data = pa.table({"i": pa.array([-1, 2], pa.int8()), "u": pa.array([2**64 - 1, 3], pa.uint64())})
    assert as_value("i * u", data.schema).type == kind(38, 0)
    assert values("i * u", data) == [-(2**64 - 1), 6]
    assert values("i + u", data) == [2**64 - 2, 5]
