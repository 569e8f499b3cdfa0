"""The rows of several answers with the scores of each, and the scores of boolean queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.searches import Elements, Hits
from lance_core_text.queries.clauses import RoleCounts
from lance_core_text.scoring.bm25 import Floats


class UnitedHits(NamedTuple):
    """The distinct rows of several answers, or their elements, which ascend.

    ``scores``: those in each answer; NaN for what it does not have.
    """

    rows: npt.NDArray[Any]
    elements: Elements | None
    scores: list[Floats]


def united(hits: Sequence[Hits]) -> UnitedHits:
    """The distinct hits of all answers."""
    rows = np.concatenate([answer.rows for answer in hits])
    of_hits = [answer.elements for answer in hits if answer.elements is not None]
    elements = np.concatenate(of_hits) if of_hits else None
    keys = (rows,) if elements is None else (elements, rows)
    order = np.lexsort(keys)
    is_first = np.zeros(len(order), np.bool_)
    is_first[:1] = True
    for key in keys:
        ordered = key[order]
        is_first[1:] |= ordered[1:] != ordered[:-1]
    numbers = np.empty(len(order), np.intp)
    numbers[order] = np.cumsum(is_first) - 1
    firsts, start = order[is_first], 0
    scores = []
    for answer in hits:
        own = np.full(len(firsts), np.nan, np.float32)
        own[numbers[start : start + len(answer.rows)]] = answer.scores
        start += len(answer.rows)
        scores.append(own)
    return UnitedHits(rows[firsts], None if elements is None else elements[firsts], scores)


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
