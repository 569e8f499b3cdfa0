"""An index type that returns or raises anything gives an error with its name, or a full scan."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_core_example_sorted_hash.sorted_hash import OpenSortedHash, SortedHash

import lance_core as lance
from lance_core.dataset.read.sources.prefilter.stored_indices import index_type
from lance_core.errors import IndexWarning, LanceError, PluginLoadError
from lance_core.hookspecs import IndexTypeSpec, hookimpl
from lance_core.index.base import OpenIndex, SearchResult
from lance_core.plugins import get_manager
from tests.each_case import each_case
from tests.examples import share
from tests.liars.lies import ERRORS, WRONG_VALUES, Lie, no_lie

IDS = pa.table({"id": [3, 1, None, 4, 1, 5]})
TYPE_METHODS = ("accepts", "precision", "check_parameters", "build", "merge", "details_of")
INDEX_METHODS = ("search", "nbytes", "statistics")
RIGHT = {
    "accepts": ("True",),
    "precision": ("None",),
    "check_parameters": ("None",),
    "nbytes": ("0", "-1", "True", "False"),
    "statistics": ("dict",),
    **dict.fromkeys(("build", "merge", "details_of"), ("bytes",)),
}


class Plugin:
    """Offers the liar."""

    def __init__(self) -> None:
        self.lie = no_lie()
        self.factory: Callable[[], Any] = lambda: Liar(self)

    def make(self) -> Any:
        return self.factory()

    @hookimpl
    def lance_index_types(self) -> list[IndexTypeSpec]:
        return [
            IndexTypeSpec(
                name="liar",
                label="Liar",
                details_url="/example.org.LiarIndexDetails",
                factory=self.make,
            )
        ]


class Liar(SortedHash):
    """Does what its base does, but may end a call in another way."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin

    def open(self, folder: Any, details: bytes) -> Any:
        def opened() -> OpenIndex:
            found = SortedHash.open(self, folder, details)
            assert isinstance(found, OpenSortedHash)
            return LyingIndex(self.plugin, found)

        return self.plugin.lie.end("open", opened)


class LyingIndex(OpenSortedHash):
    """An open index of the liar."""

    def __init__(self, plugin: Plugin, inner: OpenSortedHash) -> None:
        self.plugin = plugin
        self.runs, self.nulls = inner.runs, inner.nulls

    @property
    def nbytes(self) -> Any:
        return self.plugin.lie.end("nbytes", lambda: 1)


def _lying(kind: type, method: str) -> Callable[..., Any]:
    honest = getattr(kind, method)

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return self.plugin.lie.end(method, lambda: honest(self, *arguments, **named))

    return call


for _method in TYPE_METHODS:
    setattr(Liar, _method, _lying(SortedHash, _method))
for _method in ("search", "statistics"):
    setattr(LyingIndex, _method, _lying(OpenSortedHash, _method))


@pytest.fixture(scope="module")
def plugin() -> Iterator[Plugin]:
    plugin = Plugin()
    name = get_manager().register(plugin, "liars")
    yield plugin
    get_manager().unregister(name)
    index_type.cache_clear()


def _use(uri: str) -> None:
    """Make, search, list and extend an index."""
    dataset = lance.write_dataset(IDS, uri)
    dataset.create_scalar_index("id", "liar")
    assert lance.dataset(uri).to_table(filter="id = 1").num_rows == 2
    assert lance.dataset(uri).to_table(filter="id IS NULL").num_rows == 1
    lance.dataset(uri).stats.index_stats("id_idx")
    lance.write_dataset(IDS, uri, mode="append")
    lance.dataset(uri).optimize.optimize_indices()
    assert lance.dataset(uri).to_table(filter="id = 1").num_rows == 4


def _cases() -> Iterator[tuple[str, str, Lie]]:
    answers: dict[str, Callable[[Any], Any]] = {
        **{name: lambda _, make=make: make() for name, make in WRONG_VALUES.items()},
        **{name: lambda _, make=make: make() for name, make in ERRORS.items()},
        "a result without rows": lambda _: SearchResult(None),  # type: ignore[arg-type]
        "numbers": lambda _: SearchResult([1, 2]),  # type: ignore[arg-type]
    }
    for method in (*TYPE_METHODS, "open", *INDEX_METHODS):
        for name, answer in answers.items():
            if name not in RIGHT.get(method, ()):
                yield method, name, Lie(method, answer, always=True)


@each_case("method, name, lie", lambda: share(list(_cases()), 8, 0))
def test_no_answer_of_an_index_type_is_a_wrong_row_or_an_error_without_its_name(
    plugin: Plugin, tmp_path: Path, method: str, name: str, lie: Lie
) -> None:
    index_type.cache_clear()
    plugin.lie = lie
    ended: Exception | None = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", IndexWarning)
        try:
            _use(str(tmp_path / "table"))
        except (LanceError, MemoryError) as error:
            ended = error
    plugin.lie = no_lie()
    texts = [str(ended), *(str(warning.message) for warning in warned)]
    is_legal = (method, name) in (("accepts", "False"), ("check_parameters", "None"))
    if lie.calls and not is_legal and not isinstance(ended, MemoryError):
        called = "(build|merge)" if method == "merge" else method  # one calls the other
        pattern = rf"index type 'liar' of plugin 'liars'.*: (\w+ of )?{called} (returned|raised) "
        if name == "MemoryError":  # it passes through the checks; a query does without the index
            pattern = "index 'id_idx' of .* cannot be used: MemoryError$"
        assert any(re.search(pattern, text) for text in texts), texts
    lance.dataset(str(tmp_path / "table")).to_table()


def test_a_factory_that_returns_no_index_type_or_fails_is_named(
    plugin: Plugin, tmp_path: Path
) -> None:
    dataset = lance.write_dataset(IDS, str(tmp_path / "table"))

    def broken() -> None:
        raise AttributeError("module 'sdk' has no attribute 'Index'")

    for factory, text in ((object, "returned object"), (broken, "raised AttributeError: module")):
        index_type.cache_clear()
        plugin.factory = factory
        with pytest.raises(PluginLoadError, match=f"'liar' of plugin 'liars'.* {text}"):
            dataset.create_scalar_index("id", "liar")
    plugin.factory = lambda: Liar(plugin)
