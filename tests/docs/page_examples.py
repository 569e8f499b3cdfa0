"""The Python blocks of the documentation, and how those of a page are run.

The blocks of a page run from top to bottom in one namespace, in an empty directory. A block that
does not run says why, in a comment right above it: ``<!-- not run: why -->``, or where its code is
tested: ``<!-- shown: source -->`` (`scripts/fill_pages.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "plugins/*/README.md")
    for path in ROOT.glob(pattern)
)
BLOCK = re.compile(
    r"(?P<above>[^\n]*)\n+```(?:python|py)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
QUERY_ENGINES = "docs/how-to/query-engines.md"
"""A page whose examples bring libraries of 140 MB into their process."""

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


def pages() -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in PAGES if blocks(page)]
