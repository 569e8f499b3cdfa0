"""An SQL function that returns or raises anything gives an error with its name, no wrong row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from lance_core.errors import LanceError, PluginError
from lance_core.hookspecs import SqlFunctionSpec, hookimpl
from lance_core.plugins import get_manager
from lance_core.sql_functions import Node, call, converted
from tests.each_case import each_case
from tests.liars.lies import ERRORS, WRONG_VALUES, Lie, no_lie

ROWS = pa.table({"id": pa.array([3, 1, None, 4, 1, 5], pa.int64()), "kept": range(6)})


class Plugin:
    """Offers a function that is true for even numbers, and lies."""

    def __init__(self) -> None:
        self.lie = no_lie()

    def plan(self, node: Node) -> Any:
        return self.lie.end("plan", lambda: self.honest(node))

    def honest(self, node: Node) -> Node:
        return call("even", self.kernel, converted(node, pa.int64()), kind=pa.bool_())

    def kernel(self, value: Any) -> Any:
        return self.lie.end("kernel", lambda: pc.equal(pc.bit_wise_and(value, 1), 0))

    @hookimpl
    def lance_sql_functions(self) -> list[SqlFunctionSpec]:
        return [SqlFunctionSpec("even", self.plan, "number", "True for even numbers.")]


@pytest.fixture(scope="module")
def plugin() -> Iterator[Plugin]:
    plugin = Plugin()
    name = get_manager().register(plugin, "liars")
    yield plugin
    get_manager().unregister(name)


USES: dict[str, Callable[[lance.LanceDataset], Any]] = {
    "filter": lambda dataset: dataset.to_table(filter="even(id)"),
    "part": lambda dataset: dataset.to_table(filter="NOT even(id) AND kept > 1"),
    "column": lambda dataset: dataset.to_table(columns={"even": "even(id)"}),
    "count": lambda dataset: dataset.count_rows("even(id) IS NULL"),
    "delete": lambda dataset: dataset.delete("NOT even(id)"),
    "update": lambda dataset: dataset.update({"kept": "7"}, where="even(id)"),
}


def _cases() -> Iterator[tuple[str, str, Lie]]:
    answers: dict[str, Callable[[Any], Any]] = {
        **{name: lambda _, make=make: make() for name, make in WRONG_VALUES.items()},
        **{name: lambda _, make=make: make() for name, make in ERRORS.items()},
    }
    of_kernel: dict[str, Callable[[Any], Any]] = {
        "fewer values": lambda honest: honest[1:],
        "more values": lambda honest: pa.concat_arrays([honest, honest]),
        "no values": lambda honest: honest[:0],
        "chunks": lambda honest: pa.chunked_array([honest]),
        "numpy": lambda honest: honest.to_numpy(zero_copy_only=False),
        "numbers": lambda honest: pc.cast(honest, pa.int8()),
        "texts": lambda honest: pc.cast(honest, pa.string()),
        "a number": lambda _: pa.scalar(1),
        "null": lambda _: pa.scalar(None),
    }
    for name, answer in answers.items():
        yield "plan", name, Lie("plan", answer, always=True)
    for name, answer in {**answers, **of_kernel}.items():
        yield "kernel", name, Lie("kernel", answer, always=True)


@each_case("method, name, lie", lambda: list(_cases()))
def test_no_answer_of_a_function_is_a_wrong_row_or_an_error_without_its_name(
    plugin: Plugin, tmp_path: Path, method: str, name: str, lie: Lie
) -> None:
    dataset = lance.write_dataset(ROWS, tmp_path / "table")
    for use in USES.values():
        plugin.lie = lie
        with pytest.raises((LanceError, MemoryError)) as raised:
            use(dataset)
        plugin.lie = no_lie()
        if name not in ("MemoryError", "RecursionError"):
            assert isinstance(raised.value, PluginError), method
            assert "function 'even' of plugin 'liars'" in str(raised.value)
        assert lance.dataset(tmp_path / "table").to_table() == ROWS


def test_the_honest_function_changes_what_it_should(plugin: Plugin, tmp_path: Path) -> None:
    for name, use in USES.items():
        use(lance.write_dataset(ROWS, tmp_path / name))
    assert lance.dataset(tmp_path / "delete").to_table()["kept"].to_pylist() == [2, 3]
    assert sorted(lance.dataset(tmp_path / "update").to_table()["kept"].to_pylist()) == [
        *(0, 1, 2, 4, 5, 7)
    ]
