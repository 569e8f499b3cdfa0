"""Damaged Roaring bitmaps are found before the library deserialises them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from pyroaring import BitMap

from lance_core.errors import CorruptFileError
from lance_core.table.indices.roaring import checked_end
from lance_core.table.indices.row_set import RowSet
from tests.each_case import each_case

RANDOM = np.random.default_rng(7)
MIXED = BitMap([*range(100), *range(70_000, 80_000), 10**6, *range(2**17, 2**17 + 9000, 2)])


def _arrays(keys: list[int], counts: list[int], values: list[int]) -> bytes:
    headers = struct.pack("<II", 12346, len(keys))
    for key, count in zip(keys, counts, strict=True):
        headers += struct.pack("<HH", key, count - 1)
    return headers + bytes(4 * len(keys)) + np.array(values, "<u2").tobytes()


@each_case("numbers", [[], [3], range(65536), MIXED, RANDOM.integers(0, 10**6, 50_000).tolist()])
def test_the_end_of_a_bitmap_of_any_containers_is_found(numbers: list[int]) -> None:
    bitmap = BitMap(numbers)
    for with_runs in (False, True):
        if with_runs:
            bitmap.run_optimize()
        data = bitmap.serialize()
        assert checked_end(b"abc" + data + b"xy", 3) == len(data) + 3


@each_case(
    "problem,data",
    [
        ("cookie", b"\0" * 20),
        ("early", b"\x3a\x30"),
        ("containers", struct.pack("<II", 12346, 70_000) + bytes(10**6)),
        ("containers", struct.pack("<II", 12346, 2**31) + bytes(100)),
        ("early", _arrays([0], [5], [1, 2, 3])),
        ("array", _arrays([0], [3], [1, 2, 2])),
        ("array", _arrays([0], [3], [1, 3, 2])),
        ("containers", _arrays([1, 0], [1, 1], [1, 1])),
        ("bitset", _arrays([0], [5000], [0] * 4096)),
        ("bitset", _arrays([0], [5000], [0xFFFF] * 4096)),
        ("runs", struct.pack("<IBHHHHHHH", 12347, 1, 0, 3, 2, 5, 1, 5, 1)),
        ("runs", struct.pack("<IBHHHHH", 12347, 1, 0, 9, 1, 0xFFFF, 9)),
        ("runs", struct.pack("<IBHHHHH", 12347, 1, 0, 9, 1, 5, 3)),
    ],
)
def test_a_damaged_bitmap_is_refused(problem: str, data: bytes) -> None:
    with pytest.raises(ValueError, match=problem):
        checked_end(data)
    entry = struct.pack("<III", 1, 7, len(data)) + data
    with pytest.raises(CorruptFileError, match=problem):
        RowSet.from_tree_map(entry)
    with pytest.raises(CorruptFileError, match=problem):
        RowSet.from_treemap(struct.pack("<QI", 1, 7) + data)


def test_changed_bytes_give_an_error_or_a_consistent_bitmap() -> None:
    bitmap = MIXED.copy()
    for with_runs in (False, True):
        if with_runs:
            bitmap.run_optimize()
        data, refused = bitmap.serialize(), 0
        for number in range(1500):
            changed = bytearray(data)
            for _ in range(1 + number % 2):
                limit = 80 if number % 3 else len(data)
                changed[RANDOM.integers(limit)] = RANDOM.integers(256)
            try:
                end = checked_end(bytes(changed))
            except ValueError:
                refused += 1
                continue
            if end == len(changed):
                found = np.frombuffer(BitMap.deserialize(bytes(changed)).to_array(), np.uint32)
                assert (found[1:] > found[:-1]).all()
        assert refused


def test_an_upper_half_occurs_once() -> None:
    bitmap = BitMap([1]).serialize()
    entry = struct.pack("<II", 3, len(bitmap)) + bitmap
    with pytest.raises(CorruptFileError, match="two bitmaps"):
        RowSet.from_tree_map(struct.pack("<I", 2) + 2 * entry)
