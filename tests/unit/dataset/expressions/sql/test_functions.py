"""SQL functions are looked up in plugins: they mean the same everywhere, or are refused by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from lance_core.dataset.expressions.filters import as_filter
from lance_core.errors import (
    InvalidInputError,
    PluginConflictError,
    PluginLoadError,
    PluginNotFoundError,
    ResultTooLargeError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs import SqlFunctionSpec, hookimpl
from lance_core.plugins import get_manager
from lance_core.plugins import manager as managers
from lance_core.plugins.known_plugins import EXTRA_OF_FUNCTION
from lance_core.plugins.loading import InstalledPlugins, PluginLoadFailure
from lance_core.plugins.manager import PluginManager
from lance_core.sql_functions import Node, call, check_added, literal_argument, text_argument
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import NUMBERS, rows, table, values

PIP = 'pip install "lance-core[functions]"'
TEXTS = table(s=["a b", None, "", "c"], n=[1, 2, 3, None], sep=[" ", "x", None, "c"])

Register = Callable[..., None]


def words(node: Node) -> Node:
    """The number of words."""
    return call("words", _words, text_argument("words", node))


def _words(value: Any) -> Any:
    return pc.cast(pc.count_substring_regex(value, r"\S+"), pa.int64())


def without(node: Node, part: Node) -> Node:
    """The text without a part, which is an option."""
    text = literal_argument("without", part, str)
    return call("without", lambda value: pc.replace_substring(value, text, ""), node)


def huge(node: Node) -> Node:
    """A function that would need far too much memory."""

    def kernel(value: Any) -> Any:
        check_added("huge", len(value) << 40)
        raise AssertionError("the size is checked first")

    return call("huge", kernel, node, kind=pa.string())


WORDS = SqlFunctionSpec("words", words, "text", "The number of words.", ("num_words",))
WITHOUT = SqlFunctionSpec("without", without, "text, text*", "The text without a part.")


@pytest.fixture
def register() -> Iterator[Register]:
    """Registers plugins that offer functions for the length of a test."""
    names: list[str] = []

    def add(*specs: SqlFunctionSpec, name: str = "mine") -> None:
        plugin = SimpleNamespace(lance_sql_functions=hookimpl(lambda: specs))
        names.append(get_manager().register(plugin, name))

    yield add
    for name in names:
        get_manager().unregister(name)


@pytest.fixture
def core_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an environment with nothing but the core."""
    monkeypatch.setattr(managers, "_manager", PluginManager(entry_points=False))


@pytest.mark.parametrize("name", ["words", "WORDS", "num_words", "Num_Words"])
def test_a_function_is_called_by_its_name_and_its_aliases_in_any_case(
    register: Register, name: str
) -> None:
    register(WORDS)
    assert values(f"{name}(s)", TEXTS) == [2, None, 0, 1]
    assert rows(f"{name}(s) = 2", TEXTS) == [0]
    assert values(f"{name}('x y z')", TEXTS) == [3] * 4


def test_an_option_is_a_constant_for_the_planner_and_may_be_a_column(register: Register) -> None:
    register(WITHOUT)
    assert values("without(s, ' ')", TEXTS) == ["ab", None, "", "c"]
    assert values("without(s, sep)", TEXTS) == ["ab", None, None, ""]
    assert values("without(s, NULL)", TEXTS) == [None] * 4


def test_functions_work_in_filters_updates_and_projections_of_tables(
    register: Register, tmp_path: Path
) -> None:
    register(WORDS)
    dataset = lance.write_dataset(TEXTS, tmp_path / "t")
    assert dataset.to_table(filter="words(s) > 0")["n"].to_pylist() == [1, None]
    assert dataset.to_table(columns={"w": "words(s)"})["w"].to_pylist() == [2, None, 0, 1]
    dataset.update({"n": "words(s)"}, where="words(s) = 1")
    assert dataset.to_table(filter="s = 'c'")["n"].to_pylist() == [1]


def test_wrong_arguments_are_refused_before_a_row_is_read(register: Register) -> None:
    register(WORDS)
    for text, message in (
        ("words()", "words does not take 0 arguments; it is words\\(text\\)"),
        ("num_words(s, s)", "num_words does not take 2 arguments; it is words\\(text\\)"),
        ("words(n)", "words needs text, not int64"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            values(text, TEXTS)


def test_results_are_nullable_unless_the_planner_knows_better(register: Register) -> None:
    register(WORDS, SqlFunctionSpec("sure", words, "text", "As words.", infers_nullable=True))
    schema = pa.schema([pa.field("s", pa.string(), nullable=False)])
    data = pa.table([["a b"]], schema)
    assert as_filter("words(s) = 2 AND sure(s) = 2", schema).mask(data).tolist() == [True]


def test_two_providers_of_a_function_are_an_error_that_names_both(register: Register) -> None:
    register(WORDS, name="first")
    register(SqlFunctionSpec("num_words", words, "text", "The same."), name="second")
    assert values("words(s)", TEXTS) == [2, None, 0, 1]
    with pytest.raises(PluginConflictError, match=r"'num_words' is provided by 'first'.*'second'"):
        values("NUM_WORDS(s)", TEXTS)


@pytest.mark.parametrize("name", ["upper", "coalesce"])
def test_a_function_of_this_project_cannot_be_replaced_in_silence(
    register: Register, name: str
) -> None:
    register(SqlFunctionSpec(name, words, "text", "Another."))
    with pytest.raises(PluginConflictError, match=f"'{name}' is provided by .*'mine'"):
        values(f"{name}(s)", TEXTS)


def test_an_unknown_function_is_answered_with_the_nearest_name(register: Register) -> None:
    register(WORDS)
    for name, near in (("num_word", "num_words"), ("uper", "upper"), ("coalesc", "coalesce")):
        with pytest.raises(UnsupportedFeatureError) as raised:
            values(f"{name}(s)", TEXTS)
        expected = f"the function {name} is not supported in an expression: did you mean '{near}'?"
        assert expected in str(raised.value)


@each_case("call", ["upper(s)", "NVL(s, 'x')", "json_get(s, 'x')", "extract(year from s)", "now()"])
def test_without_its_plugin_a_function_is_refused_with_the_extra(
    core_alone: None, call: str
) -> None:
    for text in (call, f"s = 'a' OR {call} = 1"):
        with pytest.raises(PluginNotFoundError) as raised:
            values(text, TEXTS)
        name = {"extract": "date_part"}.get(call.partition("(")[0], call.partition("(")[0])
        start = f"no plugin provides the SQL function '{name}'. {PIP}. in process "
        assert str(raised.value).startswith(start)


def test_without_plugins_an_unknown_function_is_still_answered_with_the_nearest_name(
    core_alone: None,
) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"uper is not supported.* mean 'upper'"):
        values("uper(s)", TEXTS)


SYNTAX = {
    "i + 1 > 0 AND NOT b": [4],
    "s LIKE 'a%' OR s ILIKE 'z%'": [0, 2, 4],
    "s SIMILAR TO '(a|Z)%'": [0, 2, 4],
    "s ~ '^a.c' OR s ~* '^Z'": [0, 2, 4],
    "s !~ 'a' AND s !~* 'z'": [1],
    "CASE WHEN b THEN i ELSE 7 END = 1": [0],
    "CASE i WHEN 1 THEN true ELSE false END": [0],
    "i IN (1, 0) OR i BETWEEN -3 AND -1": [0, 1, 4],
    "i IS NULL OR b IS TRUE": [0, 2, 3],
    "i IS NOT DISTINCT FROM 1": [0],
    "CAST(i AS string) = '1' OR i::bigint = 0": [0, 4],
    "s || 'x' = 'abcx'": [0],
    "[1, 2][1] = i": [0],
    "ARRAY[1, 2][i] = 1": [0, 1],
    "date '2024-01-01' + interval '1 day' > date '2024-01-01' AND i = 1": [0],
    "i & 1 = 1 AND i << 1 = 2": [0],
    "coalesce(i, 7) = 7 OR nullif(i, 1) IS NULL": [0, 3],
    "regexp_like(s, 'ABC', 'i')": [0],
}


@each_case("text", SYNTAX)
def test_syntax_needs_no_plugin(core_alone: None, text: str) -> None:
    assert rows(text, NUMBERS) == SYNTAX[text]


def test_fields_of_structs_need_no_plugin(core_alone: None) -> None:
    data = table(st=[{"x": 1}, {"x": 2}], ls=[[{"x": 1}], []])
    assert rows("st.x = 1 OR st['x'] = 7 OR ls[1].x = 2", data) == [0]


def test_a_disabled_and_a_failing_plugin_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = PluginManager(environ={"LANCE_CORE_DISABLE_PLUGINS": "functions"})
    monkeypatch.setattr(managers, "_manager", manager)
    with pytest.raises(PluginNotFoundError, match="lance-core-functions is disabled by"):
        values("upper(s)", TEXTS)
    with pytest.raises(UnsupportedFeatureError, match=r"disabled by .*'functions' of lance-core-f"):
        values("no_such_function(s)", TEXTS)
    failure = PluginLoadFailure("functions", "lance-core-functions 0.1.0", ImportError("no disk"))
    left_out = InstalledPlugins(failures=(failure,))
    monkeypatch.setattr(managers, "installed_plugins", lambda environ: left_out)
    monkeypatch.setattr(managers, "_manager", PluginManager())
    with pytest.raises(PluginNotFoundError, match=r"'upper'. failed to load: .*no disk"):
        values("upper(s)", TEXTS)
    with pytest.raises(UnsupportedFeatureError, match=r"failed to load: .*no disk"):
        values("no_such_function(s)", TEXTS)


def test_a_planner_may_be_an_import_path_whose_errors_name_the_function(
    register: Register,
) -> None:
    register(
        SqlFunctionSpec("words", f"{__name__}:words", "text", "The number of words."),
        SqlFunctionSpec("gone", "no_such_module:words", "text", "Nothing."),
        SqlFunctionSpec("numbers", "math:pi", "text", "Nothing."),
    )
    assert values("words(s)", TEXTS) == [2, None, 0, 1]
    for name, message in (
        ("gone", "function 'gone' cannot be loaded from 'no_such_module:words'"),
        ("numbers", "'math:pi' of function 'numbers' is not callable"),
    ):
        with pytest.raises(PluginLoadError, match=message):
            values(f"{name}(s)", TEXTS)


def test_a_function_keeps_to_the_limit_of_results(register: Register) -> None:
    register(SqlFunctionSpec("huge", huge, "text", "Far too much."))
    with pytest.raises(ResultTooLargeError, match="huge makes values longer by"):
        values("huge(s)", TEXTS)


def test_the_functions_that_are_known_are_those_of_the_plugin() -> None:
    (plugin,) = [one for one in get_manager().plugins if one.source.name == "functions"]
    names = {name for spec in plugin.sql_functions for name in spec.names}
    assert {name for name, extra in EXTRA_OF_FUNCTION.items() if extra == "functions"} == names


LAZY = """
import sys
import lance_core as lance
import pyarrow as pa
from lance_core.plugins import manager as managers

data = pa.table({"i": [1, 2], "s": ["a", "b"]})
dataset = lance.write_dataset(data, "memory://lazy/t")
entry_points = []
managers.installed_plugins = lambda environ: entry_points.append(1) or managers.InstalledPlugins()
managers._manager = None
from lance_core.dataset.expressions.filters import as_filter
as_filter("i + 1 > 1 AND s LIKE 'a%' AND s || 'x' ~ 'b' AND i IN (1, 2)", data.schema).mask(data)
assert not entry_points
assert "lance_core_functions.text" not in sys.modules
assert "lance_core.dataset.expressions.sql.functions" not in sys.modules
"""


def test_a_filter_without_a_function_reads_no_entry_points() -> None:
    subprocess.run([sys.executable, "-c", LAZY], check=True, timeout=60)
