"""The kinds of indices that are measured, their parameters and queries, and the bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PROBES = 10
"""Probed partitions of the compared queries."""

REFINE = 10
BATCH = 100
"""Queries that are answered at once."""

MIN_RECALL = 0.95
"""Of queries that state no effort."""

ALL_PROBES = 1 << 20
"""More partitions than an index has."""

Bars = tuple[float, float]
"""The minimum ratio to pylance of vectors of few numbers, compared by l2, and of vectors of many,
compared by cosine."""

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """Queries whose times are compared: ``options`` of ``nearest``.

    ``bars`` with the compiled loops, and with numpy only. ``share``: the rows that a filter keeps.
    ``count``: the number of queries. ``min_recall``: of this library.
    """

    name: str
    options: Options
    bars: Bars | None = None
    numpy_bars: Bars | None = None
    is_batch: bool = False
    share: float | None = None
    count: int = BATCH
    min_recall: float = 0


_PROBES = tuple({"nprobes": probes} for probes in (1, 2, 5, 10, 20, ALL_PROBES))
_EF = tuple({"ef": ef} for ef in (15, 30, 50, 100, 200))
"""The last two are enough for ten times the rows of an answer, which a refinement ranks again."""


def _with_refinement(sweep: tuple[Options, ...]) -> tuple[Options, ...]:
    return sweep + tuple({**options, "refine_factor": REFINE} for options in sweep)


@dataclass(frozen=True, slots=True)
class Kind:
    """An index of ``type``; ``arguments`` are made of the number of sub-vectors of 8 bits.

    ``build_bars``: of the elapsed time, or with ``by_processor`` of the processor time. Without
    ``numpy_build_bars`` it is not built by numpy, which would take too long. ``sweep``: options
    whose recall and time are a point of a chart each.
    """

    name: str
    type: str
    arguments: Callable[[int], Options]
    queries: tuple[Query, ...]
    build_bars: Bars | None = None
    numpy_build_bars: Bars | None = None
    by_processor: bool = False
    sweep: tuple[Options, ...] = _with_refinement(_PROBES)


def same(ratio: float) -> Bars:
    """One bar for both."""
    return ratio, ratio


FLAT = (
    Query("one query", {"use_index": False}, (3, 10), (2, 8), count=20),
    Query(f"batch of {BATCH}", {"use_index": False}, (3, 8), (3, 8), is_batch=True),
)

_DEFAULTS = Query("defaults", {}, min_recall=MIN_RECALL)
_PROBED = {"nprobes": PROBES}
_REFINED = {"nprobes": PROBES, "refine_factor": REFINE}
_QUERY, _REFINED_QUERY = f"{PROBES} probes", f"{PROBES} probes, refined"

KINDS = (
    Kind(
        "IVF_FLAT",
        "IVF_FLAT",
        lambda parts: {},
        (Query(_QUERY, _PROBED, (1, 1.5), (0.8, 1.2)), _DEFAULTS),
        same(1),
        same(0.7),
        sweep=_PROBES,
    ),
    Kind(
        "IVF_PQ",
        "IVF_PQ",
        lambda parts: {"num_sub_vectors": parts},
        (
            Query(_QUERY, _PROBED, same(1), same(0.7)),
            _DEFAULTS,
            Query(_REFINED_QUERY, _REFINED, same(1.3), same(1)),
            Query(f"batch of {BATCH}, refined", _REFINED, same(2), same(1.5), is_batch=True),
            Query("0.01 % of the rows", _REFINED, same(1), same(0.8), share=1e-4),
            Query("1 % of the rows", _REFINED, same(1), same(0.8), share=0.01),
            Query("50 % of the rows", _REFINED, same(1), same(0.8), share=0.5),
        ),
        same(5),
        same(1),
    ),
    Kind(
        "IVF_PQ 4 bits",
        "IVF_PQ",
        lambda parts: {"num_sub_vectors": 2 * parts, "num_bits": 4},
        (
            Query(_QUERY, _PROBED, same(1), same(0.7)),
            _DEFAULTS,
            Query(_REFINED_QUERY, _REFINED),
        ),
        same(0.8),
        same(0.5),
    ),
    Kind(
        "IVF_SQ",
        "IVF_SQ",
        lambda parts: {},
        (Query(_QUERY, _PROBED, same(1.2), same(0.6)), _DEFAULTS),
        same(0.8),
        same(0.6),
    ),
    Kind(
        "IVF_RQ",
        "IVF_RQ",
        lambda parts: {},
        (Query(_QUERY, _PROBED, same(1)), _DEFAULTS, Query(_REFINED_QUERY, _REFINED)),
        same(1),
    ),
    Kind(
        "IVF_HNSW_SQ",
        "IVF_HNSW_SQ",
        lambda parts: {},
        (
            Query("query", {}, same(1), min_recall=MIN_RECALL),
            Query("query, refined", {"refine_factor": REFINE}),
        ),
        same(1.8),
        by_processor=True,
        sweep=_EF + tuple({**options, "refine_factor": REFINE} for options in _EF[-2:]),
    ),
)

MAX_RECALL_LOSS = 0.01
"""Recall that may be lacking to that of pylance with the same parameters."""
