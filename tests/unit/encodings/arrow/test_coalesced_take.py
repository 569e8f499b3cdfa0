"""Single values out of buffers: what is close is read together, all that is wanted comes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_core.byte_ranges import BufferSlices, ByteRange
from lance_core.encodings.arrow.coalesced_take import (
    bit_ranges,
    bit_take,
    fixed_ranges,
    fixed_take,
    gather_variable,
    span_places,
    span_ranges,
    span_take,
)
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.kernels.numpy.buffer_slices import SMALL_SLICE
from lance_core.errors import CorruptFileError
from tests.each_case import each_case

DATA = np.random.default_rng(3).integers(0, 256, 4000).astype(np.uint8)
FILE = pa.py_buffer(DATA)
GAPS = [0, 1, 7, 100, 1 << 40]


def fetch(ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
    return [FILE.slice(r.start, r.length) for r in ranges]


def positions(count: int, limit: int) -> Int64Array:
    chosen = np.random.default_rng(count).choice(limit, count, replace=False)
    return np.sort(chosen).astype(np.int64)


@each_case("gap", GAPS)
@each_case("width", [1, 2, 3, 4, 8, 16, 37])
def test_values_of_fixed_width_are_picked(width: int, gap: int) -> None:
    base, limit = 11, (4000 - 11) // width
    for count in (1, 2, min(40, limit), limit):
        wanted = positions(count, limit)
        ranges, cuts = fixed_ranges(base, width, wanted, gap)
        taken = fixed_take(fetch(ranges), cuts, wanted, width).tobytes()
        rows = DATA[base : base + limit * width].reshape(limit, width)
        assert taken == rows[wanted].tobytes()


def test_a_range_for_each_group_of_close_values() -> None:
    wanted = np.array([0, 1, 3, 10, 11, 40])
    ranges, cuts = fixed_ranges(100, 4, wanted, gap=4)
    assert ranges == [ByteRange(100, 116), ByteRange(140, 148), ByteRange(260, 264)]
    assert cuts.edges == [0, 3, 5, 6]
    assert cuts.firsts == [0, 10, 40]
    ranges, _ = fixed_ranges(100, 4, wanted, gap=1000)
    assert ranges == [ByteRange(100, 264)]


@each_case("gap", GAPS)
def test_bits_are_picked(gap: int) -> None:
    bits = np.unpackbits(DATA[5:], bitorder="little")
    for count in (1, 9, 300):
        wanted = positions(count, 20000)
        ranges, cuts = bit_ranges(5, wanted, gap)
        bitmap = bit_take(fetch(ranges), cuts, wanted)
        got = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")[:count]
        assert (got == bits[wanted]).all()


@each_case("large", [False, True])
@each_case("gap", GAPS)
def test_spans_of_bytes_are_picked(gap: int, large: bool) -> None:
    edges = positions(120, 3000)
    starts, stops = edges[::2].copy(), edges[1::2].copy()
    stops[::5] = starts[::5]  # some are empty
    ranges, cuts = span_ranges(700, starts, stops, gap)
    taken = span_take(fetch(ranges), cuts, starts, stops, large)
    assert taken.type == (pa.large_binary() if large else pa.binary())
    assert taken.to_pylist() == [
        DATA[700 + a : 700 + b].tobytes() for a, b in zip(starts, stops, strict=True)
    ]


def test_adjacent_spans_are_read_together() -> None:
    starts, stops = np.array([0, 10, 10, 25]), np.array([10, 10, 20, 30])
    ranges, _ = span_ranges(0, starts, stops, gap=0)
    assert list(ranges) == [ByteRange(0, 20), ByteRange(25, 30)]


def test_spans_of_one_buffer_follow_each_other_with_their_offsets() -> None:
    starts, stops = np.array([3, 5, 5, 20]), np.array([5, 5, 9, 24])
    text, offsets = gather_variable(DATA, starts, stops)
    assert text.to_pybytes() == DATA[3:9].tobytes() + DATA[20:24].tobytes()
    assert offsets.tolist() == [0, 2, 2, 6, 10]


@each_case(
    ("starts", "stops"),
    [([-1], [2]), ([0], [4001]), ([3], [2]), ([0, 1], [2, 3]), ([5, 0], [6, 1]), ([0], [])],
)
def test_spans_that_cannot_be_are_corruption(starts: list[int], stops: list[int]) -> None:
    with pytest.raises(CorruptFileError):
        gather_variable(DATA, np.array(starts, np.int64), np.array(stops, np.int64))


@each_case("gap", GAPS)
@each_case("size", [0, 1, 30, 3 * SMALL_SLICE])
def test_spans_are_found_in_the_joined_buffers(size: int, gap: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, 9 * (size + 9)).astype(np.uint8)
    base, starts = 5, np.arange(7) * (size + 9)
    starts[3:] -= 9  # these follow the one before without a gap
    stops = starts + size
    ranges, places = span_places(base, starts, stops, gap)
    file = pa.py_buffer(data)
    buffers = [file.slice(one.start, one.length) for one in ranges]
    joined = BufferSlices.of(buffers).joined(NUMPY.join_slices)
    for start, place in zip(starts.tolist(), places.tolist(), strict=True):
        wanted = data[base + start : base + start + size]
        assert joined[place : place + size].tobytes() == wanted.tobytes()
