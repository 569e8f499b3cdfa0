"""Varints and ragged bytes of whole arrays, beside a plain implementation."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.datafile.varints import (
    concatenated,
    encode,
    gather,
    merged,
    packed_varints,
    tagged,
    varints_at,
)
from lance_core.errors import CorruptFileError

VALUES = [0, 1, 127, 128, 300, 16383, 16384, (1 << 35) - 1, 1 << 56, (1 << 63) - 1]


def varint(value: int) -> bytes:
    parts = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def ints(values: object) -> np.ndarray:
    return np.array(values, np.int64)


def test_numbers_are_encoded_and_read_back() -> None:
    body, lengths = encode(ints(VALUES))
    assert body.tobytes() == b"".join(map(varint, VALUES))
    starts = np.cumsum(lengths) - lengths
    data = np.concatenate([body, np.zeros(16, np.uint8)])
    values, after = varints_at(data, starts)
    assert values.tolist() == VALUES
    assert after.tolist() == np.cumsum(lengths).tolist()
    found, counts = packed_varints(data, ints([0, 0, len(body)]), ints([0, len(body), len(body)]))
    assert found.tolist() == VALUES
    assert counts.tolist() == [0, len(VALUES), 0]
    assert encode(ints([]))[0].tobytes() == b""


def test_numbers_beyond_63_bits_and_unfinished_ones_are_refused() -> None:
    long = np.frombuffer(varint(1 << 63) + bytes(16), np.uint8)
    with pytest.raises(CorruptFileError, match="2\\*\\*63"):
        varints_at(long, ints([0]))
    with pytest.raises(CorruptFileError, match="2\\*\\*63"):
        packed_varints(long, ints([0]), ints([10]))
    with pytest.raises(CorruptFileError, match="ends within a number"):
        packed_varints(long, ints([0]), ints([3]))


def test_ragged_bytes_are_joined_item_by_item() -> None:
    first = np.frombuffer(b"abbccc", np.uint8), ints([1, 2, 3])
    second = np.frombuffer(b"xz", np.uint8), ints([1, 0, 1])
    body, lengths = concatenated([first, second])
    assert (body.tobytes(), lengths.tolist()) == (b"axbbcccz", [2, 2, 4])
    body, lengths = tagged(ord("-"), first, np.array([True, False, True]))
    assert (body.tobytes(), lengths.tolist()) == (b"-a-ccc", [2, 0, 4])
    assert merged(first, ints([2, 0, 1]))[1].tolist() == [3, 0, 3]
    assert gather(first[0], ints([3, 0]), ints([6, 1])).tobytes() == b"ccca"
