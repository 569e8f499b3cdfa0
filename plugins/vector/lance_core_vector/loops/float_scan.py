"""Scores of vectors of floats: squared differences from a query, or products with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.best_rows import BestRows, Masks, best_by, best_by_scores
from lance_core_vector.loops.library import is_compiled, native

Floats = npt.NDArray[np.float32]


def best_by_differences(
    vectors: Sequence[Floats],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    query: Floats,
    count: int,
) -> BestRows:
    """The ``count`` rows with the least squared differences, which are rounded."""
    if is_compiled():
        return best_by(native.scan_floats, count, [*vectors], [*rows], masks, query, False)
    scores = np.concatenate([_squares(one - query) for one in vectors])
    return best_by_scores(scores, rows, masks, count)


def best_by_products(
    vectors: Sequence[Floats],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    query: Floats,
    count: int,
) -> BestRows:
    """The ``count`` rows with the greatest products, which are rounded; scores are minus these."""
    if is_compiled():
        return best_by(native.scan_floats, count, [*vectors], [*rows], masks, query, True)
    scores = np.concatenate([-np.einsum("ij,j->i", one, query) for one in vectors])
    return best_by_scores(scores, rows, masks, count)


def _squares(vectors: Floats) -> Floats:
    found: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return found
