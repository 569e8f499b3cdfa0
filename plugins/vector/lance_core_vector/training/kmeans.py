"""k-means: the centroids of vectors, deterministic for a seed and any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK_ROWS = 1 << 14
"""Vectors whose distances are computed at once."""

TOLERANCE = 1e-4
"""A training ends when the sum of distances falls by less than this share."""

Floats = npt.NDArray[np.float32]


def nearest(vectors: Floats, centroids: Floats, *, by_angle: bool = False) -> npt.NDArray[np.int64]:
    """For each vector the number of the nearest centroid; the first of equally near ones.

    ``by_angle``: the one with the greatest dot product instead of the least squared distance.
    """
    half = 0.0 if by_angle else np.einsum("ij,ij->i", centroids, centroids) * np.float32(0.5)
    found = np.empty(len(vectors), np.int64)
    turned = np.ascontiguousarray(centroids.T)
    for start in range(0, len(vectors), BLOCK_ROWS):
        products = vectors[start : start + BLOCK_ROWS] @ turned
        products -= half
        found[start : start + BLOCK_ROWS] = products.argmax(axis=1)
    return found


def train(
    vectors: Floats,
    count: int,
    *,
    iterations: int,
    random: np.random.Generator,
    by_angle: bool = False,
) -> tuple[Floats, float]:
    """``count`` centroids of ``vectors`` (at least one), and the sum of the squared distances.

    Lloyd's algorithm from random vectors. A centroid without vectors moves to a vector that is far
    from its own. ``by_angle``: centroids have the length one. There are fewer than ``count`` only
    if there are fewer vectors.
    """
    count = min(count, len(vectors))
    centroids = vectors[np.sort(random.choice(len(vectors), count, replace=False))].copy()
    if by_angle:
        centroids = unit(centroids)
    squares = float(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64))
    loss = before = np.inf
    for _ in range(max(1, iterations)):
        owners = nearest(vectors, centroids, by_angle=by_angle)
        sums, sizes = _sums(vectors, owners, count)
        loss = squares - 2 * float(np.einsum("ij,ij->", sums, centroids, dtype=np.float64))
        lengths = np.einsum("ij,ij->i", centroids, centroids, dtype=np.float64)
        loss += float(sizes @ lengths)
        present = sizes > 0
        centroids[present] = (sums[present] / sizes[present, None]).astype(np.float32)
        empty = np.flatnonzero(~present)
        if len(empty):
            centroids[empty] = _far_vectors(vectors, owners, centroids, len(empty))
        if by_angle:
            centroids = unit(centroids)
        if not len(empty) and np.isfinite(before) and before - loss <= TOLERANCE * before:
            break
        before = loss
    return centroids, max(loss, 0.0)


def unit(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The vectors with the length one; a vector of zeros stays one."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    found: npt.NDArray[Any] = (vectors / np.where(lengths > 0, lengths, 1)[:, None]).astype(
        vectors.dtype
    )
    return found


def _sums(
    vectors: Floats, owners: npt.NDArray[np.int64], count: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The sum and the number of the vectors of each centroid."""
    sizes = np.bincount(owners, minlength=count)
    order = np.argsort(owners, kind="stable")
    starts = np.cumsum(sizes) - sizes
    present = sizes > 0
    sums = np.zeros((count, vectors.shape[1]))
    sums[present] = np.add.reduceat(vectors[order], starts[present], axis=0, dtype=np.float64)
    return sums, sizes


def _far_vectors(
    vectors: Floats, owners: npt.NDArray[np.int64], centroids: Floats, count: int
) -> Floats:
    """The ``count`` vectors that are farthest from their centroids."""
    distances = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), BLOCK_ROWS):
        some = slice(start, start + BLOCK_ROWS)
        differences = vectors[some] - centroids[owners[some]]
        distances[some] = np.einsum("ij,ij->i", differences, differences)
    return vectors[np.argsort(-distances, kind="stable")[:count]]
