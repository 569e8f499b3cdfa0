"""House rules that a look at the source can hold: size, names, what a module may contain."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "lance_core", *sorted(ROOT.glob("plugins/*/*_*"))]
MODULES = sorted(
    path
    for package in PACKAGES
    for path in package.rglob("*.py")
    if "_pb" not in path.parts and "tests" not in path.relative_to(ROOT).parts
)
MAX_LINES = 600
EMPTY_NAMES = {"base_utils", "common", "core", "helper", "helpers", "misc", "util", "utils"}
CODE_FROM_DATA = {"dill", "cloudpickle", "marshal", "pickle", "shelve"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def violations(check: Callable[[Path], object]) -> dict[str, object]:
    """What ``check`` finds in the modules that break a rule, by the name of the module."""
    found = {name_of(path): check(path) for path in MODULES}
    return {name: what for name, what in found.items() if what}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


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


def test_a_module_is_short() -> None:
    def excess(path: Path) -> int:
        return max(0, len(path.read_text("utf-8").splitlines()) - MAX_LINES)

    assert violations(excess) == {}


def test_a_module_is_named_for_its_idea() -> None:
    assert violations(lambda path: path.stem in EMPTY_NAMES) == {}


def test_a_module_says_what_it_is_for() -> None:
    def is_silent(path: Path) -> bool:
        return bool(tree_of(path).body) and not ast.get_docstring(tree_of(path))

    assert violations(is_silent) == {}


def code_of_package(path: Path) -> list[str]:
    """What a package file holds besides imports, its docstring, `__all__` and lazy exports."""
    if path.name != "__init__.py":
        return []
    return [
        ast.unparse(node)
        for node in tree_of(path).body
        if not (
            isinstance(node, ast.Import | ast.ImportFrom)
            or is_docstring(node)
            or is_all(node)
            or is_lazy_export(node)
        )
    ]


def test_a_package_file_only_exports() -> None:
    assert violations(code_of_package) == {}


def test_a_package_file_that_exports_says_what() -> None:
    def is_vague(path: Path) -> bool:
        body = tree_of(path).body
        exports = any(
            isinstance(node, ast.Import | ast.ImportFrom)
            and getattr(node, "module", "") != "__future__"
            for node in body
        )
        return path.name == "__init__.py" and exports and not any(is_all(node) for node in body)

    assert violations(is_vague) == {}


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


def test_a_module_never_runs_what_it_reads() -> None:
    assert violations(lambda path: list(dangers(tree_of(path)))) == {}


def test_a_module_imports_by_full_name() -> None:
    def relative_imports(path: Path) -> list[str]:
        return [
            ast.unparse(node)
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.ImportFrom) and node.level > 0
        ]

    assert violations(relative_imports) == {}
