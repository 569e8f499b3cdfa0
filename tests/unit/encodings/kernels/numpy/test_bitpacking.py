"""The FastLanes order: where each value's bits are."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.errors import CorruptFileError, InvalidInputError
from tests.each_case import each_case

pack, unpack = NUMPY.pack_fastlanes, NUMPY.unpack_fastlanes


@each_case("bits", WIDTHS)
def test_what_was_packed_comes_back(bits: int) -> None:
    chance = np.random.default_rng(bits)
    for packed_bits in range(bits + 1):
        top = (1 << packed_bits) - 1
        values = chance.integers(0, top, 3 * CHUNK, np.dtype(f"u{bits // 8}"), endpoint=True)
        packed = pack(values, packed_bits)
        assert len(packed) == 3 * packed_bytes(packed_bits)
        assert (unpack(packed, packed_bits, bits, 3) == values).all()


def test_places_follow_the_order() -> None:
    # In 16-bit words there are 64 lanes; row 8 is the fifth block of 16 values, lanes follow.
    values = np.zeros(CHUNK, np.uint16)
    values[4 * 16 + 5] = 1  # row 8, lane 5
    packed = pack(values, 1).view(np.uint16)
    assert np.flatnonzero(packed).tolist() == [5]
    assert packed[5] == 1 << 8


def test_values_of_full_width_are_only_reordered() -> None:
    values = np.arange(CHUNK, dtype=np.uint32)
    words = pack(values, 32).view(np.uint32)
    assert sorted(words.tolist()) == values.tolist()
    assert words[:32].tolist() == list(range(32))
    assert words[32:64].tolist() == list(range(128, 160))


@each_case(("width", "bits", "size"), [(3, 8, 383), (9, 8, 1152), (3, 12, 384)])
def test_chunks_that_do_not_fit_are_corruption(width: int, bits: int, size: int) -> None:
    with pytest.raises(CorruptFileError):
        unpack(np.zeros(size, np.uint8), width, bits, 1)


@pytest.mark.parametrize("values", [np.full(CHUNK, 8, np.uint32), np.zeros(1000, np.uint32)])
def test_values_that_cannot_be_packed_are_refused(values: np.ndarray) -> None:
    with pytest.raises(InvalidInputError):
        pack(values, 3)
