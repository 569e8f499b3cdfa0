"""The queries that are measured, and the bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.texts.questions import FREQUENT, MIDDLE, RARE, Question, Questions

LIMIT = 10

FILTERED = 0.1
"""The share of rows that the filter keeps."""

LEAST_TO_ENGINES = {"build": 1.0, "queries": 1 / 3}
"""The minimum ratios to search engines that are no tables."""

BUILDS = {
    "build": ({}, 2.0, 0.8),
    "build with positions": ({"with_position": True}, 1.5, 0.5),
}
"""Parameters of indices, and the minimum ratios to pylance with compiled loops and with numpy."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Queries of one kind: ``bar`` with the compiled loops, ``numpy_bar`` with numpy only.

    ``limit``: of rows; None for all. ``filtered``: True for a filter that keeps `FILTERED`, the
    same for all queries or, if it ``differs``, a new one for each. ``may_differ``: True if answers
    need not be the same.
    """

    name: str
    choose: Callable[[Questions], list[Question]]
    bar: float
    numpy_bar: float | None
    limit: int | None = LIMIT
    filtered: bool = False
    differs: bool = False
    may_differ: bool = False


SHAPES = (
    Shape("a rare term", lambda some: some.one(RARE), 0.8, 0.6),
    Shape("one term", lambda some: some.one(MIDDLE), 0.8, 0.6),
    Shape("a frequent term", lambda some: some.one(FREQUENT), 0.8, 0.6),
    Shape("two terms", lambda some: some.several("any", 2), 1.0, 0.6),
    Shape("three terms", lambda some: some.several("any", 3), 1.0, 0.6),
    Shape("two terms, both", lambda some: some.several("all", 2), 0.9, 0.6),
    Shape("boolean", lambda some: some.several("boolean", 3), 1.2, 0.6),
    Shape("phrase", lambda some: some.phrases(), 0.9, 0.6),
    Shape("one term, all rows", lambda some: some.one(MIDDLE), 1.5, 1.0, None),
    Shape("two terms, all rows", lambda some: some.several("any", 2), 1.5, 1.0, None),
    Shape("three terms, all rows", lambda some: some.several("any", 3), 1.5, 1.0, None),
    Shape("phrase, all rows", lambda some: some.phrases(), 1.5, 1.0, None),
    Shape("one edit", lambda some: some.misspelt(1), 0.6, None),
    # Of more than 50 terms near a word, pylance takes the first ones by their letters.
    Shape("two edits", lambda some: some.misspelt(2), 1.0, None, may_differ=True),
    Shape("two terms, filter", lambda some: some.several("any", 2), 1.0, 0.7, filtered=True),
    Shape(
        "two terms, new filters",
        lambda some: some.several("any", 2),
        1.0,
        0.5,
        filtered=True,
        differs=True,
    ),
)
