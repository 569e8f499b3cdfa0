"""The codes of RaBitQ: the rotation of vectors, and the extra bits of their numbers.

A number of a rotated vector has a sign and a level, which its extra bits encode. The levels of a
vector are its absolute numbers multiplied by a factor, without the fraction and limited. The factor
is chosen so that the vector of signs and levels, each plus one half, is as nearly parallel to the
vector as possible. It is searched exactly: levels change at known factors, which are visited in
ascending order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.library import is_compiled, native

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

ROUNDS = 4
"""Rounds of flips and transforms of a rotation; each has a sign bit for every number."""

MAX_EXTRA_BITS = 8

_FIRST_SHARES = np.array([0, 0.15, 0.20, 0.52, 0.59, 0.71, 0.75, 0.77, 0.81], np.float32)
"""By extra bits: where the search begins, as a share of the greatest factor. The best factor is
above it; the shares are those of pylance."""

_SLACK = np.float32(1e-5)
"""Added to levels: factors of a change, times the number that changes, may be a little too low."""

_SPARE_LEVELS = 10
"""Levels beyond the highest one up to which factors are searched."""

_MIN_LENGTH, _MAX_LENGTH = 1e-30, 1e30
"""The greatest absolute number of a vector with levels: others have factors that overflow."""

_BLOCK = 1 << 21
"""Factors that numpy sorts at once."""

_NONE = np.empty(0, np.uint8)


class RabitSums(NamedTuple):
    """Products of rotated vectors and centroids with each other and with the codes; float64.

    ``signs`` are codes of one half with the sign of each number, ``codes`` those of all bits.
    """

    square: Doubles
    with_centroid: Doubles
    with_signs: Doubles
    centroid_with_signs: Doubles
    with_codes: Doubles
    centroid_with_codes: Doubles


def rotate_vectors(vectors: Floats, signs: Bytes) -> Floats:
    """A copy of ``vectors``, one a row, rotated in float32; see `quantizers.rotation`.

    The number of numbers is a multiple of 8. ``signs``: a bit for each number and round.
    """
    rotated = np.array(vectors, np.float32, order="C")
    width = rotated.shape[1]
    if is_compiled():
        native.rotate_vectors(rotated, width, signs)
        return rotated
    size = 1 << (width.bit_length() - 1)
    scale, half = np.float32(1 / math.sqrt(size)), width // 2
    flips = np.unpackbits(signs.reshape(ROUNDS, -1), axis=1, bitorder="little")
    for number, flip in enumerate(flips):
        np.negative(rotated, out=rotated, where=flip.astype(np.bool_))
        part = slice(0, size) if number % 2 == 0 else slice(width - size, width)
        rotated[:, part] = hadamard(rotated[:, part]) * scale
        if size != width:
            first, second = rotated[:, :half].copy(), rotated[:, half:].copy()
            rotated[:, :half] = first + second
            rotated[:, half:] = first - second
    if size != width:
        rotated *= np.float32(0.25)
    return rotated


def hadamard(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The Walsh-Hadamard transform of each row, whose length is a power of two."""
    transformed = vectors.copy()
    count, size = transformed.shape
    step = 1
    while step < size:
        pairs = transformed.reshape(count, size // (2 * step), 2, step)
        transformed = np.stack(
            [pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2
        ).reshape(count, size)
        step *= 2
    return transformed


def rabit_codes(
    rotated: Floats, centroids: Floats, owners: npt.NDArray[np.int64], bits: int
) -> tuple[Bytes, RabitSums]:
    """The ``bits`` extra bits of each number of ``rotated`` vectors, one a row, and products.

    ``centroids``: rotated; that of vector i is ``centroids[owners[i]]``. There are no extra bits
    for 0 ``bits``.
    """
    count, width = rotated.shape
    codes = np.empty((count, width if bits else 0), np.uint8)
    if is_compiled():
        sums = np.empty((count, 6))
        rotated, centroids = np.ascontiguousarray(rotated), np.ascontiguousarray(centroids)
        owners = np.ascontiguousarray(owners, np.int64)
        native.rabit_codes(rotated, width, bits, centroids, owners, codes, sums)
        return codes, RabitSums(*sums.T)
    if bits:
        step = max(1, _BLOCK // (width << bits))
        for start in range(0, count, step):
            codes[start : start + step] = _extra_bits(rotated[start : start + step], bits)
    return codes, _sums(rotated, centroids[owners], codes, bits)


def _extra_bits(rotated: Floats, bits: int) -> Bytes:
    lengths = np.abs(rotated)
    greatest = lengths.max(axis=1)
    has_levels = (greatest > _MIN_LENGTH) & (greatest < _MAX_LENGTH)
    codes = np.zeros(rotated.shape, np.uint8)
    if has_levels.any():
        most = (1 << bits) - 1
        some = lengths[has_levels]
        levels = _levels(_best_factors(some, greatest[has_levels], bits), some, most)
        flipped = np.where(rotated[has_levels] < 0, ~levels & most, levels)
        codes[has_levels] = flipped.astype(np.uint8)
    return codes


def _levels(factors: Floats, lengths: Floats, most: int) -> npt.NDArray[np.int32]:
    return np.minimum((factors[:, None] * lengths + _SLACK).astype(np.int32), np.int32(most))


def _best_factors(lengths: Floats, greatest: Floats, bits: int) -> Floats:
    count, width = lengths.shape
    most = (1 << bits) - 1
    last = np.float32(most + _SPARE_LEVELS) / greatest
    first = last * _FIRST_SHARES[bits]
    begin = _levels(first, lengths, most)
    odd = (2 * begin + 1).astype(np.float64)
    # Sums are added one after the other, as the compiled loop adds them.
    product = np.cumsum(odd * lengths, axis=1)[:, -1:]  # twice the product
    square = np.cumsum(odd * odd, axis=1)[:, -1:]  # four times the squared length
    level = np.arange(1, most + 1, dtype=np.uint64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inverse = np.float32(1) / lengths
        factors = level.astype(np.float32) * inverse[:, :, None]
        is_step = (level > begin[:, :, None]) & (factors < last[:, None, None])
    position = np.arange(width, dtype=np.uint64)[:, None]
    # The factor in the upper half orders steps by it, then by position and level.
    steps = factors.view(np.uint32).astype(np.uint64) << np.uint64(32)
    steps |= (position << np.uint64(8)) | level
    steps = np.sort(np.where(is_step, steps, ~np.uint64(0)).reshape(count, -1), axis=1)
    steps = steps[:, : int(is_step.sum(axis=(1, 2)).max(initial=0))]
    there = steps != ~np.uint64(0)
    which = np.where(there, (steps >> np.uint64(8)) & np.uint64(0xFFFFFF), np.uint64(0))
    more = np.take_along_axis(lengths, which.astype(np.intp), axis=1).astype(np.float64) * 2
    product = np.cumsum(np.hstack([product, np.where(there, more, 0)]), axis=1)
    more = 8.0 * (steps & np.uint64(255)).astype(np.float64)
    square = np.cumsum(np.hstack([square, np.where(there, more, 0)]), axis=1)
    best = (product * product / square).argmax(axis=1)
    at_steps = (steps >> np.uint64(32)).astype(np.uint32).view(np.float32)
    best_factors: Floats = np.hstack([first[:, None], at_steps])[np.arange(count), best]
    return best_factors


def _sums(rotated: Floats, centers: Floats, codes: Bytes, bits: int) -> RabitSums:
    is_positive = rotated >= 0
    signs = np.where(is_positive, np.float64(0.5), -0.5)
    values = signs
    if bits:
        values = is_positive * float(1 << bits) + codes - ((1 << bits) - 0.5)

    def product(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Doubles:
        products: Doubles = np.einsum("ij,ij->i", left, right, dtype=np.float64)
        return products

    return RabitSums(
        product(rotated, rotated),
        product(rotated, centers),
        product(rotated, signs),
        product(centers, signs),
        product(rotated, values),
        product(centers, values),
    )
