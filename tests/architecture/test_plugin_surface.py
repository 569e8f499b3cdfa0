"""Plugins, examples and templates import public names only; no public name is lost unnoticed."""

from __future__ import annotations

import ast
import importlib
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from scripts.plugin_surface import PAGE, PUBLIC, SURFACE, listing, names_of, with_tables
from scripts.plugin_surface import meaning_of as meaning
from tests.architecture.test_modules import statements
from tests.docs.page_examples import BLOCK, PAGES

ROOT = Path(__file__).parents[2]
LISTING = Path(__file__).with_name("plugin_surface.txt")
"""All public names. A line ``NAME until VERSION`` is one that has moved: it warns when it is used.

A new public name gets a line. A line goes only after the minor version that it names is released.
"""

EXCEPTIONS = {
    "lance_core_explorer": {
        "lance_core.commits": "the modules that it watches while it replays a schedule",
        "lance_core.commits.cleanup.execution": "cleanups run as actors beside writers",
        "lance_core.commits.cleanup.policy": "likewise",
        "lance_core.commits.history": "a world is checked by the versions that it holds",
        "lance_core.commits.latest": "likewise",
        "lance_core.commits.loop": "the commit loop is what it explores",
        "lance_core.commits.newest": "names are looked at in tables of a few versions",
        "lance_core.commits.options": "likewise",
        "lance_core.imports.on_demand": "a search keeps millions of objects alive",
        "lance_core.table.file_references": "no schedule may lose a file that a version references",
        "lance_core.table.fragments.data_file": "actors commit fragments that have no files",
        "lance_core.table.fragments.fragment": "likewise",
        "lance_core.table.manifest.file": "manifests are compared without a data set",
        "lance_core.table.paths": "which of two operations commute depends on the kinds of files",
        "lance_core.table.transactions.apply": "what a commit must have made is computed again",
        "lance_core.table.transactions.operations": "actors commit operations of all kinds",
        "lance_core.table.transactions.operations.base": "likewise",
        "lance_core.table.transactions.operations.reserve_fragments": "likewise",
        "lance_core.table.transactions.operations.restore": "likewise",
        "lance_core.table.transactions.operations.rewrite": "likewise",
        "lance_core.table.transactions.operations.update_config": "likewise",
        "lance_core.table.transactions.transaction": "likewise",
    },
    "lance_core_testing": {
        "lance_core.plugins.builtin": "the encodings of the core, beside a value encoding",
        "lance_core.commits.history": "a suite reads what a handler has committed",
        "lance_core.commits.loop": "a suite commits through the handler under test",
        "lance_core.commits.options": "likewise",
        "lance_core.datafile.column_map": "a suite decodes pages in memory, without a file",
        "lance_core.dataset.expressions.sql.functions": "a suite calls functions without a table",
        "lance_core.dataset.expressions.sql.nodes": "a suite lowers the limit of results",
        "lance_core.dataset.read": "a suite searches indices for few rows, too",
        "lance_core.encodings": "the registry of 2.0 that a suite puts an encoding into",
        "lance_core.encodings.context": "a suite decodes pages in memory, without a file",
        "lance_core.encodings.decoding": "likewise",
        "lance_core.encodings.dispatch": "likewise",
        "lance_core.encodings.messages": "likewise",
        "lance_core.encodings.page": "likewise",
        "lance_core.encodings.plugin_values.foreign_blocks": "a suite damages blocks of values",
        "lance_core.encodings.plugin_values.value_encoding": "likewise",
        "lance_core.encodings.registry": "the registry that a suite puts an encoding into",
        "lance_core.encodings.v2_0.base": "the contract that the suite of 2.0's encodings tests",
        "lance_core.encodings.version": "a suite decodes pages in memory, without a file",
        "lance_core.plugins.descriptors": "a suite checks a descriptor as a look-up does",
        "lance_core.plugins.factory_checks": "likewise",
        "lance_core.table.fragments.data_file": "sample transactions, which handlers store",
        "lance_core.table.fragments.fragment": "likewise",
        "lance_core.table.manifest.file": "likewise",
        "lance_core.table.paths": "a suite checks the paths that a handler writes",
        "lance_core.table.transactions.apply": "sample transactions, which handlers store",
        "lance_core.table.transactions.operations": "likewise",
        "lance_core.table.transactions.transaction": "likewise",
    },
}
"""Inner modules that the two distributions which test inner parts import, each with the reason."""


def sources() -> Iterator[tuple[str, str]]:
    """The Python code that must keep to the surface, each with where it is from."""
    patterns = (
        *("plugins/*/*_*/**/*.py", "plugins/spark/pyspark_lance/**/*.py"),
        *("tests/example_*/**/*.py", "examples/**/*.py"),
        "plugins/testing/lance_core_testing/templates/**/*.py.in",
    )
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            text = path.read_text("utf-8")
            is_template = path.suffix == ".in"
            yield path.relative_to(ROOT).as_posix(), text.replace("@", "") if is_template else text
    for page in PAGES:
        for match in BLOCK.finditer("\n" + page.read_text("utf-8")):
            if "lance_core" in match["code"]:
                yield page.relative_to(ROOT).as_posix(), match["code"]


@cache
def names(module: str) -> frozenset[str]:
    submodules = {name.rpartition(".")[2] for name in PUBLIC if name.rpartition(".")[0] == module}
    return frozenset(names_of(module) | submodules)


def inner_imports(code: str) -> Iterator[str]:
    """What code imports of lance-core that is not public: ``module`` or ``module.name``."""
    for node in statements(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
            yield from (m for m in modules if m.split(".")[0] == "lance_core" and m not in PUBLIC)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lance_core":
            module = str(node.module)
            for alias in node.names:
                if module not in PUBLIC or alias.name not in names(module):
                    yield f"{module}.{alias.name}"


def test_code_beside_the_core_imports_only_its_surface() -> None:
    read, wrong, used = 0, [], set()
    for place, code in sources():
        read += 1
        is_plugin = place.startswith("plugins/") and place.endswith(".py")
        package = place.split("/")[2] if is_plugin else ""
        for name in inner_imports(code):
            module = name.rpartition(".")[0]
            if module in EXCEPTIONS.get(package, ()):
                used.add((package, module))
            else:
                wrong.append(f"{place}: {name}")
    assert wrong == []
    assert read > 300
    assert used == {(package, name) for package in EXCEPTIONS for name in EXCEPTIONS[package]}


def test_the_page_of_the_surface_is_current() -> None:
    """`python -m scripts.plugin_surface` writes it."""
    text = PAGE.read_text("utf-8")
    assert with_tables(text) == text
    assert [module for module in SURFACE if f"<!-- surface: {module} -->" not in text] == []


def test_a_name_of_the_surface_says_what_it_means() -> None:
    silent = [(m, name) for m in SURFACE for name in names_of(m) if not meaning(m, name)]
    assert silent == []


def test_no_public_name_is_removed_or_added_unnoticed() -> None:
    lines = LISTING.read_text("utf-8").splitlines()
    moved = [line.partition(" until ")[0] for line in lines if " until " in line]
    assert lines == sorted([*listing(), *(line for line in lines if " until " in line)])
    for name in moved:
        module, _, attribute = name.rpartition(".")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(importlib.import_module(module), attribute)
        assert [one.category for one in caught] == [DeprecationWarning], name
