"""The way of a read: few modules stand between `lance_core.dataset` and the values of a page."""

from __future__ import annotations

from pathlib import Path
from types import FrameType

import pyarrow as pa

import lance_core as lance
from tests.architecture.profiling import profiled

MOST_MODULES = 22
"""Modules whose functions wait for a codec of a mini-block page; at most 30 are ever allowed."""

CODECS = "lance_core.encodings.v2_1.codecs."
MINI_BLOCK = "lance_core.encodings.v2_1.pages.mini_block."


def modules_above(frame: FrameType | None) -> list[str]:
    """The modules of the library that called a function, the outermost first, each once."""
    found: dict[str, None] = {}
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith("lance_core."):
            found[name] = None
        frame = frame.f_back
    return list(found)[::-1]


def test_a_filtered_read_passes_few_modules_to_a_mini_block_page(tmp_path: Path) -> None:
    uri = str(tmp_path / "table")
    lance.write_dataset(pa.table({"x": list(range(1000))}), uri)
    paths: list[list[str]] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and str(frame.f_globals.get("__name__", "")).startswith(CODECS):
            path = modules_above(frame)
            if any(name.startswith(MINI_BLOCK) for name in path):
                paths.append(path)

    with profiled(profile):
        assert lance.dataset(uri).to_table(filter="x > 5").num_rows == 994
    assert paths, "no page of mini-blocks was read"
    longest = max(paths, key=len)
    assert len(longest) <= MOST_MODULES, "\n".join(longest)
