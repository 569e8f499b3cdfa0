"""Passes over all vectors of a build: lengths, sums by partition, scalar codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.library import is_compiled, native

Floats = npt.NDArray[np.float32]

_NARROW = 64
"""Numbers of a vector up to which numpy adds those of all vectors faster than vector by vector."""

STEPS = 255
"""The scalar code of the highest number."""


def unit(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The vectors with the length one, in their type; a vector of zeros stays one."""
    if is_compiled() and vectors.dtype == np.float32:
        units = np.empty(vectors.shape, np.float32)
        native.unit_vectors(np.ascontiguousarray(vectors), vectors.shape[1], units)
        return units
    wide = vectors.astype(np.float64, copy=False)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    divisors = np.where(lengths > 0, lengths, 1).astype(vectors.dtype)
    return vectors / divisors[:, None]  # type: ignore[no-any-return]


def sum_by_owner(
    vectors: Floats, owners: npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.float64]:
    """For each of ``count`` owners the sum of its vectors, in 64 bits and in their order."""
    sums = np.zeros((count, vectors.shape[1]))
    if is_compiled():
        native.sum_by_owner(np.ascontiguousarray(vectors), owners, vectors.shape[1], sums)
        return sums
    if vectors.shape[1] <= _NARROW:
        for column, numbers in zip(sums.T, vectors.T, strict=True):
            column[...] = np.bincount(owners, numbers, minlength=count)
        return sums
    ends = np.cumsum(np.bincount(owners, minlength=count))
    parts = np.split(np.argsort(owners, kind="stable"), ends[:-1])
    for total, rows in zip(sums, parts, strict=True):
        np.add.reduce(vectors[rows], axis=0, dtype=np.float64, out=total)
    return sums


def scalar_codes(vectors: npt.NDArray[Any], low: float, step: float) -> npt.NDArray[np.uint8]:
    """How many times ``step`` each number is above ``low``, without the fraction, at most 255."""
    step = step or 1.0
    if is_compiled() and vectors.dtype == np.float32:
        codes = np.empty(vectors.shape, np.uint8)
        native.scalar_codes(np.ascontiguousarray(vectors), low, step, codes)
        return codes
    scaled = (vectors.astype(np.float64) - low) / step
    return np.clip(scaled, 0, STEPS).astype(np.uint8)


def squares_of(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The square of the length of each vector, in the type of the vectors."""
    if is_compiled() and vectors.dtype == np.float32:
        squares = np.empty(len(vectors), np.float32)
        native.squares(np.require(vectors, requirements=["C", "A"]), vectors.shape[1], squares)
        return squares
    return np.einsum("ij,ij->i", vectors, vectors)  # type: ignore[no-any-return]
