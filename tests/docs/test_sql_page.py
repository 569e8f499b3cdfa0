"""The SQL page has every function, operator, literal and cast, from the list that plans them."""

from __future__ import annotations

import re

from lance_core.dataset.expressions.sql import catalog, differences
from lance_core.dataset.expressions.sql.functions.function_list import FUNCTIONS, GROUPS
from scripts.sql_page import PAGE, with_tables


def test_the_tables_of_the_sql_page_are_those_of_the_lists() -> None:
    """`python scripts/sql_page.py` writes them."""
    text = PAGE.read_text("utf-8")
    assert with_tables(text) == text


def test_no_name_of_a_function_is_listed_twice() -> None:
    names = [
        name
        for group in GROUPS.values()
        for function in group
        for name in (function.name, *function.aliases)
    ]
    assert len(names) == len(set(names)) == len(FUNCTIONS)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*|\|\|", name) for name in names)


def test_every_function_has_a_summary_and_known_types() -> None:
    types = {
        *("any", "boolean", "bytes", "integer", "interval", "json", "list", "number", "struct"),
        *("text", "time"),
    }
    for function in FUNCTIONS.values():
        assert function.summary.endswith("."), function.name
        words = re.findall(r"[a-z]+", function.parameters)
        assert types.issuperset(words), function.name


def test_a_difference_names_functions_and_operators_of_the_lists() -> None:
    known = {*FUNCTIONS, *(sign for one in catalog.OPERATORS for sign in one.signs)}
    for difference in differences.DIFFERENCES:
        assert known.issuperset(difference.constructs), difference.example
        assert difference.reason
