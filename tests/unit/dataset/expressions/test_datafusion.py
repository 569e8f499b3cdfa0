"""DataFusion evaluates expressions that our SQL does not support."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions import datafusion
from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.errors import InvalidInputError, ResultTooLargeError, UnsupportedFeatureError
from tests.each_case import each_case

DATA = pa.table(
    {"id": [1, 2, None], "Name": ["a", "bc", None], "l": [[3, 1], [], None], "x y": [1.5, -1, 0]}
)


@each_case(
    "text, expected",
    [
        ("lpad(Name, 3, '*')", ["**a", "*bc", None]),
        ('LPAD(`Name`, 3, "*")', ["**a", "*bc", None]),
        ("split_part('a-b', '-', 2)", ["b", "b", "b"]),
        ("array_max(l)", [3, None, None]),
        ("try_cast(Name AS int)", [None, None, None]),
        ("array_sort(l)[1] + id", [2, None, None]),
        ("to_hex(id) || `Name`", ["1a", "2bc", None]),
        ("round(`x y` << 1)", None),
    ],
)
def test_functions_of_datafusion_have_one_value_for_each_row(
    text: str, expected: list[Any] | None
) -> None:
    if expected is None:
        with pytest.raises(UnsupportedFeatureError, match="DataFusion"):
            as_value(text, DATA.schema)
        return
    value = as_value(text, DATA.schema)
    data = DATA.select([path[0] for path in value.columns])
    for rows in (data, pa.concat_tables([data.slice(0, 1), data.slice(1)]), data.slice(0, 0)):
        found = value.evaluate(rows)
        assert found.type == value.type
        assert found.to_pylist() == expected[: rows.num_rows]


def test_a_filter_needs_only_the_columns_in_its_text() -> None:
    condition = as_filter("lpad(Name, 2, '0') = '0a'", DATA.schema)
    assert condition.columns == (("Name",),)
    assert condition.mask(DATA.select(["Name"])).tolist() == [True, False, False]


@each_case(
    "text",
    [
        "sum(id) = 1",
        "row_number() OVER () = 1",
        "id = (SELECT 1)",
        "id IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "id = ?",
        "nosuchfunction(id) = 1",
    ],
)
def test_what_has_no_value_for_each_row_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError):
        as_filter(text, DATA.schema)


def test_values_that_cannot_be_computed_are_bad_input() -> None:
    value = as_value("arrow_cast(Name, 'Int32')", DATA.schema)
    with pytest.raises(InvalidInputError, match="arrow_cast"):
        value.evaluate(DATA)


def test_limits_of_memory_are_not_left_to_datafusion() -> None:
    with pytest.raises(ResultTooLargeError):
        as_value("repeat('abc', 1000000000)", DATA.schema)


def test_without_datafusion_the_error_names_function_and_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(datafusion, "engine", lambda: None)
    with pytest.raises(UnsupportedFeatureError, match=r"lpadd.*lance-core\[datafusion\]"):
        as_value("lpadd(Name, 3)", DATA.schema)
