"""Indices find rows of conditions with functions that DataFusion evaluates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lance_core
from tests.brute_index import add_index, registered
from tests.unit.dataset.read.sources.prefilter.test_prefilter import failing_table, is_searched


@pytest.fixture(scope="module", autouse=True)
def plugin() -> Iterator[None]:
    with registered():
        yield


@pytest.fixture
def failing(tmp_path: Path) -> lance_core.LanceDataset:
    return failing_table(str(tmp_path / "t"))


@pytest.mark.parametrize(
    ("condition", "expected", "is_answered"),
    [
        ("x = 2 AND array_sort(string_to_array(s, '-'))[1] = 'b'", ["b", "b"], True),
        ("array_sort(string_to_array(s, '-'))[1] = 'b' AND x IN (1, 2) -- both", ["b", "b"], True),
        (
            "(x = 2 AND array_sort(string_to_array(s, '-'))[1] = 'b') OR x = 3",
            ["b", "c", "b", "c"],
            True,
        ),
        ("NOT (x <> 2 OR array_sort(string_to_array(s, '-'))[1] <> 'b')", ["b", "b"], True),
        ("x = 2 OR array_sort(string_to_array(s, '-'))[1] = 'c'", ["b", "c", "b", "c"], False),
    ],
)
def test_datafusion_evaluates_rows_that_indices_find(
    failing: lance_core.LanceDataset, condition: str, expected: list[str], is_answered: bool
) -> None:
    assert is_searched(failing, condition) == is_answered
    for dataset in (failing, add_index(failing, "x")):
        assert dataset.to_table(["s"], filter=condition)["s"].to_pylist() == expected
        assert dataset.count_rows(condition) == len(expected)
    if is_answered and condition.startswith("x = 2"):
        plan = failing.scanner(filter=condition).explain_plan()
        assert "array_sort(string_to_array(s, '-'))" in plan
