"""The SQL page has every function, operator, literal and cast, from the list that plans them."""

from __future__ import annotations

import re

from lance_core.function_spec import PARAMETER_TYPES
from lance_core.plugins.known_plugins import EXTRA_OF_FUNCTION
from lance_core_functions import plugin
from scripts import sql_constructs, sql_differences
from scripts.sql_page import FILLED, FUNCTIONS, KNOWN_PLUGINS, with_names


def test_the_written_files_are_up_to_date() -> None:
    """`python -m scripts.sql_page` writes them."""
    for path, fill in FILLED.items():
        text = path.read_text("utf-8")
        assert fill(text) == text, path


def test_the_script_adds_a_name_that_the_core_does_not_know() -> None:
    text = KNOWN_PLUGINS.read_text("utf-8")
    assert with_names(text.replace(" acosh ", " ", 1)) == text


def test_no_name_of_a_function_is_listed_twice() -> None:
    names = [name for function in FUNCTIONS for name in function.names]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)


def test_the_core_knows_the_functions_of_the_plugin() -> None:
    """It names the extra to install if one is called without the plugin."""
    names = {name for function in plugin.FUNCTIONS for name in function.names}
    assert {name for name, extra in EXTRA_OF_FUNCTION.items() if extra == "functions"} == names


def test_every_function_has_a_summary_and_known_types() -> None:
    for function in FUNCTIONS:
        assert function.summary.endswith("."), function.name
        words = re.findall(r"[a-z]+", function.parameters)
        assert set(PARAMETER_TYPES).issuperset(words), function.name


def test_a_difference_names_functions_and_operators_of_the_lists() -> None:
    known = {name for function in FUNCTIONS for name in function.names}
    known |= {sign for one in sql_constructs.OPERATORS for sign in one.signs}
    for difference in sql_differences.DIFFERENCES:
        assert known.issuperset(difference.constructs), difference.example
        assert difference.reason
