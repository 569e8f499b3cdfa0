"""The rows of several answers with the scores of each, and the scores of boolean queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.searches import Hits
from lance_core_text.queries.clauses import RoleCounts
from lance_core_text.scoring.bm25 import Floats


def united(hits: Sequence[Hits]) -> tuple[npt.NDArray[Any], list[Floats]]:
    """The distinct rows of all answers, and their scores in each; NaN for rows it does not have."""
    every = np.sort(np.concatenate([answer.rows for answer in hits]))
    rows = every[np.append(True, every[1:] != every[:-1])[: len(every)]]
    scores = []
    for answer in hits:
        own = np.full(len(rows), np.nan, np.float32)
        own[np.searchsorted(rows, answer.rows)] = answer.scores
        scores.append(own)
    return rows, scores


def boolean_scores(part_scores: Sequence[Floats], counts: RoleCounts) -> Floats:
    """The sums of scores of rows that all of the first parts have, and none of the last ones.

    ``counts``: how many parts must match, should match, and must not. Without one that must, one
    that should is enough. NaN for a row that does not match.
    """
    num_must, num_should, _ = counts
    scored = part_scores[: num_must + num_should]
    scores = np.zeros(len(part_scores[0]), np.float32)
    for own in scored:
        scores += np.where(np.isnan(own), np.float32(0), own)
    if num_must:
        matches = np.logical_and.reduce([~np.isnan(own) for own in scored[:num_must]])
    else:
        matches = np.logical_or.reduce([~np.isnan(own) for own in scored])
    for own in part_scores[num_must + num_should :]:
        matches &= np.isnan(own)
    scores[~matches] = np.nan
    return scores
