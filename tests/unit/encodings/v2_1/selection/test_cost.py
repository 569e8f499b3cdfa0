"""The sizes that are expected are those that encodings then have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.v2_1.codecs.base import Place, Target, encode
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.encodings.v2_1.selection.cost import Integers, byte_entropy
from tests.each_case import each_case
from tests.unit.encodings.v2_1.conftest import REGISTRY

chance = np.random.default_rng(3)


def integers(bits: int, count: int, limit: int, run: int) -> FixedWidth:
    values = np.repeat(chance.integers(0, 1 << limit, -(-count // run)), run)[:count]
    return FixedWidth.of(values.astype(f"<u{bits // 8}"))


def size(values: FixedWidth, place: Place, codec: str) -> int:
    return sum(part.size for part in encode(values, Target(place, REGISTRY, (codec,))).buffers)


shapes = st.tuples(
    st.sampled_from([8, 16, 32, 64]),
    st.sampled_from([1, 63, 1000, 1024, 1025, 3000, 4096, 10_000]),
    st.integers(0, 60),
    st.sampled_from([1, 2, 3, 100, 256, 5000]),
)


@given(shape=shapes)
def test_packed_sizes_are_known_before(shape: tuple[int, int, int, int]) -> None:
    bits, count, limit, run = shape
    values = integers(bits, count, min(limit, bits - 1), run)
    found = Integers.of(values, NUMPY)
    assert found is not None
    packed = size(values, Place.MINI_BLOCK, "inline_bitpacking")
    assert found.inline_size == min(packed, found.size)
    codec = "inline_bitpacking" if count <= 1024 else "out_of_line_bitpacking"
    assert found.block_size == min(size(values, Place.BLOCK, codec), found.size)


@given(shape=shapes, in_chunks=st.booleans())
def test_runs_are_taken_just_where_they_are_no_larger(
    shape: tuple[int, int, int, int], in_chunks: bool
) -> None:
    bits, count, limit, run = shape
    values = integers(bits, count, min(limit, bits - 1), run)
    found = Integers.of(values, NUMPY)
    assert found is not None
    place = Place.MINI_BLOCK if in_chunks else Place.BLOCK
    encoded = encode(values, Target(place, REGISTRY, ("rle",)))
    # Chunks of fewer values cut more runs than are expected.
    assume(not in_chunks or len(encoded.counts) == -(-count // 4096))
    runs = sum(part.size for part in encoded.buffers)
    assert found.runs_beat(found.size, in_chunks) == (runs < found.size)
    assert found.runs_beat(runs, in_chunks) == (runs < found.size)
    assert not found.runs_beat(runs - 1, in_chunks)


@each_case("bits", [1, 24, 128])
def test_other_widths_are_no_integers(bits: int) -> None:
    assert Integers.of(FixedWidth(pa.py_buffer(bytes(64)), bits, 4), NUMPY) is None


def test_no_values_have_no_measures() -> None:
    assert Integers.of(FixedWidth(pa.py_buffer(b""), 64, 0), NUMPY) is None


def test_a_threshold_is_a_part_of_the_values() -> None:
    found = Integers.of(FixedWidth.of(np.repeat(np.arange(50, dtype="<u4"), 2)), NUMPY)
    assert found is not None
    assert found.run_count == 50
    assert found.passes(None)
    assert found.passes(0.51)
    assert not found.passes(0.5)
    assert not found.passes(float("nan"))


@each_case(
    ("values", "entropy"),
    [(np.zeros(9), 0.0), (np.arange(64), 6 / 8), (np.arange(256) << 8, 6 / 8)],
)
def test_entropy_is_the_mean_of_the_bytes_of_64_values(values: np.ndarray, entropy: float) -> None:
    assert byte_entropy(FixedWidth.of(values.astype("<u8"))) == pytest.approx(entropy)
