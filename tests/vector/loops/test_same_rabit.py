"""The codes of RaBitQ by the compiled loops and by numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core_vector.loops.library import native, numpy_loops
from lance_core_vector.loops.rabit import rabit_codes, rotate_vectors


@given(width=st.integers(1, 20), seed=st.integers(0, 99))
def test_rotations(width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(7, 8 * width)).astype(np.float32)
    signs = random.integers(0, 256, 4 * width, np.uint8)
    rotated = rotate_vectors(vectors, signs)
    np.testing.assert_allclose(rotated @ rotated.T, vectors @ vectors.T, atol=1e-3)
    with numpy_loops():
        assert rotate_vectors(vectors, signs).tobytes() == rotated.tobytes()


@given(
    bits=st.integers(0, 8),
    width=st.integers(1, 10),
    scale=st.sampled_from([1e-38, 1e-3, 1.0, 1e12, 1e33]),
    seed=st.integers(0, 99),
)
def test_codes_and_sums(bits: int, width: int, scale: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(12, 8 * width))
    vectors[1] = np.round(vectors[1])  # many levels change at once
    vectors[2], vectors[3], vectors[4, ::2] = 0, -1, 0
    rotated = (vectors * scale).astype(np.float32)
    centroids = random.normal(size=(3, 8 * width)).astype(np.float32)
    owners = random.integers(0, 3, 12)
    codes, sums = rabit_codes(rotated, centroids, owners, bits)
    with numpy_loops():
        expected, exact = rabit_codes(rotated, centroids, owners, bits)
    np.testing.assert_array_equal(codes, expected)
    if 1e-10 < scale < 1e10:
        for found, sum_ in zip(sums, exact, strict=True):
            np.testing.assert_allclose(found, sum_, rtol=1e-5, atol=1e-5 * np.abs(sum_).max())


def test_codes_are_nearly_parallel_to_the_vector() -> None:
    random = np.random.default_rng(0)
    rotated = random.normal(size=(50, 64)).astype(np.float32)
    nearness = []
    for bits in range(9):
        codes, _ = rabit_codes(rotated, rotated[:1], np.zeros(50, np.int64), bits)
        values = (rotated >= 0) * float(1 << bits) - ((1 << bits) - 0.5)
        values = values + codes if bits else values
        cosines = np.einsum("ij,ij->i", values, rotated)
        cosines /= np.linalg.norm(values, axis=1) * np.linalg.norm(rotated, axis=1)
        nearness.append(1 - cosines.mean())
    assert nearness[0] < 0.22
    for less, more in zip(nearness[1:], nearness, strict=False):
        assert less < more / 2.5


def test_wrong_sizes_are_an_error() -> None:
    floats, codes, sums = np.zeros((2, 8), np.float32), np.zeros((2, 8), np.uint8), np.zeros(12)
    with pytest.raises(ValueError, match="do not belong together"):
        native.rotate_vectors(floats, 8, codes[0, :3])
    for owners in (np.array([0, 2]), np.array([-1, 0]), np.array([0])):
        with pytest.raises(ValueError, match="do not belong together"):
            native.rabit_codes(floats, 8, 1, floats, owners, codes, sums)
