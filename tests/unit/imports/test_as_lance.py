"""A process whose `import lance` is this library, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lance_core import __version__

MODULES_OF_PYLANCE = ["blob", "commit", "dataset", "file", "fragment", "lance", "optimize", "query"]

ALIAS = """
import importlib, importlib.util, pickle, sys
import lance_core
lance_core.install_as_lance()
lance_core.install_as_lance()
assert "lance_core.dataset.dataset" not in sys.modules
import lance
finders = [type(each).__name__ for each in sys.meta_path]
assert finders.count("ModuleAlias") == 1, finders
for name in sys.argv[1:]:
    module = importlib.import_module("lance." + name)
    assert module is importlib.import_module("lance_core." + name), module
assert lance.LanceDataset is lance_core.LanceDataset
from lance.dataset import LanceDataset
from lance.dataset.snapshot.session import Session
assert LanceDataset is lance_core.LanceDataset and Session is lance_core.Session
assert lance.dataset is lance_core.dataset
modules = set(sys.modules.values()) - {lance}
files = [each.__file__ for each in modules if each.__name__.startswith("lance")]
assert len(files) == len(set(files))
assert set(lance.__all__) <= set(dir(lance))
assert importlib.util.find_spec("lance").origin == lance.__file__ == lance_core.__file__
assert importlib.util.find_spec("lance.nothing") is None
assert pickle.loads(b"clance.dataset\\nLanceDataset\\n.") is LanceDataset
lance.dataset = None
assert lance_core.dataset is not None
print(lance.__version__)
"""

UNUSED_MODULE = """
import lance_core
lance_core.install_as_lance()
import lance
assert lance.query.__name__ == "lance_core.query"
for name in ("nothing", "_nothing", "dataset.nothing"):
    assert not hasattr(lance, name), name
try: lance.nothing
except AttributeError as error: print(error)
"""

TOO_LATE = """
import sys
sys.path.insert(0, sys.argv[1])
import lance, lance_core
try: lance_core.install_as_lance()
except lance_core.errors.PluginConflictError as error: print(error)
assert lance is sys.modules["lance"] and lance.mine
"""


def run(code: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_lance_is_this_library_with_all_its_modules_and_no_second_copy() -> None:
    assert run(ALIAS, *MODULES_OF_PYLANCE) == f"14.0.2+lance.core.{__version__}"


def test_the_version_is_one_that_programs_can_compare() -> None:
    version = pytest.importorskip("packaging.version")
    parsed = version.parse(f"14.0.2+lance.core.{__version__}")
    assert parsed >= version.parse("14.0.2")
    assert parsed < version.parse("14.0.3")
    assert not parsed.is_prerelease


def test_a_module_is_there_at_its_first_use_and_unknown_names_are_reported() -> None:
    assert run(UNUSED_MODULE) == "module 'lance' has no attribute 'nothing'"


def test_another_lance_that_was_imported_before_stays(tmp_path: Path) -> None:
    (tmp_path / "lance").mkdir()
    (tmp_path / "lance" / "__init__.py").write_text("mine = True\n", "utf-8")
    told = run(TOO_LATE, str(tmp_path))
    assert told.startswith(f"lance has been imported from {tmp_path}")
    assert "call install_as_lance() before anything that imports it" in told
