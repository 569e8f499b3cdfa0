"""The best rows of partitions, by the scores of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.searches import lowest

Masks: TypeAlias = Sequence[npt.NDArray[np.bool_]]
"""For each partition, True for the rows that count."""


class BestRows(NamedTuple):
    """Rows in ascending order of their scores, and of their numbers where scores are equal.

    ``positions``: those of the rows in all partitions, one after the other.
    """

    rows: npt.NDArray[np.uint64]
    scores: npt.NDArray[np.float32]
    positions: npt.NDArray[np.int64]


def best_by_scores(
    scores: npt.NDArray[Any],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    count: int,
) -> BestRows:
    """The ``count`` best rows; those whose score is NaN are left out."""
    if masks is not None:
        scores = np.where(np.concatenate(masks), scores, scores.dtype.type(np.nan))
    near = lowest(scores, count)
    return _ordered(BestRows(np.concatenate(rows)[near], scores[near], near), count)


def merged_best(parts: Sequence[BestRows], count: int) -> BestRows:
    """The ``count`` best rows of ``parts``, which have the best of some rows each."""
    if len(parts) == 1:
        return parts[0]
    rows, scores, positions = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _ordered(BestRows(rows, scores, positions), count)


def _ordered(best: BestRows, count: int) -> BestRows:
    """The first ``count`` rows in order."""
    order = np.lexsort((best.rows, best.scores))[:count]
    scores = best.scores[order].astype(np.float32, copy=False)
    return BestRows(best.rows[order], scores, best.positions[order])


def best_by(scan: Callable[..., int], count: int, *arguments: Any) -> BestRows | None:
    """What a compiled scan finds: it fills three arrays, and returns how many rows there are.

    None if it returns a negative number.
    """
    scores = np.empty(count, np.float32)
    rows = np.empty(count, np.uint64)
    positions = np.empty(count, np.int64)
    size = scan(*arguments, scores, rows, positions)
    return BestRows(rows[:size], scores[:size], positions[:size]) if size >= 0 else None
