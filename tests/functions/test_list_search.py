"""Functions of lists compare elements with each other, with values and with other lists."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import InvalidInputError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import values

LISTS = [[9], [1, 2, 1], [None, 1, None], [], None, [3, 3]]
DATA = pa.table(
    {
        "l": pa.array(LISTS, pa.list_(pa.int64())),
        "big": pa.array(LISTS, pa.large_list(pa.int64())),
        "m": pa.array([[], [2], [None], [], [1], None], pa.list_(pa.int32())),
        "y": pa.array([9, 1, None, 2, 1, 3], pa.int16()),
        "f": pa.array([[], [0.0, -0.0, math.nan, math.nan], [], None, [1.0], [None]]),
        "n": pa.array([[[1], [1]], [[]], [None, None], [], None, [[2]]]),
        "s": [["a", "a"], ["b"], None, [], [""], ["a", None]],
    }
).slice(1)


def test_elements_of_null_lists_do_not_count() -> None:
    """As Arrow converts a list of a fixed size that is NULL."""
    fixed = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2))
    data = pa.table({"l": fixed.cast(pa.large_list(pa.int64())), "f": fixed, "y": [2, 0, 4]})
    for text, expected in {
        "array_has(l, 3)": [False, None, True],
        "array_has(l, y)": [True, None, True],
        "array_has_any(l, [3, 1])": [True, None, True],
        "array_has_all(f, f)": [True, None, True],
        "array_positions(l, y)": [[2], None, [2]],
        "array_distinct(l)": [[1, 2], None, [3, 4]],
        "array_max(l)": [2, None, 4],
    }.items():
        assert values(text, data) == expected, text
        assert values(text, data.slice(1)) == expected[1:], text


@each_case(
    "sql, expected",
    [
        ("array_has(l, y)", [True, None, False, None, True]),
        ("array_contains(big, 1)", [True, True, False, None, False]),
        ("array_has(l, NULL)", [None] * 5),
        ("array_has([1, 3], y)", [True, None, False, True, True]),
        ("array_has_any(l, m)", [True, True, False, None, None]),
        ("array_has_all(l, m)", [True, True, True, None, None]),
        ("array_has_any(l, [2, NULL])", [True, True, False, None, False]),
        ("array_has_all(l, [1, NULL])", [False, True, False, None, False]),
        ("array_positions(l, y)", [[1, 3], [1, 3], [], None, [1, 2]]),
        ("array_positions(big, 3)", [[], [], [], None, [1, 2]]),
        ("array_positions(l, NULL)", [[], [1, 3], [], None, []]),
        ("array_distinct(l)", [[1, 2], [None, 1], [], None, [3]]),
        ("array_distinct(s)", [["b"], None, [], [""], ["a", None]]),
        ("array_distinct([2, 2, 1])", [[2, 1]] * 5),
        ("array_length(array_distinct(f))", [3, 0, None, 1, 1]),
        ("l[y]", [1, None, None, None, None]),
        ("array_element(l, -y)", [1, None, None, None, None]),
        ("[5, 6][y]", [5, None, 6, 5, None]),
    ],
)
def test_values(sql: str, expected: list[Any]) -> None:
    assert values(sql, DATA) == expected


@each_case("sql", ["array_has(y, 1)", "array_has_any(l, s)", "array_positions(l, 'a')", "l[s]"])
def test_types_without_common_values_are_refused(sql: str) -> None:
    with pytest.raises((InvalidInputError, NotImplementedError)):
        as_value(sql, DATA.schema)
