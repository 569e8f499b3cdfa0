"""Many zstd frames are decompressed by one call, and damage is noticed as if each were alone."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.compression.general import decompress_spans
from lance_core.encodings.compression.zstd_frames import joined_contents
from lance_core.encodings.kernels import NUMPY
from lance_core.errors import CorruptFileError
from tests.each_case import each_case
from tests.unit.encodings.compression.test_raw_frames import stored

VALUES = [b"ab" * count for count in (1, 100, 127, 128, 200, 33_000, 40_000)] + [b"", b"x" * 255]


def test_contents_of_all_sizes_are_read_at_once() -> None:
    octets, starts, stops = stored(VALUES)
    contents = joined_contents(octets, starts, stops, NUMPY)
    assert contents is not None
    assert contents.to_pybytes() == b"".join(VALUES)
    plain, sizes = decompress_spans("zstd", octets, starts, stops - starts, NUMPY)
    assert plain.equals(contents)
    assert sizes.tolist() == [len(value) for value in VALUES]


@each_case("number", [0, 1, 3, 6])
def test_a_size_that_is_not_that_of_the_frame_is_an_error(number: int) -> None:
    octets, starts, stops = stored(VALUES)
    octets = octets.copy()
    at = int(starts[number])
    octets[at : at + 8] = np.frombuffer(struct.pack("<Q", len(VALUES[number]) + 1), np.uint8)
    assert joined_contents(octets, starts, stops, NUMPY) is None
    with pytest.raises(CorruptFileError):
        decompress_spans("zstd", octets, starts, stops - starts, NUMPY)


def test_damaged_bytes_give_an_error_or_the_same_as_a_frame_alone() -> None:
    octets, starts, stops = stored(VALUES[:4])
    random = np.random.default_rng(1)
    for _ in range(200):
        damaged = octets.copy()
        damaged[random.integers(starts[0], stops[-1])] ^= np.uint8(random.integers(1, 256))
        contents = joined_contents(damaged, starts, stops, NUMPY)
        if contents is not None:
            spans = [damaged[start + 8 : stop] for start, stop in zip(starts, stops, strict=True)]
            sizes = [len(value) for value in VALUES[:4]]
            alone = [
                pa.Codec("zstd").decompress(pa.py_buffer(span.tobytes()), size).to_pybytes()
                for span, size in zip(spans, sizes, strict=True)
            ]
            assert contents.to_pybytes() == b"".join(alone)


def test_frames_that_do_not_state_their_size_are_left() -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(b"ab" * 100)
    frame = sink.getvalue().to_pybytes()
    octets = np.frombuffer(struct.pack("<Q", 200) + frame, np.uint8)
    starts, stops = np.array([0]), np.array([len(octets)])
    assert joined_contents(octets, starts, stops, NUMPY) is None
    plain, sizes = decompress_spans("zstd", octets, starts, stops - starts, NUMPY)
    assert (plain.to_pybytes(), sizes.tolist()) == (b"ab" * 100, [200])
