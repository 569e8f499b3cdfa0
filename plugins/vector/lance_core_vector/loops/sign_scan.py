"""Scores of the signs of RaBitQ: their products with a rotated query, looked up in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.best_rows import BestRows, Masks, best_by, best_by_scores
from lance_core_vector.loops.library import is_compiled, native
from lance_core_vector.loops.product_scan import product_scores

Floats = npt.NDArray[np.float32]

Signs = tuple[npt.NDArray[Any], Floats, Floats]
"""The sign bytes of a partition as `product_scan.arranged` returns codes of 4 bits, the first sign
in the lowest bit; what is added for each row, and by what its product is scaled."""


class SignTerms(NamedTuple):
    """A query. The score of a row is ``(bits @ rotated + half) * scale + added * factor + base``.

    ``tables``: see `sign_tables`. ``factors`` and ``bases``: one for each partition.
    """

    tables: Floats
    half: float
    factors: Floats
    bases: Floats


def sign_tables(rotated: Floats) -> Floats:
    """The products of each 4 bits with 4 numbers of a query; of the shape (numbers / 4, 16)."""
    bits = np.arange(16)[:, None] >> np.arange(4) & 1
    tables: Floats = rotated.reshape(-1, 4) @ bits.T.astype(np.float32)
    return tables


def sign_scores(codes: Sequence[Signs], terms: SignTerms) -> Floats:
    """The score of each row of partitions, rounded."""
    sizes = [len(partition[1]) for partition in codes]
    scores = product_scores(
        [partition[0] for partition in codes], sizes, terms.tables[None], terms.half
    )
    scores *= np.concatenate([partition[2] for partition in codes])
    scores += np.concatenate([partition[1] for partition in codes]) * np.repeat(
        terms.factors, sizes
    )
    scores += np.repeat(terms.bases, sizes)
    return scores


def best_by_signs(
    codes: Sequence[Signs],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    terms: SignTerms,
    count: int,
) -> BestRows:
    """The ``count`` rows with the lowest `sign_scores`."""
    if not is_compiled() or any(partition[0].dtype != np.uint8 for partition in codes):
        return best_by_scores(sign_scores(codes, terms), rows, masks, count)
    each = [[*column] for column in zip(*codes, strict=True)]
    arguments = each[0], [*rows], masks, each[1], each[2], codes[0][0].shape[1], *terms
    best = best_by(native.scan_signs, count, *arguments)
    assert best is not None
    return best
