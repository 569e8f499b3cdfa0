"""k-means: the centroids of vectors, deterministic for a seed and any number of threads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.codewords import (
    CODEWORDS,
    MAX_NUMBERS,
    Codebook,
    assigned_codewords,
)
from lance_core_vector.loops.nearest import nearest_centroids
from lance_core_vector.loops.passes import sum_by_owner, unit

BLOCK_ROWS = 1 << 14
"""Vectors whose distances are computed at once."""

TOLERANCE = 1e-4
"""A training ends when the sum of distances falls by less than this share."""

Floats = npt.NDArray[np.float32]


def nearest(vectors: Floats, centroids: Floats, *, by_angle: bool = False) -> npt.NDArray[np.int64]:
    """For each vector the number of the nearest centroid; the first of equally near ones.

    ``by_angle``: the one with the greatest dot product instead of the least squared distance.
    """
    halves = np.zeros(len(centroids), np.float32)
    if not by_angle:
        halves = np.einsum("ij,ij->i", centroids, centroids) * np.float32(0.5)
    return nearest_centroids(vectors, centroids, halves)


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
    start = vectors[first_vectors(len(vectors), count, random)]
    return improved(vectors, start, iterations=iterations, by_angle=by_angle)


def first_vectors(
    num_vectors: int, count: int, random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The numbers of the random vectors from which `train` begins."""
    return np.sort(random.choice(num_vectors, min(count, num_vectors), replace=False))


def improved(
    vectors: Floats, centroids: Floats, *, iterations: int, by_angle: bool = False
) -> tuple[Floats, float]:
    """See `train`: from ``centroids``, which stay as they are."""
    centroids = centroids.copy()
    if by_angle:
        centroids = unit(centroids)
    squares = float(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64))
    loss = before = np.inf
    for _ in range(max(1, iterations)):
        owners, sums, sizes = _assigned(vectors, centroids, by_angle=by_angle)
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


def _assigned(
    vectors: Floats, centroids: Floats, *, by_angle: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The owner of each vector, and the sum and the number of the vectors of each centroid."""
    count, width = centroids.shape
    if count in CODEWORDS and width <= MAX_NUMBERS and not by_angle:
        return assigned_codewords(vectors, Codebook(centroids[None]))
    owners = nearest(vectors, centroids, by_angle=by_angle)
    return owners, sum_by_owner(vectors, owners, count), np.bincount(owners, minlength=count)


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
