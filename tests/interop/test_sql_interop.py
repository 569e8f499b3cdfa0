"""SQL functions, operators, casts and literals have pylance's values, or a listed reason not to."""

from __future__ import annotations

import collections
from pathlib import Path

import pyarrow as pa

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import LanceError
from lance_core.plugins import get_manager
from tests.examples import share
from tests.interop.sql import samples
from tests.interop.sql.explanations import explanation, unknown_rows
from tests.interop.sql.places import disagreements
from tests.interop.sql.running import SUBJECTS, all_cases, compared

JSON = "json_"
"""The prefix of functions that `test_json_interop` compares, on documents."""

PROVIDERS = {"builtin", "functions"}
"""The plugins whose functions pylance has, too."""

TURN = 3


def test_every_function_has_expressions_to_compare() -> None:
    ours = [plugin for plugin in get_manager().plugins if plugin.source.name in PROVIDERS]
    names = {name for plugin in ours for one in plugin.sql_functions for name in one.names}
    assert len(ours) == len(PROVIDERS)
    for name in names:
        assert name.startswith(JSON) or SUBJECTS.get(f"{name}()", "").strip(), name


def test_every_reason_for_a_difference_is_a_row_of_the_reference_page() -> None:
    assert not unknown_rows()


def test_expressions_have_no_unexplained_difference_from_pylance(tmp_path: Path) -> None:
    """All of them in a full run; `python -m tests.interop.sql` prints more."""
    cases = all_cases()
    singles = share([case for case in cases if not case.is_pair], 32, TURN)
    pairs = share([case for case in cases if case.is_pair], 280, TURN)
    found = collections.Counter(
        finding.case.text
        for finding in compared([*singles, *pairs], tmp_path)
        if explanation(finding) is None
    )
    assert not found, f"{len(found)} unexplained differences"


def test_an_expression_has_the_same_values_in_every_place(tmp_path: Path) -> None:
    data = samples.singles()
    texts = []
    for case in share([case for case in all_cases() if not case.is_pair], 40, TURN):
        try:
            values = as_value(case.text, data.schema).evaluate(data)
        except LanceError:
            continue
        # In `columns=`, a literal of the outermost operation has the type of the column.
        is_outermost = case.subject in (*"+-*/%", "negative", "precedence")
        if not pa.types.is_null(values.type) and "now" not in case.text and not is_outermost:
            texts.append(case.text)
    assert len(texts) > 50
    for start in range(0, len(texts), 100):
        folder = tmp_path / str(start)
        folder.mkdir()
        assert not disagreements(texts[start : start + 100], folder)
