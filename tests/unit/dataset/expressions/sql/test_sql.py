"""SQL expressions: names, errors, and what holds for all of them."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.dataset.expressions.sql.parser.grammar import MAX_DEPTH
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import NUMBERS, STRUCTS, rows, table, values


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


@each_case(
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
        ("(a, a) = (1, 1)", "a tuple"),
        ("frobnicate(a) = 1", "function frobnicate"),
        ("sum(a) = 1", "function sum"),
        ("row_number() OVER () = 1", "OVER"),
        ("CAST(a AS geometry) = 1", "GEOMETRY"),
        ("substr(s, f) = 'x'", "substr with an argument"),
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


@each_case(
    ("text", "why"),
    [
        ("i", "does not return a boolean but int32"),
        ("NULL", "does not return a boolean"),
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
        ("i.x = 1", "i has the type int32: it has no field x"),
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


def test_a_misspelt_field_gets_a_suggestion() -> None:
    names = [f"length_{i}" for i in range(3_000)]
    schema = pa.schema([(name, pa.struct([("depth", pa.int8())])) for name in names])
    with pytest.raises(InvalidInputError, match=r"'length_2999'.* and 2,980 more") as caught:
        as_filter("lenght_2999 IS NULL", schema)
    assert len(str(caught.value)) < 400
    with pytest.raises(InvalidInputError, match="named dept in length_7: did you mean 'depth'"):
        as_filter("length_7.dept = 1", schema)


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
    for deep in (
        "NOT " * 5000 + "a = 1",
        "- " * 5000 + "a = 1",
        "NOT (" * 5000 + "a = 1" + ")" * 5000,
        "(" * 5000 + "a = 1" + ") IS TRUE" * 5000,
        "(" * 5000 + "a" + " + 1)" * 5000 + " = 1",
        "a = " + "(1 + " * 5000 + "1" + ")" * 5000,
        "(a = 1 OR (a = 2 AND " * 5000 + "a = 3" + "))" * 5000,
        "((" * 5000 + "a = 3" + " AND a = 3) OR a = 1)" * 5000,
    ):
        with pytest.raises(InvalidInputError, match=f"more than {MAX_DEPTH} levels"):
            rows(deep, data)
    assert rows("a" + " + a" * 3000 + " = 3001", data) == [1]


def test_parentheses_around_chains_of_one_operator_may_be_thousands_deep() -> None:
    data = table(a=list(range(5)))
    count = 5000
    assert rows("(" * count + "a = 1" + ")" * count, data) == [1]
    assert rows("(" * count + "a = 1" + " OR a = 2)" * count, data) == [1, 2]
    assert rows("(a = 1 OR " * count + "a = 2" + ")" * count, data) == [1, 2]
    assert rows("(" * count + "a < 3" + " AND a > 0)" * count, data) == [1, 2]
    assert rows("a < 3 AND (" * count + "a > 0" + ")" * count, data) == [1, 2]
    assert rows("((a = 1) OR (" * count + "(a = 2)" + "))" * count, data) == [1, 2]
    assert rows("(" * count + "a" + ")" * count + " + 1 = 3", data) == [2]


def test_a_parenthesis_may_be_an_operand_of_every_operator() -> None:
    data = table(a=[1, 2, None, 4], s=["x", "y", None, "w"])
    assert rows("(a = 1 OR a = 2) IS NULL", data) == [2]
    assert rows("(a) = 1 OR (a + 1) * 2 = 10 AND (s) LIKE 'w'", data) == [0, 3]
    assert rows("((a = 1) = (s = 'x')) AND NOT (a > 3)", data) == [0, 1]
    assert rows("(a)::bigint IN (1, 4) AND (a = 1 OR (a = 4))", data) == [0, 3]
    assert rows("a = 1 OR (a = 2 AND (s = 'z' OR (s = 'y' AND (a > 1))))", data) == [0, 1]
    assert rows("(a = 1 OR a = 2) AND a = 2 OR a = 4 AND (s = 'w')", data) == [1, 3]
    for wrong in ("(a = 1", "(a = 1))", "((a = 1) OR)", "()", "(a, 1) = 1", "(a = 1) b"):
        with pytest.raises((InvalidInputError, UnsupportedFeatureError)):
            rows(wrong, data)


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


@each_case(
    "text, expected",
    [
        ("d = DECIMAL(5,2) '1.50'", [0]),
        ("d < NUMERIC(5, 2) '0'", [1]),
        ("array_has_any([1, 2], ARRAY[2, 3]) AND i = 1", [0]),
        ("i < 0 AND now() > TIMESTAMP '2024-01-01' AND current_date > DATE '2024-01-01'", [1]),
        ("current_timestamp() > TIMESTAMP '2024-01-01' AND i = 0", [4]),
        ("today() < DATE '2024-01-01'", []),
        ("round(sin(f) * 100) = 100", [0]),
        ("initcap(s) = 'Abc'", [0]),
        ("to_unixtime(from_unixtime(l)) = -2", [1]),
    ],
)
def test_typed_literals_arrays_and_the_time(text: str, expected: list[int]) -> None:
    assert rows(text, NUMBERS) == expected


def test_elements_of_lists_have_fields() -> None:
    data = pa.table({"l": pa.array([[{"a": 1, "b": {"c": "x"}}], [], None, [None, {"a": 2}]])})
    assert values("l[1].a", data) == [1, None, None, None]
    assert values("l[-1]['a']", data) == [1, None, None, 2]
    assert values("get_field(l[1], 'b').c", data) == ["x", None, None, None]
    with pytest.raises(InvalidInputError, match="No field named nothing"):
        values("l[1].nothing", data)


def test_a_condition_is_planned_once_for_each_schema() -> None:
    small, large = pa.schema({"x": pa.int8()}), pa.schema({"x": pa.int64()})
    first, other = as_filter("x + 100 > 150", small), as_filter("x + 100 > 150", large)
    assert as_filter("x + 100 > 150", small).condition is first.condition
    assert other.mask(pa.table({"x": [51, 1000]})).tolist() == [True, True]
    assert first.condition is not other.condition
