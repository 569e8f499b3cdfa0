"""Values that zstd could not compress are found without decompressing them, others are left."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.compression.general import compress, decompress_spans
from lance_core.encodings.compression.raw_frames import raw_blocks
from lance_core.encodings.kernels import NUMPY
from lance_core.errors import CorruptFileError
from tests.each_case import each_case

RNG = np.random.default_rng(9)


def stored(values: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values compressed, with bytes in between; where each starts and ends."""
    parts, starts, stops, at = [b"between"], [], [], 7
    for value in values:
        packed = compress("zstd", None, pa.py_buffer(value))
        assert packed is not None
        starts.append(at)
        stops.append(at + packed.size)
        parts += [packed.to_pybytes(), b"--"]
        at += packed.size + 2
    octets = np.frombuffer(b"".join(parts), np.uint8)
    return octets, np.array(starts, np.int64), np.array(stops, np.int64)


@each_case("size", [300, 1000, 70_000, 131_072, 131_073, 400_000])
def test_random_bytes_are_found_in_their_frames(size: int) -> None:
    values = [RNG.bytes(size), b"", RNG.bytes(size + 1), RNG.bytes(size)]
    octets, starts, stops = stored(values)
    blocks = raw_blocks(octets, starts, stops)
    assert blocks is not None
    data = octets.tobytes()
    found = [data[a:b] for a, b in zip(blocks.starts, blocks.stops, strict=True)]
    assert b"".join(found) == b"".join(values)
    assert blocks.sizes.tolist() == [len(value) for value in values]


@each_case(
    "values",
    [
        [b"a" * 5000],
        [RNG.bytes(5000), b"ab" * 5000],
        [RNG.bytes(140_000) + b"a" * 140_000],
        [],
    ],
    ids=["runs", "some runs", "a compressed block", "none"],
)
def test_what_is_compressed_is_left_to_zstd(values: list[bytes]) -> None:
    octets, starts, stops = stored(values)
    assert raw_blocks(octets, starts, stops) is None
    plain, sizes = decompress_spans("zstd", octets, starts, stops - starts, NUMPY)
    assert plain.to_pybytes() == b"".join(values)
    assert sizes.tolist() == [len(value) for value in values]


@each_case("at", range(24))
def test_damaged_frames_of_raw_blocks_give_no_other_bytes(at: int) -> None:
    value = RNG.bytes(900)
    octets, starts, stops = stored([value])
    for number in range(256):
        damaged = octets.copy()
        damaged[starts[0] + at] = number
        try:
            plain, sizes = decompress_spans("zstd", damaged, starts, stops - starts, NUMPY)
        except CorruptFileError:
            continue
        assert plain.size == sizes.sum()
        if at < 18:  # everything in front of the bytes themselves
            assert plain.to_pybytes() == value


def test_a_claim_without_bytes_is_an_error_before_memory_is_used() -> None:
    octets, starts, stops = stored([b"a" * 100_000])
    lying = octets.copy()
    lying[starts[0] : starts[0] + 8] = np.frombuffer(struct.pack("<Q", 1 << 40), np.uint8)
    with pytest.raises(CorruptFileError):
        decompress_spans("zstd", lying, starts, stops - starts, NUMPY)
