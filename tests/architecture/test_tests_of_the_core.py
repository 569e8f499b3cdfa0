"""The tests of the core: what they may import, and the map that names the tests of each module."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from scripts.tests_of_modules import is_right, own_test, stored, without_own_test
from tests.architecture.test_modules import statements

ROOT = Path(__file__).parents[2]

INSTALLED = {
    *("google", "hypothesis", "numpy", "packaging", "pluggy", "pyarrow", "pyroaring", "pytest"),
    *("lance_core", "lance_core_compaction", "lance_core_explorer", "lance_core_functions"),
    "lance_core_indices",
    *("lance_core_lease", "lance_core_legacy", "lance_core_remote", "lance_core_testing"),
    "lance_core_cli",
    *("lance_core_example_sorted_hash", "scripts", "tests"),
}
"""What tests of the core may import: what `requirements/core.txt` installs."""

ELSEWHERE = ("tests.cloud", "tests.extras", "tests.kernels", "tests.spark", "tests.sql")
"""Tests of this repository whose modules need more than that."""


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in statements(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_tests_of_the_core_import_nothing_but_what_its_requirements_install() -> None:
    known = INSTALLED | sys.stdlib_module_names
    others = []
    for folder in ("unit", "architecture"):
        for path in sorted((ROOT / "tests" / folder).rglob("*.py")):
            others += [
                f"{path.relative_to(ROOT)}: {name}"
                for name in sorted(imported(path))
                if name.partition(".")[0] not in known or name.startswith(ELSEWHERE)
            ]
    assert others == []


def test_every_module_has_a_test_of_its_name_or_a_line_in_the_map_of_tests() -> None:
    lines = stored()
    assert sorted(lines) == without_own_test(), "python -m scripts.tests_of_modules"
    assert [module for module in lines if own_test(module).exists()] == []


def test_the_map_names_tests_that_import_the_module_or_what_uses_it() -> None:
    wrong = [module for module, named in stored().items() if not is_right(module, named)]
    assert wrong == [], "python -m scripts.tests_of_modules, or name others"
