"""What a build does with all vectors, by the compiled loops and by numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core_vector.loops.codewords import Codebook, assigned_codewords
from lance_core_vector.loops.library import native, numpy_loops
from lance_core_vector.loops.passes import scalar_codes, squares_of, sum_by_owner, unit

SEEDS = st.integers(0, 999)


@given(rows=st.integers(0, 40), width=st.integers(1, 40), seed=SEEDS)
def test_units(rows: int, width: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(0, 9, (rows, width)).astype(np.float32)
    vectors[::7] = 0
    found = unit(vectors)
    with numpy_loops():
        np.testing.assert_allclose(found, unit(vectors), rtol=2e-7)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), vectors.any(axis=1), rtol=1e-6)


@given(rows=st.integers(0, 9), width=st.integers(1, 90), seed=SEEDS)
def test_squares(rows: int, width: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(0, 9, (rows, width)).astype(np.float32)
    found = squares_of(vectors)
    with numpy_loops():
        np.testing.assert_allclose(found, squares_of(vectors), rtol=1e-5)


@given(rows=st.integers(0, 99), width=st.integers(1, 20), count=st.integers(1, 9), seed=SEEDS)
def test_sums(rows: int, width: int, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(0, 9, (rows, width)).astype(np.float32)
    owners = random.integers(0, count, rows)
    found = sum_by_owner(vectors, owners, count)
    with numpy_loops():
        np.testing.assert_allclose(sum_by_owner(vectors, owners, count), found, rtol=1e-12)


@given(seed=SEEDS, low=st.floats(-9, 9), step=st.sampled_from([0.0, 0.01, 0.3]))
def test_scalar_codes(seed: int, low: float, step: float) -> None:
    vectors = np.random.default_rng(seed).normal(0, 9, (5, 37)).astype(np.float32)
    found = scalar_codes(vectors, low, step)
    with numpy_loops():
        np.testing.assert_array_equal(scalar_codes(vectors, low, step), found)


@given(rows=st.integers(0, 90), size=st.integers(1, 9), seed=SEEDS)
def test_assigned_codewords(rows: int, size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.integers(-3, 4, (rows, size)).astype(np.float32)
    codebook = Codebook(random.integers(-3, 4, (1, 16, size)).astype(np.float32))
    found = assigned_codewords(vectors, codebook)
    with numpy_loops():
        for ours, theirs in zip(found, assigned_codewords(vectors, codebook), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_what_does_not_belong_together_is_an_error() -> None:
    vectors, sums = np.zeros((3, 2), np.float32), np.zeros((4, 2))
    with pytest.raises(ValueError, match="no such owner"):
        native.sum_by_owner(vectors, np.array([0, 4, 1]), 2, sums)
    with pytest.raises(ValueError, match="do not belong together"):
        native.sum_by_owner(vectors, np.array([0, 1]), 2, sums)
    with pytest.raises(ValueError, match="do not belong together"):
        native.unit_vectors(vectors, 2, vectors[:2].copy())
    with pytest.raises(ValueError, match="do not belong together"):
        native.scalar_codes(vectors, 0.0, 1.0, np.zeros(5, np.uint8))
