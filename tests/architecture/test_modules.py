"""House rules that a look at the source can hold: size, names, what a module may contain."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "lance_core", *sorted(ROOT.glob("plugins/*/*_*"))]
MODULES = sorted(
    path
    for package in PACKAGES
    for path in package.rglob("*.py")
    if "_pb" not in path.parts and "tests" not in path.relative_to(ROOT).parts
)
MOST_LINES = 600
EMPTY_NAMES = {"base_utils", "common", "core", "helper", "helpers", "misc", "util", "utils"}
CODE_FROM_DATA = {"dill", "cloudpickle", "marshal", "pickle", "shelve"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


each_module = pytest.mark.parametrize("path", MODULES, ids=name_of)


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_lazy_export(node: ast.stmt) -> bool:
    """What lets a name be imported when it is first used (PEP 562)."""
    checking = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return checking or (
        isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}
    )


def is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and [
        t.id for t in node.targets if isinstance(t, ast.Name)
    ] == ["__all__"]


def test_there_are_modules_to_check() -> None:
    assert len(MODULES) > 40


def test_every_folder_is_a_package() -> None:
    """The import rules see packages only."""
    folders = {path.parent for path in MODULES}
    assert {name_of(path) for path in folders if not (path / "__init__.py").exists()} == set()


@each_module
def test_a_module_is_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES


@each_module
def test_a_module_is_named_for_its_idea(path: Path) -> None:
    assert path.stem not in EMPTY_NAMES


@each_module
def test_a_module_says_what_it_is_for(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert not tree.body or ast.get_docstring(tree)


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name == "__init__.py"], ids=name_of
)
def test_a_package_file_only_exports(path: Path) -> None:
    body = ast.parse(path.read_text("utf-8")).body
    code = [
        ast.unparse(node)
        for node in body
        if not (
            isinstance(node, ast.Import | ast.ImportFrom)
            or is_docstring(node)
            or is_all(node)
            or is_lazy_export(node)
        )
    ]
    assert code == []
    exports = any(
        isinstance(node, ast.Import | ast.ImportFrom)
        and getattr(node, "module", "") != "__future__"
        for node in body
    )
    assert not exports or any(is_all(node) for node in body), "re-exports need __all__"


def dangers(tree: ast.Module) -> Iterator[str]:
    """What could turn stored bytes into running code, or pass checks over in silence."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in CODE_FROM_DATA)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] in CODE_FROM_DATA:
                yield node.module
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in {"eval", "exec", "compile", "yaml.load", "os.system"}:
                yield called
            if any(k.arg == "shell" for k in node.keywords):
                yield f"{called}(shell=...)"
        elif isinstance(node, ast.ExceptHandler) and node.type is None:
            yield "bare except"


@each_module
def test_a_module_never_runs_what_it_reads(path: Path) -> None:
    assert list(dangers(ast.parse(path.read_text("utf-8")))) == []


@each_module
def test_a_module_imports_by_full_name(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    relative = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert relative == []
