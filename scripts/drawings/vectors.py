"""Charts of recall, time and size of vector indices, of the figures in ``docs/how-fast.json``.

Times are those of the processor: the libraries answer a query in one thread, and other programs on
the machine disturb processor time least.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.drawings import how_fast
from scripts.drawings.canvas import FAINT, HEADING, NOTE, Canvas, Style
from scripts.drawings.how_fast import OURS, Chart, Figure, Run, draw, notes_of

SETS = {
    "letters": "letters: 131,000 x 128, l2",
    "texts": "texts: 100,000 x 768, cosine",
}
"""The measured sets of vectors, and the titles of their panels."""

COLOURS = {
    "IVF_FLAT": "#66788a",
    "IVF_PQ": "#3b78b5",
    "IVF_PQ 4 bits": "#2aa5a0",
    "IVF_SQ": "#3d8a55",
    "IVF_RQ": "#a9822a",
    "IVF_HNSW_SQ": "#b5524a",
}
"""The kinds of indices in the order of the legend."""

WIDTH, HEIGHT = 760, 300
PANEL, TOP, BOTTOM = 335, 96, 250
LEFTS = (50, 415)
"""Pixels: the width of a panel, its upper and lower edges, and the left edges of both."""

MIN_RECALL = 0.4


@dataclass(frozen=True, slots=True)
class Point:
    """Recall at a time of milliseconds, or a size of megabytes."""

    value: float
    recall: float
    is_refined: bool


def drawings() -> dict[str, Callable[[], str]]:
    """All charts of vector indices."""
    content: Mapping[str, Any] = {"figures": [], "runs": []}
    if how_fast.FIGURES.exists():
        content = json.loads(how_fast.FIGURES.read_text("utf-8"))
    lines = [line for line in content["figures"] if line["name"].startswith("vectors ")]
    runs = [content["runs"][number] for number in sorted({line["run"] for line in lines})]
    return {
        "vectors-recall-time": lambda: recall_and_time(lines, runs),
        "vectors-recall-size": lambda: recall_and_size(lines, runs),
        "vectors-builds": lambda: builds(lines, content["runs"]),
    }


def recall_and_time(lines: Sequence[Figure], runs: Sequence[Run]) -> str:
    """For each kind, the best recall of queries that take at most a time."""
    series = {name: {kind: _best(_points(lines, name, kind)) for kind in COLOURS} for name in SETS}
    title, unit = "Recall of a query, and its time", "milliseconds of processor time of a query"
    return _panels(title, unit, series, runs, are_joined=True)


def recall_and_size(lines: Sequence[Figure], runs: Sequence[Run]) -> str:
    """For each kind, the size of the index, and the recall of 10 probes or its defaults."""
    series: dict[str, dict[str, list[Point]]] = {}
    for name in SETS:
        series[name] = {kind: _sized(lines, name, kind) for kind in COLOURS}
    title = "Recall of a query, and the size of the index"
    return _panels(title, "megabytes of the index", series, runs, are_joined=False)


def builds(lines: Sequence[Figure], runs: Sequence[Run]) -> str:
    """How long each kind takes to build."""
    named = {line["name"]: line for line in lines}
    groups = {
        f"vectors {name} {kind}: build": f"{kind}, {name}" for kind in COLOURS for name in SETS
    }
    figures = [
        (title, {**named[name], "medians": named[name]["processor"]})
        for name, title in groups.items()
        if name in named
    ]
    chart = Chart("Build an index of vectors", groups, measure="processor time")
    return draw(chart, figures, runs)


def _points(lines: Iterable[Figure], name: str, kind: str) -> list[Point]:
    return [
        Point(1000 * line["processor"][OURS], line["recall"][OURS], "refine_factor" in point)
        for line in lines
        if (point := line.get("point")) and point["set"] == name and point["kind"] == kind
    ]


def _best(points: Sequence[Point]) -> list[Point]:
    """The points that no faster one exceeds in recall."""
    best: list[Point] = []
    for point in sorted(points, key=lambda one: (one.value, -one.recall)):
        if not best or point.recall > best[-1].recall:
            best.append(point)
    return best


def _sized(lines: Sequence[Figure], name: str, kind: str) -> list[Point]:
    """The points of a kind at the size of its index: ours, or that of pylance."""
    named = {line["name"]: line for line in lines}
    build = named.get(f"vectors {name} {kind}: build")
    if build is None:
        return []
    sizes = build["megabytes"]
    points = []
    for query in ("10 probes", "10 probes, refined", "query", "query, refined"):
        line = named.get(f"vectors {name} {kind}: {query}")
        if line is not None:
            size = sizes.get(OURS, next(iter(sizes.values())))
            points.append(Point(size, line["recall"][OURS], "refined" in query))
    return points


def _panels(
    title: str,
    unit: str,
    series: Mapping[str, Mapping[str, Sequence[Point]]],
    runs: Sequence[Run],
    *,
    are_joined: bool,
) -> str:
    """A panel for each set: recall upwards, the other value to the right, by its logarithm."""
    notes = notes_of(runs) or ["These figures are not measured yet: tox -e bench -- --chart"]
    canvas = Canvas(WIDTH, HEIGHT + 16 * len(notes), title)
    canvas.text(30, 30, title, HEADING)
    canvas.text(30, 48, f"recall@10 by {unit}; a ring: refined by the vectors (factor 10)", NOTE)
    for number, (kind, colour) in enumerate(COLOURS.items()):
        x = 30 + 118 * number
        canvas.dot(x + 4, 64, colour, is_solid=True)
        canvas.text(x + 12, 68, kind, NOTE)
    for left, (name, kinds) in zip(LEFTS, series.items(), strict=True):
        canvas.text(left, TOP - 8, SETS[name], Style(size=12, weight=600))
        _panel(canvas, left, kinds, are_joined=are_joined)
        if not any(kinds.values()):
            canvas.text(left + 12, TOP + 20, "not measured yet", NOTE)
    for number, note in enumerate(notes):
        canvas.text(30, HEIGHT - 4 + 16 * number, note, NOTE)
    return canvas.render()


def _panel(
    canvas: Canvas, left: float, kinds: Mapping[str, Sequence[Point]], *, are_joined: bool
) -> None:
    values = [point.value for points in kinds.values() for point in points] or [1, 10]
    low, high = math.log10(min(values)) - 0.05, math.log10(max(values)) + 0.05

    def place(point: Point) -> tuple[float, float]:
        share = max(0, (point.recall - MIN_RECALL) / (1 - MIN_RECALL))
        return (
            left + PANEL * (math.log10(point.value) - low) / (high - low),
            BOTTOM - (BOTTOM - TOP - 8) * share,
        )

    frame = [(left, TOP), (left, BOTTOM), (left + PANEL, BOTTOM)]
    canvas.line(frame, FAINT, is_dashed=False)
    for recall in (0.4, 0.6, 0.8, 0.9, 1.0):
        _, y = place(Point(values[0], recall, is_refined=False))
        canvas.text(left - 6, y + 4, f"{recall:g}", Style(size=11, colour=FAINT, anchor="end"))
    for value in _ticks(low, high):
        x, _ = place(Point(value, 1, is_refined=False))
        canvas.text(x, BOTTOM + 15, f"{value:g}", Style(size=11, colour=FAINT, anchor="middle"))
    for kind, points in kinds.items():
        placed = [place(point) for point in points]
        if are_joined and len(placed) > 1:
            canvas.line(placed, COLOURS[kind], is_dashed=False)
        for point, (x, y) in zip(points, placed, strict=True):
            canvas.dot(x, y, COLOURS[kind], is_solid=not point.is_refined)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two logarithms."""
    powers = range(math.floor(low), math.ceil(high) + 1)
    numbers = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    return [number for number in numbers if low <= math.log10(number) <= high]
