"""The map of tests: which test files to run for a module that has no ``test_<module>.py``.

``python -m scripts.tests_of_modules`` adds modules that `tests/unit/README.md` lacks, with tests
that import them, or else import what uses them; it removes modules that are gone. Lines that are
still right stay as they are: edit one where another test is nearer.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
MAP = TESTS / "unit/README.md"
LINE = re.compile(r"^\| `(?P<module>[\w/.]+)` \| (?P<tests>.*) \|$")
MAX_TESTS = 3
MAX_STEPS = 8
"""The most imports between a test and a module of its line."""

MAX_STEPS_BY_NAME = 2
"""The same for a test with the name of the module, where other tests import the module itself."""

HEAD = """# The tests of each module

The tests of `lance_core/FOLDER/MODULE.py` are in `tests/unit/FOLDER/test_MODULE.py`. Those of the
other modules are listed here; paths of tests are relative to `tests/unit`.
`python -m scripts.tests_of_modules` adds new modules. tests/architecture checks that each module
has its tests, and that these import it, or what uses it.

| Module | Tests |
|---|---|
"""


def modules() -> list[str]:
    """The modules of the core, relative to its folder, without packages and generated code."""
    paths = (path.relative_to(ROOT / "lance_core") for path in (ROOT / "lance_core").rglob("*.py"))
    return sorted(
        path.as_posix() for path in paths if path.name != "__init__.py" and path.parts[0] != "_pb"
    )


def own_test(module: str) -> Path:
    """Where the test with the name of ``module`` is, if there is one."""
    path = TESTS / "unit" / module
    return path.with_name(f"test_{path.name.removeprefix('_')}")


def without_own_test() -> list[str]:
    """The modules that the map has a line for."""
    return [module for module in modules() if not own_test(module).exists()]


def stored() -> dict[str, list[str]]:
    """The lines of the map: the tests of each module."""
    lines = MAP.read_text("utf-8").splitlines() if MAP.exists() else []
    matches = (match for line in lines if (match := LINE.match(line)))
    return {match["module"]: re.findall(r"`([^`]+)`", match["tests"]) for match in matches}


@cache
def imports_of(path: Path) -> frozenset[str]:
    """The modules of the core that a file names, in imports or in programs that it starts.

    A file that imports at first use has its imports in the stub beside it.
    """
    stub = path.with_suffix(".pyi")
    text = path.read_text("utf-8") + (stub.read_text("utf-8") if stub.exists() else "")
    found = set(re.findall(r"\blance_core(?:\.\w+)*", text))
    for match in re.finditer(r"\bfrom (lance_core[\w.]*) import (\([^)]*\)|[^\n]*)", text):
        found.update(f"{match[1]}.{name}" for name in re.findall(r"\w+", match[2]))
    paths = (name.partition(".")[2].replace(".", "/") for name in found)
    files = (file for path in paths for file in (f"{path}.py", f"{path}/__init__.py".lstrip("/")))
    return _files() & frozenset(files)


@cache
def imports_of_module(module: str) -> frozenset[str]:
    """`imports_of` a module of the core: to make and to hash its path takes longer than to look."""
    return imports_of(ROOT / "lance_core" / module)


@cache
def _files() -> frozenset[str]:
    """All files of Python of the core, relative to its folder."""
    core = ROOT / "lance_core"
    return frozenset(path.relative_to(core).as_posix() for path in core.rglob("*.py"))


@cache
def steps_from(test: str) -> dict[str, int]:
    """The modules that a test reaches by imports, with the number of imports between."""
    reached, ring = {}, imports_of(TESTS / "unit" / test)
    for step in range(MAX_STEPS + 1):
        ring = frozenset(module for module in ring if module not in reached)
        reached |= dict.fromkeys(ring, step)
        ring = frozenset().union(*map(imports_of_module, ring))
    return reached


@cache
def tests() -> tuple[str, ...]:
    """The test files of the core, relative to `tests/unit`."""
    paths = sorted((TESTS / "unit").rglob("test_*.py"))
    return tuple(path.relative_to(TESTS / "unit").as_posix() for path in paths)


def nearest_tests(module: str) -> list[str]:
    """The tests that import a module, or if none does, are closest to that.

    Those with its words in their names are first, then those of its folder.
    """
    parts, words = Path(module).parent.parts, set(Path(module).stem.split("_"))

    def rank(test: str) -> tuple[int, int, int, int, str]:
        folder = Path(test).parent.parts
        same = next((i for i, (a, b) in enumerate(zip(parts, folder, strict=False)) if a != b), 99)
        shared = min(same, len(parts), len(folder))
        alike = len(words & set(Path(test).stem.split("_")))
        steps = steps_from(test).get(module, MAX_STEPS)
        return (int(not is_near(test, module)), -(alike // len(words)), -shared, steps, test)

    ranked = sorted((test for test in tests() if uses(test, module)), key=rank)
    return [t for t in ranked[:MAX_TESTS] if rank(t)[:3] == rank(ranked[0])[:3]]


def uses(test: str, module: str) -> bool:
    """Whether a test imports a module, or what uses it; or is in its folder.

    Modules that descriptors of hooks name are not imported by any.
    """
    return module in steps_from(test) or Path(test).is_relative_to(Path(module).parent)


def is_near(test: str, module: str) -> bool:
    """Whether a test imports a module, or has its name and imports what uses it."""
    steps = steps_from(test).get(module, MAX_STEPS + 1)
    has_name = Path(test).name == own_test(module).name
    return steps <= (MAX_STEPS_BY_NAME if has_name else 0)


@cache
def is_imported(module: str) -> bool:
    """Whether a test imports the module itself."""
    return any(module in imports_of(TESTS / "unit" / test) for test in tests())


def is_right(module: str, named: list[str]) -> bool:
    """Whether the tests of a line exist, and use the module; one is near if a test imports it."""
    existing = [test for test in named if (TESTS / "unit" / test).resolve().exists()]
    if not named or existing != named or not all(uses(test, module) for test in named):
        return False
    return not is_imported(module) or any(is_near(test, module) for test in named)


def main() -> None:
    """Write the map anew."""
    old = stored()
    text = HEAD
    for module in without_own_test():
        named = old.get(module, [])
        named = named if is_right(module, named) else nearest_tests(module)
        text += f"| `{module}` | {', '.join(f'`{test}`' for test in named)} |\n"
    MAP.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
