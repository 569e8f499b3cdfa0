"""The example's SQL function, and those of this project, fulfil the contract of SQL functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from lance_core_example_haversine import SPEC, lance_sql_functions

import lance_core as lance
from lance_core.function_spec import SqlFunctionSpec
from lance_core.plugins import builtin, get_manager
from lance_core.plugins.manager import PluginManager
from lance_core.schema.json.encoding import encode
from lance_core_functions.plugin import FUNCTIONS
from lance_core_testing import SqlFunctionTests
from tests.conformance.planted.runner import failure_of

DEGREES = [0.0, 59.9, -90.0, 41.9]


class TestHaversine(SqlFunctionTests):
    spec = SPEC
    calls = (
        [pa.array(DEGREES), pa.array(DEGREES), pa.array(DEGREES[::-1]), pa.array(DEGREES)],
        [pa.array([0, 60, -90], pa.int32())] * 4,
    )


def test_the_example_is_right_about_distances(tmp_path: Path) -> None:
    manager = get_manager()
    is_installed = any(spec.name == SPEC.name for p in manager.plugins for spec in p.sql_functions)
    plugin = SimpleNamespace(lance_sql_functions=lance_sql_functions)
    name = None if is_installed else manager.register(plugin, "haversine of a test")
    table = pa.table({"lat": [59.9, 41.9], "lon": [10.7, 12.5]})
    dataset = lance.write_dataset(table, tmp_path / "t")
    oslo, rome = dataset.to_table(columns={"km": "distance_km(lat, lon, 41.9, 12.5)"})["km"]
    if name is not None:
        manager.unregister(name)
    assert oslo.as_py() == pytest.approx(2005, abs=5)
    assert rome.as_py() == 0


TEXTS = pa.array(["a, b", "", "Straße, Ω", "x" * 40])
LISTS = pa.array([[1, 2, None], [], [3, 3], [7]])
MOMENTS = pa.array([datetime(2024, 2, 29, 13, 5), datetime(1969, 12, 31)] * 2, pa.timestamp("us"))
DOCUMENTS = pa.array(
    [
        encode(text)
        for text in ('{"t": true, "a": false, "f": 1.5, "i": 1}', "[]", '{"a": null}', '{"a": [1]}')
    ],
    pa.large_binary(),
)
SAMPLES: Mapping[str, pa.Array] = {
    "any": pa.array([4, 1, 3, 2]),
    "integer": pa.array([4, 1, 3, 2]),
    "interval": pa.array([(0, 1, 0)] * 4, pa.month_day_nano_interval()),
    "json": DOCUMENTS,
    "list": LISTS,
    "number": pa.array([0.5, -0.25, 1.0, 0.0]),
    "struct": pa.array([{"x": 1}, {"x": 2}, {"x": 3}, {"x": None}]),
    "text": TEXTS,
    "time": MOMENTS,
}
"""A column for each type of parameters."""

JSON_PATHS = pa.array(["$.a", "$", "$.a[0]", "$.*"])
OWN_SAMPLES: Mapping[str, Sequence[pa.Array]] = {
    "arrow_cast": [LISTS, pa.array(["Utf8"] * 4)],
    "arrow_try_cast": [LISTS, pa.array(["Utf8"] * 4)],
    "date_part": [pa.array(["year"] * 4), MOMENTS],
    "date_trunc": [pa.array(["month"] * 4), MOMENTS],
    "flatten": [pa.array([[[1], [2]], [], [[3]], [[4]]])],
    "get_field": [SAMPLES["struct"], pa.array(["x"] * 4)],
    "json_array_contains": [DOCUMENTS, JSON_PATHS, pa.array(["1"] * 4)],
    "json_array_length": [DOCUMENTS, JSON_PATHS],
    "json_exists": [DOCUMENTS, JSON_PATHS],
    "json_extract": [DOCUMENTS, JSON_PATHS],
    "json_get_bool": [DOCUMENTS.take([0, 0]), pa.array(["a", "t"])],
    "json_get_float": [DOCUMENTS.take([0, 0]), pa.array(["f", "i"])],
    "json_get_int": [DOCUMENTS.take([0, 0]), pa.array(["i", "i"])],
    "make_date": [pa.array([2024, 1970]), pa.array([2, 12]), pa.array([29, 31])],
    "regexp_like": [TEXTS, pa.array(["a", "^$", "Ω", "x{3}"])],
    "to_char": [MOMENTS, pa.array(["%Y"] * 4)],
    "to_date": [pa.array([1, 2])],
}
"""Arguments of functions that need certain ones."""

WITHOUT_NULL = {
    *("array_append", "array_concat", "array_except", "array_has_all", "array_has_any"),
    *("array_intersect", "array_positions", "array_prepend", "array_remove", "array_remove_all"),
    *("array_remove_n", "array_replace", "array_replace_all", "array_replace_n", "array_union"),
    *("array_position", "coalesce", "concat", "concat_ws", "greatest", "ifnull", "is_valid"),
    *("least", "nanvl", "nullif", "nvl2", "regexp_count", "string_to_array"),
}
"""Functions for which NULL is a value."""

LITERAL_ONLY = {
    *("arrow_cast", "arrow_try_cast", "date_bin", "date_part", "date_trunc", "decode", "digest"),
    *("encode", "get_field"),
}
"""Functions with an argument that must be a literal, since the plan depends on it."""


def arguments_of(spec: SqlFunctionSpec) -> Sequence[pa.Array]:
    if spec.name in OWN_SAMPLES:
        return OWN_SAMPLES[spec.name]
    parts = [part.strip().rstrip("*") for part in spec.parameters.split(",")]
    return [SAMPLES[part] for part in parts if part[0] not in ".["]


def kit_of(spec: SqlFunctionSpec) -> SqlFunctionTests:
    kit = SqlFunctionTests()
    kit.spec, kit.calls = spec, (arguments_of(spec),)
    if spec.name in WITHOUT_NULL:
        kit.nulls = "as in pylance"  # type: ignore[misc]
    return kit


TESTS = [name for name in vars(SqlFunctionTests) if name.startswith("test_")]


@pytest.mark.parametrize("test", TESTS)
def test_the_functions_of_this_project_fulfil_the_contract(
    test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = {}
    fixtures = partial(dict, monkeypatch=monkeypatch)
    for spec in (*builtin.lance_sql_functions(), *FUNCTIONS):
        if spec.parameters and spec.name not in LITERAL_ONLY:
            failures[spec.name] = failure_of(kit_of(spec), test, fixtures)
    assert {name: text for name, text in failures.items() if text is not None} == {}
    assert len(failures) > 130


def test_the_manager_has_no_function_that_is_not_described() -> None:
    described = {spec.name for spec in (*builtin.lance_sql_functions(), *FUNCTIONS)}
    manager = PluginManager(environ={"LANCE_CORE_PLUGINS": "functions"})
    assert {spec.name for p in manager.plugins for spec in p.sql_functions} == described
