"""House rules that a look at the source can hold: size, names, what a module may contain."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
MAX_LINES = 600
MAX_FILES = 25
EMPTY_NAMES = {"base_utils", "common", "core", "helper", "helpers", "misc", "util", "utils"}
VAGUE = {
    "asked",
    "found",
    "given",
    "kept",
    "kind",
    "kinds",
    "one",
    "place",
    "places",
    "room",
    "wanted",
}
"""Names of values that do not say what these are; `test_names` says where they may be."""
CODE_FROM_DATA = {"dill", "cloudpickle", "marshal", "pickle", "shelve"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_lazy_export(node: ast.stmt) -> bool:
    """What lets a name be imported when it is first used (PEP 562)."""
    if isinstance(node, ast.If):
        condition = ast.unparse(node.test)
        hidden = condition == "not TYPE_CHECKING" and all(map(is_lazy_export, node.body))
        return condition == "TYPE_CHECKING" or hidden
    return isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}


def is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and [
        t.id for t in node.targets if isinstance(t, ast.Name)
    ] == ["__all__"]


def package_code(tree: ast.Module) -> list[str]:
    """What a package file holds besides imports, its docstring, `__all__` and lazy exports."""
    return [
        ast.unparse(node)
        for node in tree.body
        if not (
            isinstance(node, ast.Import | ast.ImportFrom)
            or is_docstring(node)
            or is_all(node)
            or is_lazy_export(node)
        )
    ]


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, and what holds them, without expressions: imports are among them."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, ())


def dangers(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What could turn stored bytes into running code, or pass checks over in silence."""
    for node in nodes:
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


def named(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Modules that are imported in any way, each with a name that is imported from it, or ""."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy_module":
            yield from ((str(one.value), "") for one in node.args if isinstance(one, ast.Constant))


def imported(imports: Iterable[ast.ImportFrom]) -> frozenset[str]:
    """Modules from which names are imported, and these names as if they were modules."""
    return frozenset(
        name
        for node in imports
        if node.module
        for name in (node.module, *(f"{node.module}.{one.name}" for one in node.names))
    )


def functions_import_own_modules(tree: ast.Module, imports: Iterable[ast.ImportFrom]) -> bool:
    own = {node for node in imports if (node.module or "").startswith("lance_core")}
    # Few modules have such imports below the top: functions of the others are not looked through.
    return not own.issubset(tree.body) and any(
        node in own
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name != "__getattr__"
        for node in ast.walk(function)
    )


def bindings(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Names of arguments and variables, also of loops and comprehensions, each with its line."""
    for node in nodes:
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and node.name:
            yield node.name, node.lineno


@dataclass(frozen=True)
class Facts:
    """What the rules ask of a module. Trees are not kept: those of all modules take 200 MB."""

    lines: int
    is_documented: bool
    package_code: list[str]
    is_vague_package: bool
    dangers: list[str]
    relative_imports: list[str]
    imported: frozenset[str]
    named: frozenset[tuple[str, str]]
    functions_import_own_modules: bool
    public_classes: list[str]
    vague_names: list[tuple[str, int]]


@functools.cache
def facts_of(path: Path) -> Facts:
    """The facts of a module, which is parsed once for all rules."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    is_package = path.name == "__init__.py"
    exports = any(
        isinstance(node, ast.Import | ast.ImportFrom)
        and getattr(node, "module", "") != "__future__"
        for node in tree.body
    )
    return Facts(
        lines=len(text.splitlines()),
        is_documented=not tree.body or bool(ast.get_docstring(tree)),
        package_code=package_code(tree) if is_package else [],
        is_vague_package=is_package and exports and not any(map(is_all, tree.body)),
        dangers=list(dangers(nodes)),
        relative_imports=[ast.unparse(node) for node in imports if node.level > 0],
        imported=imported(imports),
        named=frozenset(named(nodes)),
        functions_import_own_modules=functions_import_own_modules(tree, imports),
        public_classes=[
            node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        ],
        vague_names=[(name, line) for name, line in bindings(nodes) if name in VAGUE],
    )


@pytest.fixture(scope="module")
def facts() -> dict[str, Facts]:
    """The facts of each module, by its name."""
    return {name_of(path): facts_of(path) for path in MODULES}


def test_there_are_modules_to_check() -> None:
    assert len(MODULES) > 40


def test_every_folder_is_a_package() -> None:
    """The import rules see packages only."""
    folders = {path.parent for path in MODULES}
    assert {name_of(path) for path in folders if not (path / "__init__.py").exists()} == set()


def test_a_folder_holds_few_files() -> None:
    """Those of generated code aside."""
    folders = {path.parent for path in MODULES}
    counts = {name_of(f): sum(map(Path.is_file, f.iterdir())) for f in folders}
    assert {name: count for name, count in counts.items() if count > MAX_FILES} == {}


def test_a_module_is_short(facts: dict[str, Facts]) -> None:
    assert {name: one.lines for name, one in facts.items() if one.lines > MAX_LINES} == {}


def test_a_module_is_named_for_its_idea() -> None:
    assert [name_of(path) for path in MODULES if path.stem in EMPTY_NAMES] == []


def test_a_module_says_what_it_is_for(facts: dict[str, Facts]) -> None:
    assert [name for name, one in facts.items() if not one.is_documented] == []


def test_a_package_file_only_exports(facts: dict[str, Facts]) -> None:
    assert {name: one.package_code for name, one in facts.items() if one.package_code} == {}


def test_a_package_file_that_exports_says_what(facts: dict[str, Facts]) -> None:
    assert [name for name, one in facts.items() if one.is_vague_package] == []


def test_a_module_never_runs_what_it_reads(facts: dict[str, Facts]) -> None:
    assert {name: one.dangers for name, one in facts.items() if one.dangers} == {}


def test_a_module_imports_by_full_name(facts: dict[str, Facts]) -> None:
    assert {name: one.relative_imports for name, one in facts.items() if one.relative_imports} == {}
