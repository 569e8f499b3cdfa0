"""The surface for plugins: a kind of plugin imports its part, and each name is one object."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

from lance_core import hookspecs
from lance_core.hookspecs import (
    analyzers,
    arrays,
    commands,
    commits,
    concurrency,
    encodings,
    file_versions,
    functions,
    hooks,
    indices,
    json_values,
    kernels,
    namespaces,
    native_loops,
    observers,
    options,
    searches,
    stored_pages,
    stores,
    tools,
)
from lance_core.hookspecs.exports import HOMES
from tests.each_case import each_case

PARTS = {
    commands: {"command_spec"},
    arrays: {"encodings", "schema", "store", "file_version"},
    commits: {"commits", "table", "schema", "store", "file_version"},
    concurrency: set(),
    encodings: {"encodings", "store", "file_version"},
    file_versions: {"datafile", "table", "encodings", "schema", "store", "file_version"},
    functions: {"function_spec"},
    hooks: set(),
    indices: {"index", "datafile", "table", "encodings", "schema", "store", "file_version"},
    json_values: {"schema", "file_version"},
    kernels: {"encodings", "store", "file_version"},
    namespaces: {"store"},
    native_loops: set(),
    observers: set(),
    options: {"store"},
    stored_pages: {"datafile", "table", "encodings", "schema", "store", "file_version"},
    analyzers: {"index", "datafile", "table", "encodings", "schema", "store", "file_version"},
    searches: {"index", "datafile", "table", "encodings", "schema", "store", "file_version"},
    stores: {"store"},
    tools: {"schema", "table", "file_version"},
}
"""What each module of the package imports of the core."""

SHARED = {
    *("_pb", "_version", "byte_ranges", "checksums", "concurrency", "dataset", "error_texts"),
    *("errors", "fast_paths", "hookspecs", "imports", "lazy_dataclass", "observation"),
}
"""What any of them may import; of `dataset`, only the functions that import it on demand."""

LOADED = """
import importlib, sys
importlib.import_module(sys.argv[1])
parts = {name.split(".")[1] for name in sys.modules if name.startswith("lance_core.")}
print(*parts, *[name for name in sys.modules if name.startswith("lance_core.dataset.")])
"""


def loaded_by(name: str) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", LOADED, name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return set(done.stdout.split())


@each_case("name", [module.__name__ for module in PARTS])
def test_a_module_imports_only_its_part(name: str) -> None:
    own = PARTS[importlib.import_module(name)]
    assert loaded_by(name) - SHARED - {"lance_core.dataset.api"} <= own


def test_the_package_imports_no_part() -> None:
    assert loaded_by("lance_core.hookspecs") - SHARED == {"lance_core.dataset.api"}


def test_a_name_of_the_package_is_the_one_of_its_module() -> None:
    assert set(hookspecs.__all__) - set(HOMES) == {*vars(hooks)} & set(hookspecs.__all__)
    assert set(dir(hookspecs)) == set(hookspecs.__all__)
    for name, home in HOMES.items():
        assert getattr(hookspecs, name) is getattr(importlib.import_module(home), name)


def test_the_names_of_the_package_are_in_one_of_its_modules() -> None:
    for name in hookspecs.__all__:
        homes = [module for module in PARTS if hasattr(module, name)]
        assert homes, name
        assert {id(getattr(module, name)) for module in homes} == {id(getattr(hookspecs, name))}


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(hookspecs, "lance_objekt_stores")


def test_a_name_has_one_home() -> None:
    exported: dict[str, set[str]] = {}
    for module in PARTS:
        for name in getattr(module, "__all__", ()):
            exported.setdefault(name, set()).add(module.__name__)
    assert {name: homes for name, homes in exported.items() if len(homes) > 1} == {}
