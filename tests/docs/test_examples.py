"""Every Python block of the documentation runs.

The blocks of a page run from top to bottom in one namespace, in an empty directory. A block that
does not run says why, in a comment right above it: ``<!-- not run: why -->``, or where its code is
tested: ``<!-- shown: source -->`` (`scripts/fill_pages.py`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ALONE = """
import sys
from tests.docs.test_examples import ROOT, run

run(ROOT / sys.argv[1], {"__name__": "example"})
"""
PAGES = sorted(
    path
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "plugins/*/README.md")
    for path in ROOT.glob(pattern)
)
BLOCK = re.compile(
    r"(?P<above>[^\n]*)\n+```(?:python|py)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
NOT_RUN = re.compile(r"<!-- (?:not run|shown): (?P<why>\S.*) -->")


@dataclass(frozen=True, slots=True)
class Block:
    """Python code of a page and the line that it starts at."""

    line: int
    code: str


def blocks(page: Path) -> list[Block]:
    text = "\n" + page.read_text("utf-8")
    return [
        Block(text.count("\n", 0, match.start("code")), match["code"])
        for match in BLOCK.finditer(text)
        if not NOT_RUN.fullmatch(match["above"].strip())
    ]


def run(page: Path, names: dict[str, Any]) -> None:
    for block in blocks(page):
        # Empty lines in front make a traceback show the line numbers of the page.
        source = "\n" * (block.line - 1) + block.code
        exec(compile(source, page.relative_to(ROOT).as_posix(), "exec"), names)


def pages() -> list[object]:
    spark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
    return [
        pytest.param(name, marks=spark if "spark" in name else [])
        for name in (page.relative_to(ROOT).as_posix() for page in PAGES if blocks(page))
    ]


@pytest.mark.parametrize("name", pages())
def test_the_examples_of_a_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "spark" in name:
        # A session takes relative paths for such as begin where it was started.
        command = [sys.executable, "-c", ALONE, name]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=300, env=beside_the_checkout())
        return
    monkeypatch.chdir(tmp_path)
    run(ROOT / name, {"__name__": "example"})


def beside_the_checkout() -> dict[str, str]:
    """The environment of a process that finds the tests, wherever it is."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}


def test_the_first_examples_are_found() -> None:
    assert blocks(ROOT / "README.md")
    assert blocks(ROOT / "docs" / "tutorial.md")
