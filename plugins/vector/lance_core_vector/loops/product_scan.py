"""Scores of product-quantised codes: sums of distances that are looked up in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.best_rows import BestRows, Masks, best_by, best_by_scores
from lance_core_vector.loops.library import is_compiled, native

Tables = npt.NDArray[np.float32]
"""The distances of codewords, of the shape (partitions, parts, codewords); one partition if all
partitions have the same ones."""

BYTE_VALUES = 256

_ROWS_AT_ONCE = 8192
"""Rows whose distances are looked up at once by numpy: they stay in the cache."""


def arranged(codes: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """The codes of a partition, one row for each byte of a code, as scans are fastest with them.

    numpy looks up all bytes of codes in one call, with the number of the table in the upper bits.
    """
    return np.ascontiguousarray(codes) if is_compiled() else _places(codes)


def _places(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if codes.dtype != np.uint8:
        return codes
    kind: type[Any] = np.uint16 if len(codes) <= BYTE_VALUES else np.uint32
    numbers = np.arange(0, len(codes) * BYTE_VALUES, BYTE_VALUES).astype(kind)
    places: npt.NDArray[Any] = codes + numbers[:, None]
    return places


def product_scores(codes: Sequence[npt.NDArray[Any]], tables: Tables, base: float) -> Tables:
    """The score of each row: the sum of its distances in the order of bytes, and ``base``.

    ``codes``: those of partitions, as `arranged` returns them. A byte has two codes of 4 bits if
    there are 16 codewords.
    """
    if tables.shape[2] < BYTE_VALUES:
        low, high = tables[:, 0::2], tables[:, 1::2]
        tables = high[:, :, :, None] + low[:, :, None, :]
    flat = np.ascontiguousarray(tables).reshape(len(tables), -1)
    found = np.empty(sum(one.shape[1] for one in codes), np.float32)
    start = 0
    for at, one in enumerate(codes):
        table, places = flat[at if len(flat) > 1 else 0], _places(one)
        for first in range(0, places.shape[1], _ROWS_AT_ONCE):
            some = places[:, first : first + _ROWS_AT_ONCE]
            # No code is outside of the table; "clip" does not test it.
            distances = table.take(some, mode="clip")
            if some.shape[1] > 1:
                distances.sum(axis=0, out=found[start : start + some.shape[1]])
            else:  # numpy would sum a single row in another order
                found[start : start + 1] = np.add.accumulate(distances, axis=0)[-1]
            start += some.shape[1]
    found += np.float32(base)
    return found


def best_by_product(
    codes: Sequence[npt.NDArray[Any]],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    tables: Tables,
    base: float,
    count: int,
) -> BestRows:
    """The ``count`` rows with the lowest `product_scores`."""
    if not is_compiled() or any(one.dtype != np.uint8 for one in codes):
        return best_by_scores(product_scores(codes, tables, base), rows, masks, count)
    bits = 8 if tables.shape[2] == BYTE_VALUES else 4
    width = len(codes[0])
    flat = np.ascontiguousarray(tables)
    found = best_by(native.scan_product, count, [*codes], [*rows], masks, width, bits, flat, base)
    assert found is not None
    return found
