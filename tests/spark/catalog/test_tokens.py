"""The words of SQL statements, and the texts between them."""

from __future__ import annotations

import pytest

from lance_core.errors import InvalidInputError
from lance_core_spark.catalog.tokens import Tokens


def test_a_text_ends_at_a_word_outside_of_quotes_parentheses_and_case() -> None:
    tokens = Tokens(
        "when a = 'THEN ''x''' AND f(CASE WHEN b THEN 1 ELSE 2 END) > 0 -- then\n then x;"
    )
    tokens.expect("WHEN")
    text = tokens.until("THEN")
    assert text == "a = 'THEN ''x''' AND f(CASE WHEN b THEN 1 ELSE 2 END) > 0"
    assert tokens.accept("THEN")
    assert tokens.until() == "x"
    assert tokens.is_at_end


def test_names_aliases_numbers_and_texts_are_read() -> None:
    tokens = Tokens("`a``b`. c /* no */ AS t, d u, e ON 12 'it''s \\'so\\''")
    assert tokens.name() == ("a`b", "c")
    assert tokens.alias("ON") == "t"
    tokens.expect(",")
    assert (tokens.name(), tokens.alias("ON")) == (("d",), "u")
    tokens.expect(",")
    assert (tokens.name(), tokens.alias("ON")) == (("e",), None)
    tokens.expect("ON")
    assert (tokens.number(), tokens.string()) == (12, "it's 'so'")
    tokens.expect_end()


def test_errors_say_what_is_expected_and_where() -> None:
    tokens = Tokens("UPDATE t SETT a = 1")
    tokens.expect("UPDATE")
    with pytest.raises(InvalidInputError, match="SET is expected at 't SETT a = 1'"):
        tokens.expect("SET")
    for read, expected in (
        (tokens.number, "a number"),
        (tokens.string, "a quoted text"),
        (tokens.expect_end, "the end of the statement"),
    ):
        with pytest.raises(InvalidInputError, match=expected):
            read()
    with pytest.raises(InvalidInputError, match="an expression is expected at the end"):
        Tokens("").until()
    with pytest.raises(InvalidInputError, match="a name is expected"):
        Tokens("'t'").name()
