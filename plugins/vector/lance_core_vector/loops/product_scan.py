"""Scores of product-quantised codes: sums of distances that are looked up in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core_vector.loops.best_rows import BestRows, Masks, best_by, best_by_scores
from lance_core_vector.loops.library import is_compiled, native

Tables = npt.NDArray[np.float32]
"""The distances of codewords, of the shape (partitions, parts, codewords); one partition if all
partitions have the same ones."""

BYTE_VALUES = 256

GROUPED = 32
"""Vectors whose codes of 4 bits lie together, byte by byte."""

_LOOKUPS_AT_ONCE = 1 << 19
"""Distances that are looked up at once: they stay in the cache."""


def arranged(codes: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[Any]:
    """The codes of a partition, one row for each byte of a code, as scans are fastest with them.

    Compiled loops over codes of 4 bits read those of 32 vectors one byte after the other: they have
    the shape (groups of vectors, bytes, 32). numpy looks up all bytes of codes in one call, with
    the number of the table in the upper bits.
    """
    if not is_compiled():
        return table_indices(codes)
    if bits != 4:
        return np.ascontiguousarray(codes)
    width, count = codes.shape
    groups = np.zeros((-(-count // GROUPED), width, GROUPED), np.uint8)
    whole = count // GROUPED
    groups[:whole] = codes[:, : whole * GROUPED].reshape(width, whole, GROUPED).swapaxes(0, 1)
    groups[whole:, :, : count - whole * GROUPED] = codes[:, whole * GROUPED :]
    return groups


def codes_at(codes: npt.NDArray[Any], rows: npt.NDArray[np.intp]) -> npt.NDArray[np.uint8]:
    """The bytes of some vectors, one a row, of codes as `arranged` returns them."""
    if codes.ndim == 3:
        return codes[rows // GROUPED, :, rows % GROUPED]
    return (codes[:, rows].T & 255).astype(np.uint8)


def table_indices(codes: npt.NDArray[Any], count: int | None = None) -> npt.NDArray[Any]:
    """The codes of ``count`` vectors, one row for each byte, with the number of the table."""
    if codes.ndim == 3:
        codes = codes.swapaxes(0, 1).reshape(codes.shape[1], -1)[:, :count]
    if codes.dtype != np.uint8:
        return codes
    dtype: type[Any] = np.uint16 if len(codes) <= BYTE_VALUES else np.uint32
    numbers = np.arange(0, len(codes) * BYTE_VALUES, BYTE_VALUES).astype(dtype)
    indices: npt.NDArray[Any] = codes + numbers[:, None]
    return indices


def product_scores(
    codes: Sequence[npt.NDArray[Any]], sizes: Sequence[int], tables: Tables, base: float
) -> Tables:
    """The score of each row: the sum of its distances in the order of bytes, and ``base``.

    ``codes``: those of partitions of ``sizes`` vectors, as `arranged` returns them. A byte has two
    codes of 4 bits if there are 16 codewords.
    """
    if tables.shape[2] < BYTE_VALUES:
        low, high = tables[:, 0::2], tables[:, 1::2]
        tables = high[:, :, :, None] + low[:, :, None, :]
    flat = np.ascontiguousarray(tables).reshape(len(tables), -1)
    scores = np.empty(sum(sizes), np.float32)
    start = 0
    for at, (partition, size) in enumerate(zip(codes, sizes, strict=True)):
        table, indices = (
            from_numpy(flat[at if len(flat) > 1 else 0]),
            table_indices(partition, size),
        )
        step = max(1, _LOOKUPS_AT_ONCE // len(indices))
        for first in range(0, indices.shape[1], step):
            block = np.ascontiguousarray(indices[:, first : first + step])
            # No code is outside of the table. numpy would convert all indices to 64 bits first,
            # which takes as long as the look-ups.
            looked_up = pc.take(table, from_numpy(block.ravel()), boundscheck=False)
            distances = to_numpy(looked_up).reshape(block.shape)
            if block.shape[1] > 1:
                distances.sum(axis=0, out=scores[start : start + block.shape[1]])
            else:  # numpy would sum a single row in another order
                scores[start : start + 1] = np.add.accumulate(distances, axis=0)[-1]
            start += block.shape[1]
    scores += np.float32(base)
    return scores


def best_by_product(
    codes: Sequence[npt.NDArray[Any]],
    rows: Sequence[npt.NDArray[np.uint64]],
    masks: Masks | None,
    tables: Tables,
    base: float,
    count: int,
) -> BestRows:
    """The ``count`` rows with the lowest `product_scores`."""
    bits = 8 if tables.shape[2] == BYTE_VALUES else 4
    if not is_compiled() or any(partition.dtype != np.uint8 for partition in codes):
        sizes = [len(numbers) for numbers in rows]
        return best_by_scores(product_scores(codes, sizes, tables, base), rows, masks, count)
    width = codes[0].shape[-2]
    flat = np.ascontiguousarray(tables)
    best = best_by(native.scan_product, count, [*codes], [*rows], masks, width, bits, flat, base)
    assert best is not None
    return best
