"""Field paths as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.errors import InvalidInputError
from lance_core.schema import format_path, parse_path
from tests.each_case import each_case


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_every_path_comes_back(names: list[str]) -> None:
    assert parse_path(format_path(names)) == tuple(names)


@each_case(
    ("text", "names"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("a b.c-d", ("a b", "c-d")),
        ("a.`b.c`.d", ("a", "b.c", "d")),
        ("`a``b`", ("a`b",)),
    ],
)
def test_dots_separate_and_backticks_quote(text: str, names: tuple[str, ...]) -> None:
    assert parse_path(text) == names


def test_only_unusual_names_are_quoted() -> None:
    assert format_path(["a_1", "b.c", "d`e"]) == "a_1.`b.c`.`d``e`"


@each_case("text", ["", ".", "a.", ".a", "a..b", "`a", "a`b`", "`a`b", "``"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not a field path"):
        parse_path(text)
