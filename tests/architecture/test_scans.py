"""The folder that reads: its numbers stand in one place, its classes and folders are small."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.test_modules import ROOT

FOLDER = ROOT / "lance_core/dataset/read"
MODULES = sorted(FOLDER.rglob("*.py"))
MAX_CLASS_LINES = 200
MAX_FILES = 12

ELSEWHERE = {
    "DEFAULT_BATCH_SIZE": "the default of an argument",
    "MAX_BATCH_SIZE": "the limit of an argument",
    "MAX_BYTES": "of a cache",
    "MAX_CACHED": "of a cache",
    "MAX_CACHED_COLUMNS": "of a cache",
    "MAX_CHOICES": "of a cache",
    "MAX_INDEX_BYTES": "of a cache",
    "MAX_VALUES": "of a text",
    "NOWHERE": "a name for a case",
    "SPLIT": "a name for a case",
    "_SIGN": "a bit",
}
"""Numbers of other modules, which steer no scan."""


def is_number(node: ast.expr) -> bool:
    """True for a number, or what is computed from numbers."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
    return all(
        isinstance(part, ast.BinOp | ast.UnaryOp)
        or (isinstance(part, ast.Constant) and isinstance(part.value, int | float))
        for part in parts
    )


def numbers_of(path: Path) -> list[str]:
    """The names that a module binds to numbers, outside of functions and classes."""
    return [
        target.id
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Assign) and is_number(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]


def test_no_other_module_has_a_number_that_steers_scans() -> None:
    found = {name for path in MODULES for name in numbers_of(path)}
    assert found - set(ELSEWHERE) == set()
    assert "MAX_BATCH_SIZE" in found


def test_a_class_is_short() -> None:
    found = {
        node.name: node.end_lineno - node.lineno + 1
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and node.end_lineno is not None
    }
    assert len(found) > 50
    assert {name: lines for name, lines in found.items() if lines > MAX_CLASS_LINES} == {}


def test_a_folder_has_few_modules() -> None:
    folders = {path.parent for path in MODULES}
    counts = {path.name: len(list(path.glob("*.py"))) for path in folders}
    assert {name: count for name, count in counts.items() if count > MAX_FILES} == {}
