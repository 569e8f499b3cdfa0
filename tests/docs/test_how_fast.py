"""The charts of the benchmarks are drawn from their figures, and shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scripts.drawings import how_fast, vectors

ROOT = Path(__file__).parents[2]
RUN = {
    "command": "python -m benchmarks --quick",
    "date": "2026-01-02",
    "machine": "a machine",
    "load": 0.1,
    "python": "3.11.7",
    "kernels": False,
    "libraries": {"pylance": "14.0.2"},
}


def test_the_page_shows_every_chart_and_the_readme_the_first() -> None:
    page = (ROOT / "docs/how-fast.md").read_text("utf-8")
    shown = re.findall(r"drawings/(how-fast-[\w-]+)\.svg", page)
    assert shown
    assert sorted(shown) == sorted(how_fast.drawings())
    assert f"docs/drawings/{shown[0]}.svg" in (ROOT / "README.md").read_text("utf-8")


def test_a_chart_has_the_figures_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("2.2 wide: full scan", "2.0 wide: full scan", "spark: read", "other")
    medians = {"lance_core": 0.012, "pylance": 0.03, "vortex": 2e-4}
    figures = [{"name": name, "run": 0, "medians": medians} for name in names]
    figures.append({"name": "2.2 ten: take 1,000 rows", "run": 0, "value": 3})
    monkeypatch.setattr(how_fast, "FIGURES", tmp_path / "figures.json")
    without = how_fast.drawings()
    assert without.keys() == {f"how-fast-{name}" for name in how_fast.CHARTS if name != "spark"}
    assert "not measured yet" in without["how-fast-scans"]()
    how_fast.FIGURES.write_text(json.dumps({"runs": [RUN], "figures": figures}))
    drawn = how_fast.drawings()
    assert drawn.keys() == without.keys() | {"how-fast-spark"}
    assert "not measured yet" in drawn["how-fast-takes"]()
    texts = re.findall(">([^<>]+)</text>", drawn["how-fast-scans"]())
    assert {"14 columns, 2 M rows, 2.2", "14 columns, 2 M rows, 2.0", "2.5 x"} <= set(texts)
    assert {"12.0 ms", "30.0 ms", "200 µs", "Vortex"} <= set(texts)
    note = " ".join(texts[-2:])
    assert note.startswith("2026-01-02: python -m benchmarks --quick; a machine, Python 3.11.7")
    assert "without compiled kernels" in note
    assert ">read</text>" in drawn["how-fast-spark"]()


def test_bars_and_texts_do_not_leave_their_column() -> None:
    """The longest bar and its value fit beside the names of subjects."""
    width = (how_fast.WIDTH - 2 * how_fast.MARGIN - how_fast.GAP) / 2
    assert width - how_fast.NAMES - how_fast.VALUES > 100
    digits = max(len(how_fast.duration(seconds)) for seconds in (1e-7, 9.99e-4, 0.9999, 99.94, 999))
    assert digits * 7 <= how_fast.VALUES
    for chart in how_fast.CHARTS.values():
        assert all(len(title) <= 36 for title in chart.groups.values()), chart.title


def test_the_charts_of_vector_indices_have_the_points_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/how-to/choose-a-vector-index.md").read_text("utf-8")
    assert set(re.findall(r"drawings/(vectors-[\w-]+)\.svg", page)) == vectors.drawings().keys()
    monkeypatch.setattr(how_fast, "FIGURES", tmp_path / "figures.json")
    assert all("not measured yet" in draw() for draw in vectors.drawings().values())

    times = {"medians": {"lance_core": 0.002}, "processor": {"lance_core": 0.002}, "run": 0}
    point = {"kind": "IVF_SQ", "set": "texts", "nprobes": 1}
    queries = [
        times | {"name": f"vectors texts IVF_SQ: {number}", "point": point, "recall": recall}
        for number, recall in enumerate(({"lance_core": 0.5}, {"lance_core": 0.9}))
    ]
    build = times | {"name": "vectors texts IVF_SQ: build", "megabytes": {"lance_core": 20.0}}
    query = times | {"name": "vectors texts IVF_SQ: 10 probes", "recall": {"lance_core": 0.9}}
    figures = [*queries, build, query]
    how_fast.FIGURES.write_text(json.dumps({"runs": [RUN], "figures": figures}))
    drawn = {name: draw() for name, draw in vectors.drawings().items()}
    legend = len(vectors.COLOURS)
    # Of two queries that take the same time, only that of the higher recall is shown.
    assert drawn["vectors-recall-time"].count("<circle") == legend + 1
    assert drawn["vectors-recall-size"].count("<circle") == legend + 1
    assert ">IVF_SQ, texts</text>" in drawn["vectors-builds"]
    assert all("2026-01-02" in chart for chart in drawn.values())
