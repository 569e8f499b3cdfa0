"""The nearest codewords by the compiled loop and by numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core_vector.loops.codewords import Codebook, nearest_codewords
from lance_core_vector.loops.library import is_compiled, native, numpy_loops


def test_the_library_is_used() -> None:
    assert is_compiled()


@given(
    rows=st.integers(0, 70),
    parts=st.integers(1, 5),
    size=st.integers(1, 9),
    words=st.sampled_from([16, 256]),
    seed=st.integers(0, 99),
)
def test_nearest_codewords(rows: int, parts: int, size: int, words: int, seed: int) -> None:
    """Small whole numbers have no rounding, and many codewords that are equally near."""
    random = np.random.default_rng(seed)

    def numbers(*shape: int) -> npt.NDArray[np.float32]:
        return random.integers(-3, 4, shape).astype(np.float32)

    vectors, codebook = numbers(rows, parts * size), Codebook(numbers(parts, words, size))
    found = nearest_codewords(vectors, codebook)
    with numpy_loops():
        np.testing.assert_array_equal(nearest_codewords(vectors, codebook), found)


def test_wrong_sizes_are_an_error() -> None:
    floats, codes, none = np.zeros(64, np.float32), np.zeros(4, np.uint8), np.empty(0)
    with pytest.raises(ValueError, match="do not belong together"):
        native.nearest_codewords(
            floats[:8], 2, 1, floats[:31], floats[:32], 0, 2, codes, none, none
        )
    with pytest.raises(ValueError, match="do not belong together"):
        native.nearest_codewords(
            floats[:4], 2, 1, floats[:32], floats[:32], 0, 3, codes, none, none
        )
