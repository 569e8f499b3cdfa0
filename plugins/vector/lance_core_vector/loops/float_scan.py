"""Scores of vectors of floats: squared differences from a query, products or angles with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.best_rows import BestRows, Masks, best_by, best_by_scores
from lance_core_vector.loops.library import is_compiled, native

Floats = npt.NDArray[np.float32]

Score: TypeAlias = Literal["differences", "products", "angles"]
"""The squared difference from the query, minus the product with it, or minus the cosine of the
angle times the length of the query."""

_KINDS: dict[Score, int] = {"differences": 0, "products": 1, "angles": 2}


SPARE_ROWS = 22
"""Rows beyond the best ones that are found, since their scores are rounded."""


def is_conclusive(scores: Floats, count: int, error: float, relative: float = 0.0) -> bool:
    """True if the ``count`` rows with the lowest exact scores are among those of ``scores``.

    ``scores``: the lowest ones, ascending; ``count + SPARE_ROWS`` unless there are no more rows.
    They are wrong by at most ``error`` and the share ``relative`` of them.
    """
    if len(scores) < count + SPARE_ROWS:
        return True
    near, far = float(scores[count - 1]), float(scores[-1])
    return far - near > 2 * (error + relative * abs(far))


def best_by_floats(
    vectors: Sequence[Floats],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    query: Floats,
    score: Score,
    count: int,
) -> BestRows | None:
    """The ``count`` rows with the lowest scores, which are rounded; NaN are left out.

    None if the length of a vector is too large for a cosine.
    """
    if is_compiled():
        arguments = [*vectors], [*rows], masks, query, _KINDS[score]
        return best_by(native.scan_floats, count, *arguments)
    scores = np.concatenate([_scores(block, query, score) for block in vectors])
    if score == "angles" and any(np.isinf(_squares(block)).any() for block in vectors):
        return None
    return best_by_scores(scores, rows, masks, count)


def _scores(vectors: Floats, query: Floats, score: Score) -> Floats:
    if score == "differences":
        return _squares(vectors - query)
    products: Floats = np.einsum("ij,j->i", vectors, query)
    if score == "angles":
        with np.errstate(all="ignore"):
            products /= np.sqrt(_squares(vectors))
    return -products


def _squares(vectors: Floats) -> Floats:
    squares: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return squares
