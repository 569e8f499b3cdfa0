"""Bar charts of the figures that ``tox -e bench -- --chart`` wrote to ``docs/how-fast.json``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from scripts.drawings.canvas import HEADING, INK, LABEL, NOTE, Box, Canvas

Figure = Mapping[str, Any]
Run = Mapping[str, Any]
"""Parts of the file of figures, as ``benchmarks/report.py`` writes them."""

FIGURES = Path(__file__).parents[2] / "docs" / "how-fast.json"

OURS, PEER = "lance_core", "pylance"
COLOURS = {
    OURS: ("green", True),
    "copy": ("green", True),
    "re-encode": ("green", False),
    PEER: ("blue", True),
    f"{PEER} copy": ("blue", True),
    f"{PEER} re-encode": ("blue", False),
    "vortex": ("yellow", True),
    "numpy": ("green", False),
    "sqlite": ("grey", False),
    "tantivy": ("grey", False),
    "bm25s": ("grey", True),
    "parquet": ("grey", True),
    "cp": ("grey", False),
    "fresh": ("grey", True),
}
"""The colour of each subject, and whether its bars are solid."""

TITLES = {
    "copy": f"{OURS} copy",
    "re-encode": f"{OURS} re-encode",
    "parquet": "Parquet",
    "vortex": "Vortex",
    "fresh": "written at once",
    "numpy": "with numpy only",
    "sqlite": "SQLite",
}
"""Names of subjects that differ from those in the figures."""

WORKLOADS = {
    "wide": "14 columns, 2 M rows",
    "ten": "10 columns, 2 M rows",
    "compressible": "8 compressible columns, 3 M",
    "embed": "50,000 embeddings",
    "nested": "500,000 lists of structs",
    "blobs": "2,000 blobs of 100 KB",
}
SMALL = "2.2 fragments of "
COLUMNS = "2.2 2,000 columns x 10,000 rows: "
"""Beginnings of names of figures."""

MARGIN, GAP, WIDTH = 30, 20, 760
NAMES, VALUES = 130, 64
"""Pixels of the names of subjects and of the values beside the bars."""

ROW, TITLE, TOP = 18, 24, 62
"""Heights of a bar with its gap, of the title of a group, and of the title of the chart."""

MAX_NOTE = 118
"""Characters of a line of notes that fit."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A title, and the titles of groups of bars by the names of their figures."""

    title: str
    groups: Mapping[str, str]
    compared: tuple[str, str] = (OURS, PEER)
    """Two subjects whose ratio is written beside the title of a group."""
    measure: str = "median time"


def _workloads(operation: str, versions: Sequence[str] = ("2.2",)) -> dict[str, str]:
    return {
        f"{version} {name}: {operation}": f"{text}, {version}"
        for version in versions
        for name, text in WORKLOADS.items()
    }


def _cases(suffix: str) -> dict[str, str]:
    cases = {
        "plain 8 x 250,000": "14 columns, 8 x 250,000 rows",
        "plain 200 x 10,000": "14 columns, 200 x 10,000 rows",
        "plain 1,000 x 5,000": "14 columns, 1,000 x 5,000 rows",
        "text 200 x 5,000": "texts, 200 x 5,000 rows",
        "embeddings 200 x 250": "embeddings, 200 x 250 rows",
        "152 columns 200 x 1,000": "152 columns, 200 x 1,000 rows",
        "hybrid 200 x 10,000": "200 x 10,000, 1 % of rows deleted",
    }
    return {f"2.2 {name}: {suffix}": text for name, text in cases.items()}


CHARTS = {
    "scans": Chart("Read all rows", _workloads("full scan", ("2.2", "2.0"))),
    "takes": Chart("Take 1,000 rows by their numbers", _workloads("take 1,000 rows")),
    "filters": Chart(
        "Read the rows that a filter keeps",
        {
            **_workloads("filter 0.1 %"),
            **{
                f"2.2 filter {share} %": f"21 columns, {share} % of 2 M rows"
                for share in (1, 5, 25)
            },
            "2.2 count f0 < 0.5": "count of half of 2 M rows",
        },
    ),
    "writes": Chart(
        "Write and change rows",
        {
            **_workloads("write"),
            "update 1 % of 5,000,000 rows, 14 columns, 2.2": "update 1 % of 5 M rows",
            "merge 100,000 rows into 5,000,000, 14 columns, 2.2": "merge 100,000 into 5 M rows",
            "delete 10 % of 1,000,000 rows": "delete 10 % of 1 M rows",
            "append x 20 (fast), 2,000 fragments": "20 appends to 2,000 fragments",
        },
    ),
    "small-files": Chart(
        "Tables of many fragments",
        {
            f"{SMALL}1,000,000 rows: scan": "scan, 2 x 1 M rows",
            f"{SMALL}20,000 rows: scan": "scan, 100 x 20,000 rows",
            f"{SMALL}1,000 rows: scan": "scan, 2,000 x 1,000 rows",
            "2.2 300 fragments of 1 row: scan": "scan, 300 x 1 row",
            "2.2 2,000 fragments: filter 0.1 %": "filter 0.1 % of 2,000",
            "2.2 10,000 fragments: open, count, first batch": "open, count, first of 10,000",
            "2.2 100,000 fragments: head(10)": "head(10) of 100,000",
            "2.2 100,000 fragments: first batch": "first batch of 100,000",
        },
    ),
    "columns": Chart(
        "A table of 2,000 columns and 10,000 rows",
        {
            f"{COLUMNS}{name}": name
            for name in ("open", "write", "scan", "one column", "filter on 3", "take 10 rows")
        },
    ),
    "compaction": Chart("Compact small files", _cases("compact"), ("copy", f"{PEER} re-encode")),
    "compacted": Chart(
        "Read a compacted table with lance-core", _cases(f"scan by {OURS}"), ("copy", "fresh")
    ),
    "small-operations": Chart(
        "Operations on a table of 1,000 rows",
        {
            f"2.2 small: {name}": name
            for name in (
                "open and count",
                "open and scan",
                "open and filter",
                "take a row",
                "page of 100 rows",
                "create 1,000 rows",
                "append 10 rows",
                "update a row",
            )
        },
    ),
    "concurrent": Chart(
        "Requests of several threads of a process",
        {
            f"concurrent: {request} x {threads}": f"{title}, {threads}"
            for request, title in (
                ("take 10 rows", "take 10 rows of 500,000"),
                ("lookup by BTREE", "look up a number"),
                ("page of 100 rows", "page of 100 rows"),
            )
            for threads in ("1", "8")
        },
        measure="time by the number of requests",
    ),
    "text": Chart(
        "Search texts",
        {
            f"text manuals: {name}": title
            for name, title in {
                "build": "build an index, 200,000 texts",
                "build with positions": "build an index with positions",
                "one term": "one word, best 10",
                "three terms": "any of three words, best 10",
                "two terms, both": "both of two words, best 10",
                "phrase": "phrase, best 10",
                "two terms, all rows": "any of two words, all rows",
                "one edit": "a misspelt word, best 10",
            }.items()
        },
    ),
    "cores": Chart(
        "Scans with more processors",
        {
            f"2.2 {kind}: {what}": f"{short}: {title}"
            for what, title in (
                ("scan, 1 core", "1 core"),
                ("scan, 2 cores", "2 cores"),
                ("predicted for 16 cores", "16, predicted"),
            )
            for kind, short in (
                ("large fragments", "large fragments"),
                ("fragments of 1,000 rows", "1,000-row fragments"),
            )
        },
    ),
    "spark": Chart("Spark", {}),
}
"""Charts by name; that of Spark has all figures whose names begin with it."""


def drawings() -> dict[str, Callable[[], str]]:
    """All charts, except that of Spark if it has no figures."""
    content = {"figures": [], "runs": []}
    if FIGURES.exists():
        content = json.loads(FIGURES.read_text("utf-8"))
    found = {name: _figures(chart, content["figures"]) for name, chart in CHARTS.items()}
    return {
        f"how-fast-{name}": partial(draw, chart, found[name], content["runs"])
        for name, chart in CHARTS.items()
        if chart.groups or found[name]
    }


def _figures(chart: Chart, lines: Sequence[Figure]) -> list[tuple[str, Figure]]:
    """The figures of a chart, by the titles of their groups."""
    named = {line["name"]: line for line in lines if "medians" in line}
    groups = chart.groups or {name: name[7:] for name in named if name.startswith("spark: ")}
    return [(title, named[name]) for name, title in groups.items() if name in named]


def draw(chart: Chart, figures: Sequence[tuple[str, Figure]], runs: Sequence[Run]) -> str:
    """The chart as SVG: groups of bars in two columns, and what ran below them."""
    notes = notes_of(runs[number] for number in sorted({figure["run"] for _, figure in figures}))
    notes = notes or ["These figures are not measured yet: tox -e bench -- --chart"]
    heights = [TITLE + ROW * len(figure["medians"]) + GAP for _, figure in figures]
    lines = [max(heights[at : at + 2]) for at in range(0, len(heights), 2)]
    bottom = TOP + sum(lines)
    canvas = Canvas(WIDTH, bottom + 16 * len(notes) + 16, chart.title)
    canvas.text(MARGIN, 30, chart.title, HEADING)
    canvas.text(MARGIN, 48, _explanation(chart), NOTE)
    for at, (title, figure) in enumerate(figures):
        x = MARGIN + at % 2 * (WIDTH + GAP - 2 * MARGIN) / 2
        y = TOP + sum(lines[: at // 2])
        _group(canvas, (x, y), title, figure["medians"], chart.compared)
    for at, note in enumerate(notes):
        canvas.text(MARGIN, bottom + 12 + 16 * at, note, NOTE)
    return canvas.render()


def _group(
    canvas: Canvas,
    place: tuple[float, float],
    title: str,
    medians: Mapping[str, float],
    compared: tuple[str, str],
) -> None:
    """A title with a ratio, and a bar for each subject, as long as its share of the slowest."""
    width = (WIDTH - 2 * MARGIN - GAP) / 2
    x, y = place
    ours, other = compared
    canvas.text(x, y + 16, title, replace(LABEL, weight=600, size=12))
    if medians.keys() >= set(compared):
        ratio = medians[other] / medians[ours]
        digits = 0 if ratio >= 100 else 1 if ratio >= 1 else 2
        text = f"{ratio:.{digits}f} x"
        canvas.text(x + width, y + 16, text, replace(NOTE, anchor="end"))
    longest = max(medians.values())
    for at, (subject, seconds) in enumerate(medians.items()):
        top = y + TITLE + ROW * at
        colour, is_solid = COLOURS[subject]
        length = max((width - NAMES - VALUES) * seconds / longest, 1)
        canvas.text(x, top + 11, TITLES.get(subject, subject), replace(NOTE, colour=INK))
        canvas.bar(Box(x + NAMES, top, length, ROW - 4), colour, is_solid)
        canvas.text(x + NAMES + length + 6, top + 11, duration(seconds), NOTE)


def duration(seconds: float) -> str:
    """At least two digits, with a unit."""
    value, unit = seconds * 1e6, "µs"
    if seconds >= 1:
        value, unit = seconds, "s"
    elif seconds >= 1e-3:
        value, unit = seconds * 1e3, "ms"
    return f"{value:.{0 if value >= 100 else 1}f} {unit}"


def _explanation(chart: Chart) -> str:
    ours, other = (TITLES.get(subject, subject) for subject in chart.compared)
    return (
        f"{chart.measure}, shorter is better; each group has its own scale; "
        f"x: “{other}” divided by “{ours}”"
    )


def notes_of(runs: Iterable[Run]) -> list[str]:
    """The machine, the date, the libraries and the command of each run, in lines that fit."""
    notes = []
    for run in runs:
        libraries = ", ".join(f"{name} {version}" for name, version in run["libraries"].items())
        kernels = "" if run["kernels"] else ", without compiled kernels"
        machine = f"{run['machine']}, Python {run['python']}, {libraries}{kernels}"
        load = f"load average before {run['load']}"
        notes += textwrap.wrap(f"{run['date']}: {run['command']}; {machine}, {load}", MAX_NOTE)
    return notes
