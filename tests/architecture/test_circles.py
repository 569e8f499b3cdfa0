"""No module of the library imports, at whatever time, a module that imports it.

Counted are all imports: at the top of a module, in functions, for types only, and on demand by
`lazy_module`. Modules that import each other can only be read, and tested, as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.architecture.test_modules import ROOT, facts_of

PACKAGE = ROOT / "lance_core"


def modules() -> dict[str, Path]:
    """All modules by name, without generated code."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if "_pb" not in parts:
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: Iterable[str]) -> set[str]:
    """The modules of the library that a module imports in any way."""
    pairs = ((module, f"{module}.{name}") for module, name in facts_of(path).named)
    return {full if full in known else module for module, full in pairs}.intersection(known)


def circles(imports: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The groups of modules that import each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for name in imports:
        waiting, seen = [name], set[str]()
        while waiting:
            for other in imports[waiting.pop()] - seen:
                seen.add(other)
                waiting.append(other)
        reached[name] = seen
    return {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in imports
        if name in reached[name]
    }


def test_circles_of_imports_are_seen() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}, "e": {"d"}, "f": {"f"}}
    assert circles(imports) == {frozenset("bc"), frozenset("de"), frozenset("f")}


def test_modules_do_not_import_each_other_in_circles() -> None:
    found = modules()
    assert len(found) > 500
    assert circles({name: imported(path, found) for name, path in found.items()}) == set()
