"""SQL functions, operators, casts and literals have pylance's values, or a listed reason not to."""

from __future__ import annotations

from pathlib import Path

from lance_core.dataset.expressions.sql import functions
from tests.interop.sql.running import SUBJECTS, all_cases, compared

JSON = "json_"
"""The prefix of functions that `test_json_interop` compares, on documents."""


def test_every_function_has_expressions_to_compare() -> None:
    names = {name for name in functions.FUNCTIONS if not name.startswith(JSON) and name != "||"}
    assert not {name for name in names if not SUBJECTS.get(f"{name}()", "").strip()}


def test_padded_texts_are_those_of_pylance(tmp_path: Path) -> None:
    differences = list(map(str, compared(all_cases(["lpad()", "rpad()"]), tmp_path)))
    assert not differences
