"""Arrow's own expressions as filters and values: which columns they need, what they give."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.errors import InvalidInputError
from tests.each_case import each_case

STRUCT = pa.struct([("x", pa.int64()), ("y", pa.string()), ("in", pa.struct([("z", pa.int64())]))])
DATA = pa.table(
    {
        "a": [1, 2, None, 4],
        "ab": [5, 5, 5, 5],
        "s": ["a", "b", None, "a (b)"],
        "odd (name": [1, 2, 3, 4],
        "st": pa.array(
            [{"x": 1, "y": "p", "in": {"z": 7}}, {"x": 2, "y": None, "in": None}, None, {"x": 4}],
            STRUCT,
        ),
        "f": [0.5, float("nan"), None, 2.0],
    }
)
a, s, st = pc.field("a"), pc.field("s"), pc.field("st")


@each_case(
    ("expression", "columns", "expected"),
    [
        (a > 1, [("a",)], [1, 3]),
        ((a > 1) & (pc.field("ab") == 5), [("a",), ("ab",)], [1, 3]),
        ((a > 1) | a.is_null(), [("a",)], [1, 2, 3]),
        (~(a > 1), [("a",)], [0]),
        (a.isin([1, 4]), [("a",)], [0, 3]),
        (s == "ab", [("s",)], []),
        (s == "a", [("s",)], [0]),
        (pc.starts_with(s, "a"), [("s",)], [0, 3]),
        (pc.utf8_upper(s) == "B", [("s",)], [1]),
        (s.is_valid(), [("s",)], [0, 1, 3]),
        (pc.field("odd (name") > 2, [("odd (name",)], [2, 3]),
        (pc.field("st", "x") > 1, [("st", "x")], [1, 3]),
        (pc.field("st", "in", "z") == 7, [("st", "in", "z")], [0]),
        (
            (pc.field("st", "x") == 1) & (pc.field("st", "y") == "p"),
            [("st", "x"), ("st", "y")],
            [0],
        ),
        ((pc.field("st", "x") > 1) & st.is_valid(), [("st",)], [1, 3]),
        (pc.field("f") > 1, [("f",)], [3]),
        (pc.scalar(True), [], [0, 1, 2, 3]),
        (a.cast("string") == "4", [("a",)], [3]),
    ],
    ids=str,
)
def test_an_expression_reads_just_its_columns(
    expression: pc.Expression, columns: list[tuple[str, ...]], expected: list[int]
) -> None:
    condition = as_filter(expression, DATA.schema)
    assert list(condition.columns) == columns
    names = dict.fromkeys(path[0] for path in columns)
    mask = condition.mask(DATA.select(list(names)))
    assert [row for row, fulfilled in enumerate(mask) if fulfilled] == expected


def test_an_expression_takes_structs_that_lack_what_it_does_not_need() -> None:
    pruned = pa.table({"st": pa.array([{"in": {"z": 7}}, {"in": {"z": 8}}])})
    condition = as_filter(pc.field("st", "in", "z") == 7, DATA.schema)
    assert condition.mask(pruned).tolist() == [True, False]


@each_case(
    "expression",
    [
        pc.field(0) > 1,
        pc.field(4, 0) > 1,
        pc.struct_field(st, [0]) > 1,
        pc.struct_field(st, 0) > 1,
        pc.struct_field(st, "x") > 1,
        (s == "FieldRef.Nested(FieldRef.Name(st) FieldRef.Name(y))") | (pc.field("st", "x") > 1),
        (s == "FieldPath(0)") | (a > 1),
    ],
    ids=str,
)
def test_an_expression_never_misses_a_column(expression: pc.Expression) -> None:
    condition = as_filter(expression, DATA.schema)
    names = list(dict.fromkeys(path[0] for path in condition.columns))
    assert condition.mask(DATA.select(names)).tolist() == [False, True, False, True]


def test_an_expression_over_columns_of_one_name_reads_everything() -> None:
    data = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], ["a", "a"])
    with pytest.raises(InvalidInputError, match="Multiple matches"):
        as_filter(a > 1, data.schema)


def test_an_expression_can_be_a_value() -> None:
    value = as_value(a * 2, DATA.schema)
    assert (value.type, value.columns) == (pa.int64(), (("a",),))
    assert value.evaluate(DATA).to_pylist() == [2, 4, None, 8]


@each_case(
    ("expression", "why"),
    [
        (pc.field("nope") > 1, "No match for FieldRef.Name"),
        (pc.field("st", "nope") > 1, "No match for FieldRef.Nested"),
        (s > 1, "no kernel matching"),
        (s, "does not return a boolean but string"),
        (a + 1, "does not return a boolean but int64"),
    ],
    ids=str,
)
def test_an_expression_that_does_not_fit_the_table_is_refused(
    expression: pc.Expression, why: str
) -> None:
    with pytest.raises(InvalidInputError, match=why):
        as_filter(expression, DATA.schema)


def test_an_overflow_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="overflow"):
        as_filter(a + (2**63 - 1) > 0, DATA.schema).mask(DATA)


def test_rows_keep_their_order_over_many_chunks() -> None:
    chunks = [list(range(start, start + 1000)) for start in range(0, 200_000, 1000)]
    data = pa.table({"a": pa.chunked_array(chunks)})
    expected = [i % 7 == 0 for i in range(200_000)]
    condition = as_filter(pc.divide(a, 7) * 7 == a, data.schema)
    assert condition.mask(data).tolist() == expected
