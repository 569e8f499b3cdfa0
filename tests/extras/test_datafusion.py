"""DataFusion evaluates the functions that are handed on to it, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.expressions import datafusion
from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.dataset.sql_query import EngineTable
from lance_core.errors import InvalidInputError, ResultTooLargeError, UnsupportedFeatureError
from tests.each_case import each_case
from tests.functions import test_list_search as lists
from tests.unit.dataset.expressions import interrupted
from tests.unit.dataset.expressions.sql.nodes.test_interruption import (
    check_growth,
    check_interrupts,
)
from tests.unit.dataset.expressions.sql_tables import values

DATA = pa.table(
    {
        "id": [1, 2, None],
        "Name": ["a", "b-c", None],
        "l": [[3, 1], [], None],
        "x y": [1.5, -1, 0],
    }
)


@each_case(
    "text, expected",
    [
        ("array_sort(l)", [[1, 3], [], None]),
        ("ARRAY_SORT(`l`, 'DESC')[1] + id", [4, None, None]),
        ("array_append(l, id)", [[3, 1, 1], [2], [None]]),
        ("string_to_array(Name, '-')", [["a"], ["b", "c"], None]),
        ("array_to_string(string_to_array(Name, '-'), 'o''o')", ["a", "bo'oc", None]),
        ("array_reverse([1, 2])", [[2, 1], [2, 1], [2, 1]]),
        ("array_to_string(l, '\\')", ["3\\1", "", None]),
    ],
)
def test_functions_of_datafusion_have_one_value_for_each_row(
    text: str, expected: list[Any]
) -> None:
    value = as_value(text, DATA.schema)
    data = DATA.select([path[0] for path in value.columns])
    for rows in (data, pa.concat_tables([data.slice(0, 1), data.slice(1)]), data.slice(0, 0)):
        found = value.evaluate(rows)
        assert found.type == value.type
        assert found.to_pylist() == expected[: rows.num_rows]


def test_only_evaluated_arguments_reach_datafusion(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    handed_on = datafusion.session

    def session(options: dict[str, str]) -> Any:
        seen.append(options)
        return handed_on(options)

    monkeypatch.setattr(datafusion, "session", session)
    condition = as_filter("id = 1 AND array_to_string(l, upper(Name)) = '3A1'", DATA.schema)
    assert condition.columns == (("id",), ("l",), ("Name",))
    assert condition.mask(DATA).tolist() == [True, False, False]
    planned = len(seen)
    assert as_filter("id + 1 = 2", DATA.schema).mask(DATA).tolist() == [True, False, False]
    assert len(seen) == planned


@each_case(
    "text, named",
    [
        ("sum(id) = 1", "function sum"),
        ("row_number() OVER () = 1", "OVER"),
        ("id = (SELECT 1)", "subquery"),
        ("id IN (SELECT 1)", "IN needs a list of values"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("id = ?", "?"),
        ("nosuchfunction(id) = 1", "nosuchfunction"),
        ("upperr(Name) = 'A'", "upperr is not supported in an expression: did you mean 'upper'"),
        ("arrow_typeof(id) = 'Int64'", "arrow_typeof"),
        ("array_resize(l, 1000000) = l", "array_resize"),
    ],
)
def test_what_is_not_on_the_list_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        as_filter(text, DATA.schema)
    assert named in str(caught.value)
    assert "DataFusion" not in str(caught.value)


def test_arguments_that_datafusion_refuses_are_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="array_sort"):
        as_value("array_sort(id)", DATA.schema)


def test_constants_cannot_make_a_result_of_datafusion_too_large() -> None:
    separator = "x" * 4000
    table = pa.table({"l": [list(range(100_000))] * 2})
    value = as_value(f"array_to_string(l, '{separator}')", table.schema)
    with pytest.raises(ResultTooLargeError, match="array_to_string"):
        value.evaluate(table)


def test_without_datafusion_the_error_names_function_and_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(datafusion, "engine", lambda: None)
    with pytest.raises(UnsupportedFeatureError, match=r"array_sort.*lance-core\[datafusion\]"):
        as_value("array_sort(l)", DATA.schema)
    assert as_value("upper(Name)", DATA.schema).evaluate(DATA).to_pylist() == ["A", "B-C", None]


def test_an_interrupt_ends_evaluations_and_queries_of_datafusion(tmp_path: Path) -> None:
    check_interrupts(interrupted.ENGINE_KINDS, tmp_path)


def test_a_scan_that_the_engine_stops_early_has_not_failed() -> None:
    table = EngineTable(lance_core.write_dataset({"a": [1, 2]}, "memory://stopped"), {})
    batches = table.get_fragments()[0].to_batches()
    assert next(batches).num_rows == 2
    batches.close()
    assert table.failure is None


def test_a_query_that_needs_more_than_its_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datafusion, "MIN_QUERY_BYTES", 1 << 16)
    monkeypatch.setattr("os.sysconf", lambda name: 1)
    dataset = lance_core.write_dataset(pa.table({"a": range(100_000)}), tmp_path / "t")
    join = "SELECT count(*) FROM t a JOIN t b ON a.a = b.a + 1"
    with pytest.raises(ResultTooLargeError, match="Resources exhausted"):
        dataset.sql(join).table_name("t").build().to_batch_records()


def test_lists_of_lists_lose_repeated_elements() -> None:
    assert values("array_distinct(n)", lists.DATA) == [[[]], [None], [], None, [[2]]]


@pytest.mark.parametrize(
    "sql",
    [
        "array_to_string(l, s)",
        "array_to_string(l, repeat('x', 100000))",
        "array_replace_all(l, 'a', s)",
        "array_append(l, repeat('x', 10000000))",
    ],
)
def test_no_function_of_datafusion_makes_more_than_the_limit_of_its_arguments(sql: str) -> None:
    check_growth(sql)
