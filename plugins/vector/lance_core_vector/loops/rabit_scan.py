"""Scores of the codes of RaBitQ: their products with a rotated query, times factors of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.best_rows import BestRows, Masks, best_by, best_by_scores
from lance_core_vector.loops.integer_products import integer_products
from lance_core_vector.loops.library import is_compiled, native

Floats = npt.NDArray[np.float32]

_NONE = np.empty(0, np.float32)

Codes = tuple[npt.NDArray[Any], ...]
"""The codes of a partition, one vector a row; what is added for each, and by what it is scaled.

Then there may be what bounds scores by the signs of codes: the sign bytes, the first sign in the
lowest bit, one row for each byte; what is added for each vector, by what its product is scaled, and
the error that is expected of its score, for a query at a distance of one."""


class RabitTerms(NamedTuple):
    """A query. The score of a row is ``(code @ rotated + half) * scale + added * factor + base``.

    ``factors`` and ``bases``: one for each partition. ``tables``: see `sign_tables`; that of the
    query, where scores by signs leave out rows. These are wrong by no more than the ``reaches``,
    one for each partition, times the expected error.
    """

    rotated: Floats
    half: float
    factors: Floats
    bases: Floats
    tables: Floats | None = None
    reaches: Floats | None = None


def rabit_scores(codes: Sequence[Codes], terms: RabitTerms) -> Floats:
    """The score of each row of partitions, rounded."""
    parts = []
    for (code, added, scales, *_), factor, base in zip(
        codes, terms.factors, terms.bases, strict=True
    ):
        scores = integer_products(code, terms.rotated)
        scores += np.float32(terms.half)
        scores *= scales
        scores += added * factor
        scores += base
        parts.append(scores)
    return np.concatenate(parts)


def best_by_rabit(
    codes: Sequence[Codes],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    terms: RabitTerms,
    count: int,
) -> BestRows:
    """The ``count`` rows with the lowest `rabit_scores`.

    numpy leaves out no rows by their signs: it would save no time.
    """
    if not is_compiled() or codes[0][0].dtype != np.int8:
        return best_by_scores(rabit_scores(codes, terms), rows, masks, count)
    each: list[list[Any]] = [[*column] for column in zip(*codes, strict=True)]
    signs: list[Any] = [None, [], [], []]
    tables = reaches = _NONE
    if terms.tables is not None and terms.reaches is not None and len(each) > 3:
        signs, tables, reaches = each[3:], terms.tables, terms.reaches
    own = terms.rotated, terms.half, terms.factors, terms.bases
    bound = *signs, tables, -terms.half, reaches
    arguments = each[0], [*rows], masks, each[1], each[2], *own, *bound
    best = best_by(native.scan_rabit, count, *arguments)
    assert best is not None
    return best
