"""Prepared conditions: the same rows and errors as if each text was planned as a whole."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.dataset.expressions.sql import filter_shapes
from lance_core.dataset.expressions.sql.expression import SqlExpression
from lance_core.dataset.expressions.sql.filter_shapes import prepared_filter
from lance_core.dataset.expressions.sql.plan import plan_filter
from lance_core.errors import InvalidInputError
from tests.each_case import each_case

DATA = pa.table(
    {
        "i": pa.array([0, 5, 7, 300, -5, None], pa.int64()),
        "b": pa.array([0, 5, 7, 255, 1, None], pa.uint8()),
        "f": pa.array([0.0, 0.5, 5.0, -0.0, float("nan"), None]),
        "h": pa.array(np.array([0, 0.1, 5, 7, 300, 5], np.float16)),
        "s": ["", "a", "it's", "5", 'a "b"', None],
        "l": pa.array(["", "a", "it's", "5", "x", None], pa.large_string()),
        "d": pa.array([0, 5, 7, 300, 5, None], pa.date32()),
        "c": pa.array(["a", "b", "5", "it's", "a", None]).dictionary_encode(),
        "x": [b"a", b"5", b"", b"b", b"c", None],
    }
)

SCHEMA = DATA.schema
"""A schema is known by its identity."""

SHAPES = [
    "i = {}",
    "i<{}",
    "i >= {} AND i <= {}",
    "i > {} and f < {} AND s <> '{}'",
    "b <= {}",
    "f = {}",
    "f <> {} AND h >= {}",
    "s = '{}'",
    "s >= '{}' AND `i` <> {}",
    "l = '{}'",
    "c = '{}'",
    "x = '{}'",
    "d < '{}'",
    "i = -{}",
    "i = {} OR i = {}",
    "i IN ({}, {})",
    "i + {} = {}",
    "{} = i",
    "NOT i = {}",
    "(i = {})",
    "i BETWEEN {} AND {}",
    "s LIKE '{}%'",
    "i = {} -- it's {}",
    "i = {} /* '{}' */",
    's = "{}"',
    "s = \"it's {} o'clock\"",
    "x = X'{}'",
    "i = 0x{}",
    "i = {}.",
    "i = {}e1",
    "i = {}; ",
    "i {} = 5",
    "i = {} $",
    "i = {} 5",
    "unknown = {}",
    "s = {}",
    "i = '{}'",
    "i = {}.{}",
    "CAST('{}' AS INT) = i",
]
"""Conditions with places for literals, of which some cannot be prepared, or are not valid."""

LITERALS = [
    "5", "7", "0", "00", "300", "255", "256", "0.5", "5.0", "5.5", "9" * 18, "9" * 19, "9" * 20,
    "9" * 400, "0" * 50 + "5", "1e2", "", "a", "it''s", "a''", "'", "x' OR 'a' = 'a", '"', "--",
    "2000-01-06", "\u0665", " 5", "5 ", "-5", "\n",
]  # fmt: skip


def _result(text: str, *, is_prepared: bool) -> object:
    """The rows that satisfy ``text`` and those for which it is NULL, or the error."""
    try:
        plan = prepared_filter if is_prepared else plan_filter
        node = plan(text, SCHEMA)
    except Exception as error:
        return type(error), str(error)
    assert pa.types.is_boolean(node.type)
    return SqlExpression(text, node).evaluate(DATA).to_pylist(), node.nullable


@each_case("shape", SHAPES)
def test_each_text_of_a_shape_has_the_result_of_its_own_plan(shape: str) -> None:
    # Twice, so that each literal is read by a shape that was prepared with another one.
    for texts in (LITERALS, LITERALS[::-1]):
        filter_shapes._shapes.reset()
        for number, literal in enumerate(texts):
            others = texts[number:] + texts[:number]
            text = shape.format(literal, *others[1:3])
            assert _result(text, is_prepared=True) == _result(text, is_prepared=False), text


def test_a_condition_of_a_known_shape_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepared_filter("i = 5 AND s < 'a'", SCHEMA)

    def fail(*_: object) -> None:
        raise AssertionError("planned")

    monkeypatch.setattr(filter_shapes, "parse", fail)
    monkeypatch.setattr(filter_shapes, "plan_filter", fail)
    second = prepared_filter("i = 300 AND s < 'it''s'", SCHEMA)
    assert SqlExpression("", first).evaluate(DATA).to_pylist()[1] is False
    assert SqlExpression("", second).evaluate(DATA).to_pylist()[3] is True
    with pytest.raises(AssertionError, match="planned"):
        prepared_filter("i = 300 AND s <= 'it''s'", SCHEMA)


def test_a_shape_belongs_to_a_schema() -> None:
    number = pa.schema([("i", pa.int8())])
    text = pa.schema([("i", pa.string())])
    assert prepared_filter("i = 5", number).type == pa.bool_()
    with pytest.raises(InvalidInputError, match="cannot compare string"):
        prepared_filter("i = 5", text)
    with pytest.raises(InvalidInputError, match="No field named"):
        prepared_filter("i = 5", pa.schema([("j", pa.int8())]))
