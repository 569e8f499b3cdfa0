"""CRC-32C: known values, and the loop without compiled code against the definition."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from lance_core.checksums.crc32c import BLOCK_BYTES, block_sums, crc32c_loop, num_blocks
from lance_core.checksums.numpy_crc32c import numpy_crc32c

KNOWN = {
    b"": 0,
    b"123456789": 0xE3069283,
    bytes(32): 0x8A9136AA,
    b"\xff" * 32: 0x62A8AB43,
    bytes(range(32)): 0x46DD794E,
}
"""The last three are those of RFC 3720."""


def by_bits(data: bytes) -> int:
    """The definition."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def test_known_values_come_out() -> None:
    for loop in (crc32c_loop(), numpy_crc32c):
        assert loop(list(KNOWN)) == list(KNOWN.values())


def test_lanes_give_what_the_definition_gives() -> None:
    choice = np.random.default_rng(0)
    for size in (1023, 1024, 1025, 1056, 4097, 70_001):
        data = choice.bytes(size)
        assert numpy_crc32c([data, memoryview(data)[1:]]) == [by_bits(data), by_bits(data[1:])]


def test_blocks_of_buffers_are_summed_one_after_the_other() -> None:
    data = np.random.default_rng(0).bytes(2 * BLOCK_BYTES + 5)
    edges = (0, BLOCK_BYTES, 2 * BLOCK_BYTES, len(data))
    parts = [data[start:stop] for start, stop in pairwise(edges)]
    assert block_sums([b"ab", b"", data]) == crc32c_loop()([b"ab", *parts])
    assert num_blocks(np.array([0, 1, BLOCK_BYTES, BLOCK_BYTES + 1])).tolist() == [0, 1, 1, 2]
