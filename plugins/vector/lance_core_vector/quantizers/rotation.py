"""The fast random rotation of RaBitQ: flips of signs, Hadamard transforms and Kac steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

ROUNDS = 4
"""Rounds of flips and transforms; each has a sign bit for every number."""

_KAC_SCALE = 0.25
"""Undoes the lengthening of all Kac steps, each by the square root of 2."""


def num_sign_bytes(width: int) -> int:
    """The bytes of the sign bits of vectors of ``width`` numbers."""
    return ROUNDS * (-(-width // 8))


def rotate(
    vectors: npt.NDArray[Any], signs: Sequence[int] | npt.NDArray[np.uint8]
) -> npt.NDArray[np.float64]:
    """``vectors``, one a row, rotated; ``signs`` has `num_sign_bytes` bytes."""
    found = vectors.astype(np.float64)
    width = found.shape[1]
    size = 1 << (width.bit_length() - 1)  # of the transform: the largest power of two
    flips = np.unpackbits(
        np.array(signs, np.uint8).reshape(ROUNDS, -1), axis=1, count=width, bitorder="little"
    )
    for number, flip in enumerate(flips):
        found[:, flip == 1] *= -1
        part = slice(0, size) if number % 2 == 0 else slice(width - size, width)
        found[:, part] = hadamard(found[:, part]) / np.sqrt(size)
        if size != width:
            half = width // 2
            first, second = found[:, :half].copy(), found[:, half : 2 * half].copy()
            found[:, :half] = first + second
            found[:, half : 2 * half] = first - second
    return found if size == width else found * _KAC_SCALE


def hadamard(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The Walsh-Hadamard transform of each row, whose length is a power of two."""
    found = vectors.copy()
    count, size = found.shape
    step = 1
    while step < size:
        pairs = found.reshape(count, size // (2 * step), 2, step)
        found = np.stack(
            [pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2
        ).reshape(count, size)
        step *= 2
    return found
