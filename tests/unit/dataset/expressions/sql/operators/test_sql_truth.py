"""Random conditions against three-valued logic written down in plain Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core.dataset.expressions.filters import as_filter, as_value
from tests.examples import examples

Truth = bool | None
Row = dict[str, Any]

INTEGERS = [None, -128, -3, -1, 0, 1, 2, 3, 127]
FLOATS = [None, -math.inf, -1.5, -0.0, 0.0, 0.5, 1.0, 2.5, math.inf, math.nan, -math.nan]
TEXTS = [None, "", "a", "ab", "b", "B", "a%", "é"]
BOOLEANS = [None, True, False]
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int8(), INTEGERS),
    "j": (pa.int64(), INTEGERS),
    "u": (pa.uint8(), [None, 0, 1, 2, 3, 255]),
    "x": (pa.float64(), FLOATS),
    "s": (pa.string(), TEXTS),
    "c": (pa.dictionary(pa.int32(), pa.string()), TEXTS),
    "b": (pa.bool_(), BOOLEANS),
}
NUMERIC, TEXTUAL = ["i", "j", "u", "x"], ["s", "c"]


@dataclass(frozen=True)
class Condition:
    """SQL text and what it means."""

    sql: str
    meaning: Callable[[Row], Truth]

    def __repr__(self) -> str:
        return self.sql


COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def key(value: Any) -> Any:
    """Orders floats with NaN at the top, or at the bottom with a sign; other values as they are."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (math.copysign(1, value), 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def compared(name: str, left: Any, right: Any) -> Truth:
    if left is None or right is None:
        return None
    return bool(COMPARISONS[name](key(left), key(right)))


def negated(value: Truth) -> Truth:
    return None if value is None else not value


def conjunction(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def disjunction(left: Truth, right: Truth) -> Truth:
    return negated(conjunction(negated(left), negated(right)))


def among(value: Any, choices: list[Any]) -> Truth:
    result: Truth = False
    for choice in choices:
        result = disjunction(result, compared("=", value, choice))
    return result


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


NUMBERS = st.one_of(
    st.sampled_from([None, -129, -1, 0, 1, 2, 127, 128, 255, 256, 2**63 - 1, 2**64 - 1, 2**70]),
    st.integers(-4, 4),
    st.sampled_from([-1.5, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 2.5, 127.5, 255.5, 1e300]),
)
LITERALS = {
    **dict.fromkeys(NUMERIC, NUMBERS),
    **dict.fromkeys(TEXTUAL, st.sampled_from([*TEXTS, "zz"])),
    "b": st.sampled_from(BOOLEANS),
}


@st.composite
def comparisons(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from(list(COLUMNS)))
    name = draw(st.sampled_from(list(COMPARISONS)))
    value = draw(LITERALS[column])
    if draw(st.booleans()):
        return Condition(
            f"{column} {name} {literal(value)}", lambda row: compared(name, row[column], value)
        )
    return Condition(
        f"{literal(value)} {name} {column}", lambda row: compared(name, value, row[column])
    )


@st.composite
def comparisons_of_columns(draw: st.DrawFn) -> Condition:
    alike = draw(st.sampled_from([NUMERIC, TEXTUAL, ["b"]]))
    left, right = draw(st.sampled_from(alike)), draw(st.sampled_from(alike))
    name = draw(st.sampled_from(list(COMPARISONS)))
    return Condition(f"{left} {name} {right}", lambda row: compared(name, row[left], row[right]))


@st.composite
def lists(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from(list(COLUMNS)))
    choices = draw(st.lists(LITERALS[column], min_size=1, max_size=20))
    sql = ", ".join(map(literal, choices))
    if draw(st.booleans()):
        return Condition(f"{column} IN ({sql})", lambda row: among(row[column], choices))
    return Condition(f"{column} NOT IN ({sql})", lambda row: negated(among(row[column], choices)))


@st.composite
def ranges(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from(list(COLUMNS)))
    low, high = draw(LITERALS[column]), draw(LITERALS[column])

    def inside(row: Row) -> Truth:
        value = row[column]
        return conjunction(compared(">=", value, low), compared("<=", value, high))

    text = f"BETWEEN {literal(low)} AND {literal(high)}"
    if draw(st.booleans()):
        return Condition(f"{column} {text}", inside)
    return Condition(f"{column} NOT {text}", lambda row: negated(inside(row)))


@st.composite
def null_tests(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from(list(COLUMNS)))
    if draw(st.booleans()):
        return Condition(f"{column} IS NULL", lambda row: row[column] is None)
    return Condition(f"{column} IS NOT NULL", lambda row: row[column] is not None)


def always(value: Truth) -> Condition:
    return Condition(literal(value), lambda row: value)


LEAVES = st.one_of(
    comparisons(),
    comparisons_of_columns(),
    lists(),
    ranges(),
    null_tests(),
    st.just(Condition("b", lambda row: row["b"])),
    st.builds(always, st.sampled_from(BOOLEANS)),
)


def joined(parts: tuple[Condition, Condition], word: str) -> Condition:
    left, right = parts
    join = conjunction if word == "AND" else disjunction
    return Condition(
        f"({left.sql}) {word} ({right.sql})",
        lambda row: join(left.meaning(row), right.meaning(row)),
    )


def asked(part: Condition, test: str) -> Condition:
    meanings: dict[str, Callable[[Truth], Truth]] = {
        "IS TRUE": lambda value: value is True,
        "IS NOT TRUE": lambda value: value is not True,
        "IS FALSE": lambda value: value is False,
        "IS NOT FALSE": lambda value: value is not False,
        "IS NULL": lambda value: value is None,
        "IS NOT NULL": lambda value: value is not None,
    }
    return Condition(f"({part.sql}) {test}", lambda row: meanings[test](part.meaning(row)))


def trees(parts: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    tests = ["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS NULL", "IS NOT NULL"]
    return st.one_of(
        st.builds(joined, st.tuples(parts, parts), st.sampled_from(["AND", "OR"])),
        st.builds(
            lambda part: Condition(f"NOT ({part.sql})", lambda row: negated(part.meaning(row))),
            parts,
        ),
        st.builds(asked, parts, st.sampled_from(tests)),
    )


CONDITIONS = st.recursive(LEAVES, trees, max_leaves=8)
ROWS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, (_, values) in COLUMNS.items()}),
    min_size=1,
    max_size=30,
)


@settings(max_examples=examples(80))
@given(CONDITIONS, ROWS, st.integers(0, 5))
def test_a_condition_means_what_three_valued_logic_says(
    condition: Condition, rows: list[Row], cut: int
) -> None:
    columns = {}
    for name, (kind, _) in COLUMNS.items():
        values = [row[name] for row in rows]
        # Two chunks of different content, as two pages give them.
        columns[name] = pa.chunked_array([pa.array(v, kind) for v in (values[:cut], values[cut:])])
    data = pa.table(columns)
    expected = [condition.meaning(row) for row in rows]
    text = f"({condition.sql}) OR false"
    assert as_value(text, data.schema).evaluate(data).to_pylist() == expected
    mask = as_filter(text, data.schema).mask(data)
    assert mask.tolist() == [value is True for value in expected]
