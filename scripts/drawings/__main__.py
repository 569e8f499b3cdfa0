"""Draw the pictures of the documentation: ``python -m scripts.drawings [--check]``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from scripts.drawings import how_fast, layers, pages, table_files, vectors

FOLDER = Path(__file__).parents[2] / "docs" / "drawings"
DRAWINGS: dict[str, Callable[[], str]] = {
    "layers": layers.draw,
    "table-files": table_files.draw,
    "data-file": pages.file,
    "page-2.0": pages.flat_20,
    "page-mini-block": pages.mini_block,
    "page-full-zip": pages.full_zip,
    "page-constant": pages.constant,
    "page-blob": pages.blob,
}


def drawings() -> dict[str, Callable[[], str]]:
    """All drawings, with the charts of the benchmarks' figures."""
    return DRAWINGS | how_fast.drawings() | vectors.drawings()


def stale() -> list[str]:
    """Names of files that are not what the scripts draw."""
    drawn = drawings()
    wrong = [
        name
        for name, draw in drawn.items()
        if not (path := FOLDER / f"{name}.svg").exists() or path.read_text("utf-8") != draw()
    ]
    return wrong + sorted({path.stem for path in FOLDER.glob("*.svg")} - drawn.keys())


def main(arguments: list[str]) -> int:
    """Write all files; with ``--check`` write none, and fail if one is not as drawn."""
    if arguments == ["--check"]:
        for name in (names := stale()):
            print(f"docs/drawings/{name}.svg is not what scripts/drawings draws")
        return 1 if names else 0
    FOLDER.mkdir(exist_ok=True)
    for name, draw in drawings().items():
        (FOLDER / f"{name}.svg").write_text(draw(), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
