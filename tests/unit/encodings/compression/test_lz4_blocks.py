"""LZ4 blocks are decompressed to just the bytes that they hold."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.encodings.compression.lz4_blocks import lz4_block
from lance_core.errors import CorruptFileError
from tests.each_case import each_case

MIB = 1 << 20
EDGES = [edge + more for edge in (64 << 10, 256 << 10, MIB, 4 * MIB) for more in (-13, -12, -11, 1)]


def block(content: bytes) -> pa.Buffer:
    return pa.Codec("lz4_raw").compress(content)


def contents(size: int) -> list[bytes]:
    """Such as shrink to little, to half, and not at all."""
    chance = np.random.default_rng(size)
    known = np.array([b"amber ", b"basin ", b"cedar ", b"delta ", b"ember, "])
    # Matches are of the last 64 KiB: words may come again after that.
    words = b"".join(chance.choice(known, 20_000).tolist())
    return [bytes(size), (words * (size // len(words) + 1))[:size], chance.bytes(size)]


@each_case("size", [1, 2, 4, 5, 12, 13, 100, 4096, *EDGES, 9 * MIB])
def test_blocks_of_all_sizes_come_back(size: int) -> None:
    for content in contents(size):
        assert lz4_block(block(content), len(content)).equals(pa.py_buffer(content))


@each_case("size", [20, 4096, 64 << 10, MIB, 5 * MIB])
def test_a_block_of_another_size_is_corrupt(size: int) -> None:
    for content in contents(size):
        compressed = block(content)
        for more in (-13, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 12, 13, 100):
            with pytest.raises(CorruptFileError):
                lz4_block(compressed, len(content) + more)


@each_case("literals", [20, 5 * MIB])
@each_case("more", range(1, 12))
def test_what_a_block_lacks_is_not_filled_with_memory(literals: int, more: int) -> None:
    """Its last match is nearer to the end than encoders may have it."""
    long = literals - 15
    lengths = b"\xff" * (long // 255) + bytes([long % 255])
    body = b"\xf0" + lengths + b"l" * literals + struct.pack("<H", 1) + b"\x50abcde"
    with pytest.raises(CorruptFileError):
        lz4_block(pa.py_buffer(body), literals + 4 + 5 + more)


@given(st.binary(max_size=200), st.data())
def test_damaged_blocks_are_corrupt_or_hold_what_they_claim(
    content: bytes, data: st.DataObject
) -> None:
    body = bytearray(block(content * 3))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    size = len(content) * 3
    try:
        found = lz4_block(pa.py_buffer(bytes(body)), size)
    except CorruptFileError:
        return
    assert found.size == size


def test_a_block_without_content_needs_no_bytes() -> None:
    assert lz4_block(pa.py_buffer(b""), 0).size == 0
    assert lz4_block(block(b""), 0).size == 0
