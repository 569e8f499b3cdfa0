"""The numbers that steer scans stand in one place, and each says what set it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from lance_core.dataset import read
from lance_core.dataset.read import scan_tuning

ROOT = Path(__file__).parents[4]
FOLDER = Path(read.__file__).parent
TUNING = Path(scan_tuning.__file__)

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
    found = {name for path in FOLDER.rglob("*.py") for name in numbers_of(path)}
    assert found - set(ELSEWHERE) == set()
    assert "MAX_BATCH_SIZE" in found


def test_each_number_names_its_benchmark_or_what_it_bounds() -> None:
    benchmarks = (ROOT / "benchmarks/README.md").read_text("utf-8") + "`bench-cloud`"
    count = 0
    for group in ast.parse(TUNING.read_text("utf-8")).body:
        if not isinstance(group, ast.ClassDef) or group.name == "ScanTuning":
            continue
        waiting: list[str] = []
        for node in group.body[1:]:
            if isinstance(node, ast.AnnAssign):
                waiting.append(ast.unparse(node.target))
                count += 1
                continue
            assert isinstance(node, ast.Expr)
            text = " ".join(ast.literal_eval(node.value).split())
            names = re.findall(r"Benchmarks?: ((?:``[a-z-]+``(?:, )?)+)", text)
            assert names or "Bounds " in text, waiting
            for name in re.findall(r"``([a-z-]+)``", "".join(names)):
                assert f"`{name}`" in benchmarks, name
            waiting = []
        assert not waiting, f"{group.name} says nothing of {waiting}"
    assert count > 50
