"""Every Python block of the documentation runs.

The blocks of a page run from top to bottom in one namespace, in an empty directory. A block that
does not run says why, in a comment right above it: ``<!-- not run: why -->``, or where its code is
tested: ``<!-- shown: source -->`` (`scripts/fill_pages.py`).
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
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


def pages() -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in PAGES if blocks(page)]


@pytest.mark.parametrize("name", [name for name in pages() if "spark" not in name])
def test_the_examples_of_a_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(ROOT / name, {"__name__": "example"})


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("name", [name for name in pages() if "spark" in name])
def test_the_examples_of_a_page_run_in_a_session(
    name: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session takes relative paths for such as begin where its Java was started."""
    folder = Path(java_folder(spark))
    stopped: list[SparkSession] = []  # others use it, too
    assert not list(folder.rglob("*.lance"))
    monkeypatch.chdir(folder)

    def stop(session: SparkSession) -> None:
        stopped.append(session)

    monkeypatch.setattr(SparkSession, "stop", stop)
    names: dict[str, Any] = {"__name__": "example"}
    run(ROOT / name, names)
    assert names["spark"] is spark
    assert stopped == [spark]
    assert list(folder.glob("*.lance"))
    assert [view for view in ("numbers", "orders") if spark.catalog.dropTempView(view)]
    for made in [*folder.glob("*.lance"), *folder.glob("*.parquet")]:
        shutil.rmtree(made)


def java_folder(spark: SparkSession) -> str:
    return str(spark._jvm.System.getProperty("user.dir"))  # type: ignore[union-attr]


def test_the_first_examples_are_found() -> None:
    assert blocks(ROOT / "README.md")
    assert blocks(ROOT / "docs" / "tutorial.md")
