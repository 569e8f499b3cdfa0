"""What ``lance-core new-plugin`` writes keeps its contracts, as it is written.

Each kind of package is written once; its test classes and functions run here as they are. The
package is registered instead of installed.
"""

from __future__ import annotations

import ast
import atexit
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from lance_core.errors import InvalidInputError
from lance_core.plugins import get_manager
from lance_core.plugins.factory_checks import problem_of
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core_testing.new_plugin import KINDS, render, write_package

NAMES = {
    "store": "drawer",
    "handler": "copying",
    "manifest-store": "folder-rows",
    "encoding": "rising",
    "index": "hashed",
    "search": "near-number",
    "analyzer": "cjk-pairs",
    "function": "word-count",
}
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
WRITTEN = Path(tempfile.mkdtemp(prefix="new-plugins-"))
atexit.register(shutil.rmtree, WRITTEN, ignore_errors=True)


def written(kind: str) -> types.ModuleType:
    """The test module of a new package, which can be imported from now on."""
    package = write_package(NAMES[kind], kind, WRITTEN)
    sys.path.append(str(package))
    (path,) = package.glob("tests/test_*.py")
    spec = importlib.util.spec_from_file_location(f"new_plugin_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module_of(kind: str) -> types.ModuleType:
    return importlib.import_module(f"lance_core_{NAMES[kind].replace('-', '_')}")


STORE, HANDLER = written("store"), written("handler")
ROWS, ENCODING = written("manifest-store"), written("encoding")
INDEX, FUNCTION = written("index"), written("function")
SEARCH, ANALYZER = written("search"), written("analyzer")


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """The packages, as if they were installed."""
    names = [get_manager().register(module_of(kind), f"new-{kind}") for kind in NAMES]
    yield
    for name in names:
        get_manager().unregister(name)


class TestStore(STORE.TestDrawerStore):  # type: ignore[misc, name-defined]
    """The store of a new package."""

    @pytest.fixture
    def tmp_path(self, tmp_path: Path) -> Iterator[Path]:
        """In memory where that is possible: each object of the store is a flush to the disk."""
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            yield Path(folder)


class TestHandler(HANDLER.TestCopyingCommitHandler):  # type: ignore[misc, name-defined]
    """The commit handler of a new package."""


class TestHandlerInMemory(TestHandler):
    """The same on a store without folders."""

    in_process_only = "its objects are in memory"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()


class TestRows(ROWS.TestFolderRowsRows):  # type: ignore[misc, name-defined]
    """The manifest store of a new package."""


class TestCommitsThroughRows(ROWS.TestCommitsThroughFolderRowsRows):  # type: ignore[misc, name-defined]
    """Commits by that manifest store."""


class TestEncoding(ENCODING.TestRising):  # type: ignore[misc, name-defined]
    """The encoding of a new package."""


class TestIndex(INDEX.TestHashed):  # type: ignore[misc, name-defined]
    """The index type of a new package."""


class TestSearch(SEARCH.TestNearNumber):  # type: ignore[misc, name-defined]
    """The search of a new package, and its index."""


class TestAnalyzer(ANALYZER.TestCjkPairs):  # type: ignore[misc, name-defined]
    """The analyzer of a new package."""


class TestFunction(FUNCTION.TestWordCount):  # type: ignore[misc, name-defined]
    """The SQL function of a new package."""


test_searches_find_words = ANALYZER.test_searches_find_words_in_texts
test_filters_call_the_function = FUNCTION.test_filters_call_it
test_filters_use_the_index = INDEX.test_filters_use_it
test_scans_use_the_search = SEARCH.test_scans_use_it
test_tables_live_on_the_store = STORE.test_tables_live_on_it
test_tables_are_committed_by_the_handler = HANDLER.test_tables_are_committed_by_it
test_tables_are_committed_through_the_rows = ROWS.test_tables_are_committed_through_them
test_tables_hold_what_is_encoded = ENCODING.test_tables_hold_what_it_encodes


def test_there_is_a_package_of_every_kind() -> None:
    assert set(NAMES) == set(KINDS)


def test_new_packages_offer_what_can_be_used() -> None:
    offered = [plugin for plugin in get_manager().plugins if plugin.source.name.startswith("new-")]
    assert len(offered) == len(KINDS)
    specs = [
        spec
        for plugin in offered
        for spec in (
            *plugin.object_stores,
            *plugin.commit_handlers,
            *plugin.manifest_stores,
            *plugin.index_types,
            *plugin.sql_functions,
            *plugin.searches,
        )
    ]
    assert [problem_of(spec) for spec in specs] == [None] * 7


def test_new_packages_have_no_gaps() -> None:
    for kind, name in {**NAMES, "store": "a-rather-long-name"}.items():
        for path, text in render(name, kind).items():
            assert re.search(r"@\w+@", path + text) is None
            assert max(map(len, text.splitlines())) <= 100, path
            if path.endswith(".py"):
                ast.parse(text)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("vault", "stor", "did you mean 'store'"),
        ("Vault", "store", "lower-case"),
        ("my_vault", "store", "lower-case"),
        ("-vault", "store", "lower-case"),
        ("vault/..", "store", "lower-case"),
        ("", "store", "lower-case"),
    ],
)
def test_what_cannot_be_a_plugin_is_refused(name: str, kind: str, text: str) -> None:
    with pytest.raises(InvalidInputError, match=text):
        render(name, kind)


def test_a_folder_that_is_there_is_kept() -> None:
    with pytest.raises(InvalidInputError, match="already exists"):
        write_package(NAMES["store"], "store", WRITTEN)
