"""A random sample of the vectors of a column, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core_vector.training.parameters import BuildParameters

MAX_SAMPLE = 1 << 18
"""Vectors of a sample at most."""

MIN_SAMPLE = 1 << 14

Floats = npt.NDArray[np.float32]


def sample_size(width: int, rows: int, parameters: BuildParameters) -> int:
    """How many vectors of ``width`` numbers train an index of so many rows."""
    count = parameters.sample_rate * parameters.partitions_for(rows)
    count = min(max(count, MIN_SAMPLE), MAX_SAMPLE)
    size = np.dtype(np.float32).itemsize * width * (8 if parameters.metric.of_bits else 1)
    return max(1, min(count, parameters.budget // size))


def sample_of(
    vectors: Iterable[npt.NDArray[Any]], size: int, random: np.random.Generator
) -> tuple[Floats, int]:
    """``size`` random vectors, all if there are fewer, and how many vectors there are.

    A vector that comes later replaces a random one with the probability that keeps the chances of
    all equal (Vitter's algorithm R).
    """
    sample: Floats | None = None
    total = 0
    for batch in vectors:
        if not len(batch):
            continue
        if sample is None:
            sample = np.empty((size, as_floats(batch[:1]).shape[1]), np.float32)
        new = max(0, min(size - total, len(batch)))
        sample[total : total + new] = as_floats(batch[:new])
        positions = random.integers(0, np.arange(total + new, total + len(batch)) + 1)
        chosen = np.flatnonzero(positions < size)
        if len(chosen):  # of several for one place, numpy assigns the last
            sample[positions[chosen]] = as_floats(batch[new + chosen])
        total += len(batch)
    if sample is None:
        return np.empty((0, 0), np.float32), 0
    return sample[:total], total


def as_floats(vectors: npt.NDArray[Any]) -> Floats:
    """Vectors as float32; the bits of bytes as numbers."""
    if vectors.dtype == np.uint8:
        return np.unpackbits(vectors, axis=1, bitorder="little").astype(np.float32)
    return np.asarray(vectors, np.float32)
