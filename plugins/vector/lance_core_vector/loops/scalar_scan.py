"""Scores of scalar-quantised codes: squared differences from the codes of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.best_rows import BestRows, Masks, best_by, best_by_scores
from lance_core_vector.loops.integer_products import integer_products
from lance_core_vector.loops.library import is_compiled, native

Bytes = npt.NDArray[np.uint8]

Codes = tuple[npt.NDArray[Any], ...]
"""The codes of a partition, one vector a row, as `arranged` returns them."""

MAX_WIDTH = 32768
"""Numbers of a vector at most, so that 32 bits hold the sums."""

MIDDLE = 128
"""Subtracted from codes, so that sums of their products are exact for longer vectors."""

_EXACT_PRODUCTS = 1024
"""Products of two bytes from -128 to 127 whose sum 32-bit floats hold exactly."""


def arranged(codes: Bytes) -> Codes:
    """The codes of a partition as scans are fastest with them.

    numpy multiplies numbers around zero, and knows the sum of the squares of those of each row.
    """
    return (codes,) if is_compiled() else around_zero(codes)


def around_zero(codes: Bytes) -> Codes:
    """Codes from -128 on, and the sum of the squares of each row."""
    signed = (codes ^ np.uint8(MIDDLE)).view(np.int8)
    return signed, np.einsum("ij,ij->i", signed, signed, dtype=np.int32)


def scalar_scores(codes: Codes, query: Bytes, scale: float) -> npt.NDArray[np.float32]:
    """The score of each row of ``codes``: the exact sum of squared differences, times ``scale``."""
    signed, squares = codes if len(codes) == 2 else around_zero(codes[0])
    near = (query ^ np.uint8(MIDDLE)).view(np.int8).astype(np.float32)
    products = np.zeros(len(signed), np.int64)
    for first in range(0, len(near), _EXACT_PRODUCTS):
        some = slice(first, first + _EXACT_PRODUCTS)
        products += integer_products(signed[:, some], near[some]).astype(np.int64)
    sums = squares - 2 * products + int(near.astype(np.int64) @ near.astype(np.int64))
    return sums.astype(np.float32) * np.float32(scale)


def best_by_scalars(
    codes: Sequence[Codes],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    query: Bytes,
    scale: float,
    count: int,
) -> BestRows:
    """The ``count`` rows with the lowest `scalar_scores`."""
    if is_compiled() and len(query) <= MAX_WIDTH and all(len(columns) == 1 for columns in codes):
        arguments = [columns[0] for columns in codes], [*rows], masks, query, scale
        best = best_by(native.scan_scalar, count, *arguments)
        assert best is not None
        return best
    scores = np.concatenate([scalar_scores(columns, query, scale) for columns in codes])
    return best_by_scores(scores, rows, masks, count)
