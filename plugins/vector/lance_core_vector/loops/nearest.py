"""The nearest centroid of each vector."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.library import is_compiled, native
from lance_core_vector.loops.threads import PART_PRODUCTS, blocks_of, in_threads, parts_of

Floats = npt.NDArray[np.float32]

BLOCK_ROWS = 1 << 12
BLOCK_BYTES = 16 << 20
"""Vectors whose distances numpy computes at once, and bytes of these distances."""


def nearest_centroids(vectors: Floats, centroids: Floats, halves: Floats) -> npt.NDArray[np.int64]:
    """For each vector the centroid with the least of ``halves`` less their product; the first one.

    ``halves``: a number for each centroid.
    """
    nearest = np.empty(len(vectors), np.int64)
    turned = None if is_compiled() else np.ascontiguousarray(centroids.T)

    def search(some: range) -> None:
        block, own = vectors[some.start : some.stop], nearest[some.start : some.stop]
        if turned is None:
            block = np.require(block, np.float32, ["C", "A"])
            native.nearest_centroids(block, block.shape[1], centroids, halves, own)
            return
        with np.errstate(over="ignore", invalid="ignore"):  # of products that are no float32
            products = block @ turned
            products -= halves
        products.argmax(axis=1, out=own)

    if turned is None:
        centroids = np.require(centroids, np.float32, ["C", "A"])
        parts = parts_of(len(vectors), PART_PRODUCTS // max(1, centroids.size))
    else:
        # Always the same blocks, since products are rounded as their number requires.
        step = max(1, min(BLOCK_ROWS, BLOCK_BYTES // (4 * len(centroids))))
        parts = blocks_of(len(vectors), step)
    for _ in in_threads(search, parts):
        pass
    return nearest
