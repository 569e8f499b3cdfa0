"""The random rotations of RaBitQ: a fast one, and those by a matrix of older releases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.rabit import ROUNDS, hadamard, rotate_vectors

_KAC_SCALE = 0.25
"""Undoes the lengthening of all Kac steps, each by the square root of 2."""


class Rotation(ABC):
    """A rotation of vectors."""

    @abstractmethod
    def of_query(self, query: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """One rotated vector."""

    @abstractmethod
    def of_vectors(self, vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Rotated vectors, one a row."""

    def is_same(self, other: Rotation) -> bool:
        """True if ``other`` rotates as this one does."""
        return self is other


class FastRotation(Rotation):
    """Flips of signs, Hadamard transforms and Kac steps.

    ``signs``: `num_sign_bytes` bytes for vectors of ``width`` numbers.
    """

    def __init__(self, signs: Sequence[int] | npt.NDArray[np.uint8]) -> None:
        self.signs = np.array(signs, np.uint8)

    def is_same(self, other: Rotation) -> bool:
        return isinstance(other, FastRotation) and np.array_equal(self.signs, other.signs)

    def of_query(self, query: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        rotated: npt.NDArray[np.float64] = self.of_vectors(query[None])[0].astype(np.float64)
        return rotated

    def of_vectors(self, vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        return rotate_vectors(np.asarray(vectors, np.float32), self.signs)


class MatrixRotation(Rotation):
    """The product with a matrix, one row for each rotated number."""

    def __init__(self, matrix: npt.NDArray[np.float32]) -> None:
        self._matrix = matrix

    def of_query(self, query: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        rotated: npt.NDArray[np.float64] = self._matrix.astype(np.float64) @ query
        return rotated

    def of_vectors(self, vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        rotated: npt.NDArray[np.float32] = vectors.astype(np.float32) @ self._matrix.T
        return rotated


def num_sign_bytes(width: int) -> int:
    """The bytes of the sign bits of vectors of ``width`` numbers."""
    return ROUNDS * (-(-width // 8))


def rotate(
    vectors: npt.NDArray[Any], signs: Sequence[int] | npt.NDArray[np.uint8]
) -> npt.NDArray[np.float64]:
    """``vectors``, one a row, rotated in float64; ``signs`` has `num_sign_bytes` bytes."""
    rotated = vectors.astype(np.float64)
    width = rotated.shape[1]
    size = 1 << (width.bit_length() - 1)  # of the transform: the largest power of two
    flips = np.unpackbits(
        np.array(signs, np.uint8).reshape(ROUNDS, -1), axis=1, count=width, bitorder="little"
    )
    for number, flip in enumerate(flips):
        rotated[:, flip == 1] *= -1
        part = slice(0, size) if number % 2 == 0 else slice(width - size, width)
        rotated[:, part] = hadamard(rotated[:, part]) / np.sqrt(size)
        if size != width:
            half = width // 2
            first, second = rotated[:, :half].copy(), rotated[:, half : 2 * half].copy()
            rotated[:, :half] = first + second
            rotated[:, half : 2 * half] = first - second
    return rotated if size == width else rotated * _KAC_SCALE
