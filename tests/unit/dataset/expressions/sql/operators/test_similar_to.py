"""SIMILAR TO has the meaning of the SQL standard."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.expressions.filters import as_filter
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import rows

DATA = pa.table(
    {
        "s": ["apple", "banana", "bbc", "", None, "a%c", "abc", "a.c", "é\nb", "^$"],
        "p": ["a%", "b", "b_c", "", "a", "a[%]c", None, "a.c", "_%b", "^$"],
    }
)


@each_case(
    "condition, expected",
    [
        ("s SIMILAR TO 'a%'", [0, 5, 6, 7]),
        ("s SIMILAR TO '%(pp|an)%'", [0, 1]),
        ("s SIMILAR TO 'b'", []),
        ("s SIMILAR TO 'b_c'", [2]),
        ("s SIMILAR TO '_bc'", [2, 6]),
        ("s NOT SIMILAR TO 'a%'", [1, 2, 3, 8, 9]),
        ("NOT s SIMILAR TO '%_'", [3]),
        ("s SIMILAR TO 'a.c'", [7]),
        ("s SIMILAR TO '^$'", [9]),
        ("s SIMILAR TO 'ap{2}le'", [0]),
        ("s SIMILAR TO 'b(an){1,}a'", [1]),
        ("s SIMILAR TO 'b(an){3,4}a'", []),
        ("s SIMILAR TO 'b*c?|ap+le'", [0, 2, 3]),
        ("s SIMILAR TO '[ab][bp-z%]c'", [2, 5, 6]),
        ("s SIMILAR TO 'a[^.%]c'", [6]),
        ("s SIMILAR TO '[[:ALPHA:]]+'", [0, 1, 2, 6]),
        ("s SIMILAR TO '[[:alpha:]%]*'", [0, 1, 2, 3, 5, 6]),
        ("s SIMILAR TO 'a\\%c'", [5]),
        ("s SIMILAR TO 'a!%c' ESCAPE '!'", [5]),
        ("s SIMILAR TO 'a[!%]c' ESCAPE '!'", [5]),
        ("s SIMILAR TO 'a\\%c' ESCAPE ''", []),
        ("s SIMILAR TO '_(\n|x)_'", [8]),
        ("s SIMILAR TO p", [0, 2, 3, 5, 7, 8, 9]),
        ("s SIMILAR TO NULL", []),
        ("s SIMILAR TO 'a%' AND s LIKE p;", [0, 7]),
        ("s LIKE p", [0, 2, 3, 7, 8, 9]),
    ],
)
def test_the_whole_text_matches(condition: str, expected: list[int]) -> None:
    assert rows(condition, DATA) == expected
    encoded = DATA.set_column(0, "s", DATA["s"].combine_chunks().dictionary_encode())
    assert rows(condition, encoded) == expected


@each_case(
    "pattern, reason",
    [
        ("*a", "has nothing to repeat"),
        ("a|+", "has nothing to repeat"),
        ("a**", "has nothing to repeat"),
        ("(a", "parenthesis is not closed"),
        ("a)", "parenthesis is not open"),
        ("[a", "bracket is not closed"),
        ("[]", "brackets have no characters"),
        ("[b-a]", "a range ends before it begins"),
        ("[[:NAME:]]", "sets are called ALPHA"),
        ("a{x}", "a repetition is"),
        ("a{2,1}", "a repetition has at most"),
        ("a{1001}", "a repetition has at most"),
        ("a\\", "the escape has no character after it"),
    ],
)
def test_a_pattern_that_is_not_valid_names_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        as_filter(f"s SIMILAR TO '{pattern}'", DATA.schema)


def test_exceptions_in_brackets_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="exceptions in brackets"):
        as_filter("s SIMILAR TO '[a-z^b]'", DATA.schema)


def test_a_delete_removes_only_rows_whose_whole_text_matches(tmp_path: Path) -> None:
    dataset = lance_core.write_dataset(DATA, tmp_path / "t")
    dataset.delete("s SIMILAR TO 'b'")
    assert dataset.count_rows() == DATA.num_rows
    dataset.delete("s SIMILAR TO 'b%'")
    assert dataset.to_table(["s"])["s"].to_pylist() == ["apple", "", *DATA["s"].to_pylist()[4:]]


@each_case(
    "condition, expected",
    [
        ("s ~ '^a'", [0, 5, 6, 7]),
        ("s ~* '^A'", [0, 5, 6, 7]),
        ("s !~ '^a'", [1, 2, 3, 8, 9]),
        ("s !~* 'A|B'", [3, 9]),
        ("s ~ 'b' AND s !~ 'c' OR s = ''", [1, 3, 8]),
        ("s = 'abc' ;", [6]),
    ],
)
def test_operators_of_regular_expressions_and_a_last_semicolon(
    condition: str, expected: list[int]
) -> None:
    assert rows(condition, DATA) == expected
