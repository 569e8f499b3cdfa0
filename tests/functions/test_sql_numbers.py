"""Functions of numbers in SQL, with values at the edges of their types."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import InvalidInputError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import INF, NAN, values

MIN, MAX = -(2**63), 2**63 - 1
DATA = pa.table(
    {
        "x": [2.5, -2.5, -0.0, NAN, INF, None],
        "y": [2.675, 1e300, 0.29, 123456.789, -1234.5, None],
        "i": [5, -7, MIN, MAX, 0, None],
        "k": [1, -1, 64, 65, 63, None],
        "b": pa.array([1, -128, 127, 0, 64, None], pa.int8()),
        "u": pa.array([1, 2**64 - 1, 0, 3, 7, None], pa.uint64()),
        "r": pa.array([1.5, -0.0, NAN, INF, 0.1, None], pa.float32()),
        "h": pa.array([1.5, -2.5, NAN, INF, 0.0, None], pa.float16()),
    }
)


@each_case(
    ("text", "expected"),
    [
        ("round(x)", [3.0, -3.0, -0.0, NAN, INF, None]),
        ("trunc(x)", [2.0, -2.0, 0.0, NAN, INF, None]),
        ("trunc(x, 0)", [2.0, -2.0, -0.0, NAN, INF, None]),
        ("floor(x)", [2.0, -3.0, -0.0, NAN, INF, None]),
        ("ceil(x)", [3.0, -2.0, -0.0, NAN, INF, None]),
        ("round(y, 2)", [2.68, 1e300, 0.29, 123456.79, -1234.5, None]),
        ("trunc(y, 2)", [2.67, 1e300, 0.28, 123456.78, -1234.5, None]),
        ("round(y, -2)", [0.0, 1e300, 0.0, 123500.0, -1200.0, None]),
        ("trunc(y, 300)", [2.675, 1e300, 0.29, 123456.789, -1234.5, None]),
        ("round(y, -400)", [0.0, 0.0, 0.0, 0.0, -0.0, None]),
        ("round(y, NULL)", [None] * 6),
        ("round(i, -1)", [10.0, -10.0, float(MIN), float(MAX), 0.0, None]),
        ("abs(h)", [1.5, 2.5, NAN, INF, 0.0, None]),
        ("sqrt(h)", [math.sqrt(1.5), NAN, NAN, INF, 0.0, None]),
        ("cbrt(x)", [2.5 ** (1 / 3), -(2.5 ** (1 / 3)), -0.0, NAN, INF, None]),
        ("cot(x)", [1 / math.tan(2.5), -1 / math.tan(2.5), -INF, NAN, NAN, None]),
        ("nanvl(r, 7)", [1.5, -0.0, 7.0, INF, pytest.approx(0.1), None]),
        ("greatest(x, 1)", [2.5, 1.0, 1.0, NAN, INF, 1.0]),
        ("least(x, 1)", [1.0, -2.5, -0.0, 1.0, 1.0, 1.0]),
        ("greatest(NULL, b, 3)", [3, 3, 127, 3, 64, 3]),
        ("gcd(i, 14)", [1, 7, 2, 7, 14, None]),
        ("lcm(b, 6)", [6, 384, 762, 0, 192, None]),
        ("mod(b, -5)", [1, -3, 2, 0, 4, None]),
        ("b << 1", [2, 0, -2, 0, -128, None]),
        ("b >> 7", [0, -1, 0, 0, 0, None]),
        ("i << k", [10, MIN, MIN, -2, 0, None]),
        ("i >> 63", [0, -1, -1, 0, 0, None]),
        ("i >> -1", [0, -1, -1, 0, 0, None]),
        ("u >> 63", [0, 1, 0, 0, 0, None]),
        ("u & 3 | 8", [9, 11, 8, 11, 11, None]),
        ("b ^ b", [0, 0, 0, 0, 0, None]),
        ("1 << 2 + 1", [8] * 6),
        ("i << 1 = 10", [True, False, False, False, False, None]),
        ("pi() > 3.14", [True] * 6),
        ("ln(0)", [-INF] * 6),
        ("x / 0", [INF, -INF, NAN, NAN, INF, None]),
        ("x % 2", [0.5, -0.5, -0.0, NAN, NAN, None]),
        ("power(0, -1)", [INF] * 6),
        ("iszero(x)", [False, False, True, False, False, None]),
    ],
)
def test_values_of_numbers(text: str, expected: list[Any]) -> None:
    found = values(text, DATA)
    assert found == pytest.approx(expected, rel=1e-15, nan_ok=True) or repr(found) == repr(expected)
    signs = [math.copysign(1, v) if isinstance(v, float) and v == 0 else None for v in expected]
    zeros = [math.copysign(1, v) if isinstance(v, float) and v == 0 else None for v in found]
    assert zeros == signs


def test_results_have_the_types_of_pylance() -> None:
    expected = {
        "round(h)": pa.float64(),
        "abs(h)": pa.float16(),
        "trunc(r, 1)": pa.float32(),
        "nanvl(r, 7)": pa.float32(),
        "coalesce(r, 0)": pa.float32(),
        "coalesce(r, 0.5)": pa.float64(),
        "coalesce(h, 1)": pa.float16(),
        "b << 1": pa.int8(),
        "b << i": pa.int64(),
        "u >> 1": pa.uint64(),
        "gcd(b, 6)": pa.int64(),
        "cbrt(r)": pa.float32(),
    }
    assert {text: as_value(text, DATA.schema).type for text in expected} == expected


@each_case(
    ("text", "why"),
    [
        ("gcd(i, 0)", "does not fit into 64 bits"),
        ("lcm(i, 3)", "does not fit into 64 bits"),
        ("factorial(21)", "does not fit into 64 bits"),
        ("factorial(b)", r"factorial\(-128\)"),
        ("abs(b)", "overflow"),
        ("-b", "overflow"),
        ("b + b", "overflow"),
        ("i * 2", "overflow"),
        ("i / 0", "divide by zero"),
        ("i % 0", "division by zero"),
        ("x << 1", "does not work on"),
        ("u << i", "does not work on"),
        ("gcd(x, 2)", "needs integers"),
        ("round(x, 1.5)", "needs an integer"),
        ("sqrt('a')", "needs a number"),
    ],
)
def test_what_has_no_value_is_an_error(text: str, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        values(text, DATA)


def test_factorials_are_exact() -> None:
    data = pa.table({"n": list(range(21))})
    assert values("factorial(n)", data) == [math.factorial(n) for n in range(21)]


def test_decimals_become_the_nearest_floats() -> None:
    numbers = [Decimal("0.3333333333"), Decimal("7e-10"), Decimal("-12345678901234567890.123")]
    for kind in (pa.decimal128(38, 10), pa.decimal256(60, 30)):
        data = pa.table({"d": pa.array([*numbers, None], kind)})
        assert values("CAST(d AS double)", data) == [*map(float, numbers), None]


def test_extremes_of_lists() -> None:
    kinds = (pa.list_(pa.float64()), pa.large_list(pa.float64()))
    lists = [[1.5, NAN], [], [None, 3.0, -1.0], None, [None]]
    for kind in kinds:
        data = pa.table({"l": pa.array(lists, kind)}).slice(0)
        assert repr(values("array_max(l)", data)) == "[nan, None, 3.0, None, None]"
        assert repr(values("list_min(l)", data)) == "[1.5, None, -1.0, None, None]"
        assert repr(values("array_min(l)", data.slice(2))) == "[-1.0, None, None]"
    data = pa.table(
        {
            "f": pa.array([[3, 1], None, [2, 5]], pa.list_(pa.int32(), 2)),
            "t": [["b", "é"], [], ["z", None]],
        }
    )
    assert values("array_max(f)", data) == [3, None, 5]
    assert values("array_min(f)", data.slice(1)) == [None, 2]
    assert values("array_max(t)", data) == ["é", None, "z"]
    assert values("array_max([3, 1, 2])", data) == [3] * 3


def test_a_division_of_null_by_zero_is_null() -> None:
    data = pa.table({"n": pa.array([None, 7]), "z": [0, 0], "d": pa.array([None, Decimal(1)])})
    for text in ("n / z", "n % z", "n / 0", "n % 0", "d / 0", "d % z"):
        assert values(text, data.slice(0, 1)) == [None], text
        with pytest.raises(InvalidInputError, match="zero"):
            values(text, data)


def test_the_logarithm_of_zero_to_an_undefined_base_is_nan() -> None:
    data = pa.table({"b": [float("nan"), float("inf"), 2.0, None, 10.0], "x": [0.0, 0, 0, 0, 100]})
    found = as_value("log(b, x)", data.schema).evaluate(data).to_pylist()
    assert repr(found) == "[nan, nan, -inf, None, 2.0]"
