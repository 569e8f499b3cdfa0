"""Ranges and their bytes as arrays are the sequences that they stand for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.byte_ranges import BufferSlices, ByteRange, RangeArrays, concatenated
from lance_core.encodings.kernels import NUMPY
from tests.each_case import each_case

RANGES = [ByteRange(3, 9), ByteRange(0, 0), ByteRange(7, 8)]


def test_ranges_as_arrays_are_a_sequence_of_ranges() -> None:
    arrays = RangeArrays.of(RANGES)
    assert RangeArrays.of(arrays) is arrays
    assert list(arrays) == RANGES
    assert [one.length for one in arrays] == [6, 0, 1]
    assert (arrays[0], arrays[-1], len(arrays)) == (RANGES[0], RANGES[-1], 3)
    assert list(arrays[1:]) == RANGES[1:]
    assert list(RangeArrays.of([])) == []


def test_requests_are_concatenated_as_arrays_if_one_of_them_is() -> None:
    arrays = RangeArrays.of(RANGES)
    assert concatenated([RANGES, [], RANGES[:1]]) == [*RANGES, RANGES[0]]
    assert concatenated([arrays]) is arrays
    both = concatenated([RANGES[:1], arrays, []])
    assert isinstance(both, RangeArrays)
    assert list(both) == [RANGES[0], *RANGES]


def slices() -> BufferSlices:
    buffers = [pa.py_buffer(b"abcdef"), pa.py_buffer(b"0123")]
    return BufferSlices(
        buffers, np.array([1, 0, 0, 1]), np.array([1, 0, 3, 4]), np.array([3, 2, 6, 4])
    )


def test_slices_are_a_sequence_of_buffers() -> None:
    expected = [b"12", b"ab", b"def", b""]
    assert [one.to_pybytes() for one in slices()] == expected
    assert [slices()[number].to_pybytes() for number in range(4)] == expected
    assert [one.to_pybytes() for one in slices()[1:3]] == expected[1:3]
    assert [one.to_pybytes() for one in slices()[np.array([2, 0])]] == [b"def", b"12"]
    assert slices().sizes.tolist() == [2, 2, 3, 0]
    assert [one.to_pybytes() for one in slices().first(np.array([1, 0, 2, 0]))] == [
        *(b"1", b"", b"de", b"")
    ]


@each_case("count", range(5))
def test_slices_are_joined_in_their_order(count: int) -> None:
    some = slices()[:count]
    expected = b"".join(one.to_pybytes() for one in some)
    assert some.joined(NUMPY.join_slices).tobytes() == expected
    assert BufferSlices.of(list(some)).joined(NUMPY.join_slices).tobytes() == expected
    assert BufferSlices.of(some) is some
