"""The former names of packages that have moved are those of the new packages, until they go."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import lance_core_testing
from lance_core.errors import PluginNotFoundError
from lance_core.imports.forwarding import forward, forward_names
from tests.each_case import each_case

SUB_MODULES = [
    ("lance_core.index.scalar", "lance_core_indices", "btree.open_btree"),
    ("lance_core.index.scalar", "lance_core.index", "sort_order"),
    ("lance_core.store.remote", "lance_core_remote", "settings"),
    ("lance_core.testing", "lance_core_testing", "assertions"),
    ("lance_core.testing", "lance_core_testing", "stores.faulty"),
]
"""The former module, the new one, and a module below both."""


@pytest.fixture
def absent() -> Iterator[ModuleType]:
    """A module whose new package is not installed."""
    module = ModuleType("lance_core_former")
    module.__path__ = []
    finders = sys.meta_path[:]
    module.__getattr__ = forward(module.__name__, "lance_core_absent", extra="absent")  # type: ignore[method-assign]
    sys.modules[module.__name__] = module
    yield module
    sys.meta_path[:] = finders
    del sys.modules[module.__name__]


def forget(module: str) -> None:
    """Let the module and those below it be imported again; the new ones stay."""
    for name in [name for name in sys.modules if name.startswith(f"{module}.")]:
        del sys.modules[name]
    former = vars(importlib.import_module(module))
    for name in [name for name, value in former.items() if isinstance(value, ModuleType)]:
        del former[name]


def test_a_former_name_is_the_new_object_and_its_use_a_warning() -> None:
    former = importlib.import_module("lance_core.testing")
    with pytest.warns(DeprecationWarning, match="has moved to lance_core_testing.MemoryClient"):
        value = former.MemoryClient
    assert value is lance_core_testing.MemoryClient


@each_case("module, target, below", SUB_MODULES)
def test_a_former_sub_module_is_the_new_one(module: str, target: str, below: str) -> None:
    forget(module)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        former = importlib.import_module(f"{module}.{below}")
    texts = [str(each.message) for each in caught if each.category is DeprecationWarning]
    assert texts[-1] == f"{module}.{below} has moved to {target}.{below}"
    new = importlib.import_module(f"{target}.{below}")
    assert former is new
    assert new.__spec__ is not None
    assert new.__spec__.name == f"{target}.{below}"


def test_a_former_sub_module_with_another_name_is_the_new_one() -> None:
    forget("lance_core.testing")
    with pytest.warns(DeprecationWarning, match=r"to lance_core_testing\.object_stores\.suite"):
        former = importlib.import_module("lance_core.testing.object_store")
    assert former is importlib.import_module("lance_core_testing.object_stores.suite")


def test_a_sub_module_is_imported_from_its_former_package() -> None:
    forget("lance_core.store.remote")
    with pytest.warns(DeprecationWarning, match="has moved to lance_core_remote.retries"):
        from lance_core.store.remote import retries
    assert retries is importlib.import_module("lance_core_remote.retries")


def test_the_warning_names_the_line_that_uses_the_former_name() -> None:
    forget("lance_core.testing")
    with pytest.warns(DeprecationWarning, match=r"testing\.must_raise") as of_name:
        from lance_core.testing import must_raise
    with pytest.warns(DeprecationWarning, match=r"testing\.threads") as of_module:
        from lance_core.testing.threads import race_threads
    assert callable(must_raise)
    assert callable(race_threads)
    assert {Path(each.filename).name for each in [*of_name, *of_module]} == {Path(__file__).name}


def test_a_name_or_sub_module_that_does_not_exist_is_reported_as_missing() -> None:
    former = importlib.import_module("lance_core.testing")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        former.nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"lance_core\.testing\.nothing"):
        importlib.import_module("lance_core.testing.nothing")


def test_other_modules_are_not_forwarded() -> None:
    with pytest.raises(ModuleNotFoundError, match="lance_core_testing_of_others"):
        importlib.import_module("lance_core_testing_of_others")
    with pytest.raises(ModuleNotFoundError, match=r"lance_core\.testing_of_others"):
        importlib.import_module("lance_core.testing_of_others")


def test_without_the_distribution_the_error_names_the_extra(absent: ModuleType) -> None:
    command = r'moved to the package lance_core_absent\. pip install "lance-core\[absent\]"'
    with pytest.raises(PluginNotFoundError, match=command):
        absent.ObjectStoreTests  # noqa: B018
    with pytest.raises(PluginNotFoundError, match=command):
        importlib.import_module(f"{absent.__name__}.object_store")
    assert not hasattr(absent, "__wrapped__")


def test_importing_the_core_imports_no_forwarding() -> None:
    code = "import sys, lance_core; assert 'lance_core.imports.forwarding' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_has_moved_is_the_new_object_and_warns() -> None:
    module = ModuleType("lance_core_former_names")
    targets = {"LocalObjects": "lance_core.hookspecs.stores:LocalStore"}
    module.__getattr__ = forward_names(module.__name__, targets)  # type: ignore[method-assign]
    with pytest.warns(DeprecationWarning, match=r"moved to lance_core\.hookspecs\.stores\.Local"):
        former = module.LocalObjects
    assert former is importlib.import_module("lance_core.hookspecs.stores").LocalStore
    assert not hasattr(module, "GlobalObjects")
