"""A 64-bit Roaring bitmap is read in linear time, and only if all of its bytes fit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from pyroaring import BitMap64

from lance_core.errors import CorruptFileError
from lance_core.table.indices.row_set import RowSet


def _numbers(seed: int, high: int, count: int) -> np.ndarray:
    found = np.random.default_rng(seed).integers(0, high, count, np.uint64)
    return np.unique(np.concatenate([found, np.arange(high // 2, high // 2 + 3 * count)]))


def test_all_kinds_of_containers_are_read() -> None:
    for high in (10, 1 << 17, 1 << 20, 1 << 36, 1 << 60):
        for count in (0, 1, 7, 1_000, 20_000):
            numbers = _numbers(count, high, count).astype(np.uint64)
            bitmap = BitMap64(numbers.tolist())
            for data in (bitmap.serialize(), bitmap.run_optimize() and bitmap.serialize()):
                if data:
                    assert RowSet.from_treemap(data).numbers().tolist() == numbers.tolist()


def test_damaged_bitmaps_are_errors_or_sets_that_are_written_the_same() -> None:
    choose = random.Random(0)
    arrays = BitMap64(_numbers(1, 1 << 36, 9).tolist())
    runs = BitMap64([5, *range(100, 9_000), *range(1 << 20, 2 << 20), 1 << 35])
    runs.run_optimize()
    refused = 0
    for _ in range(4_000):
        data = bytearray(choose.choice([arrays, runs]).serialize())
        for _ in range(choose.randint(1, 3)):
            place = choose.randrange(len(data))
            match choose.randrange(4):
                case 0:
                    data[place:] = b""
                    data = data or bytearray(1)
                case 1:
                    data[place:place] = bytes(choose.randint(1, 4))
                case _:
                    data[place] = choose.randrange(256)
        try:
            found = RowSet.from_treemap(bytes(data))
        except CorruptFileError:
            refused += 1
        else:
            assert len(found.to_treemap()) <= len(data)
    assert refused > 2_000


def test_an_upper_half_with_two_bitmaps_is_refused() -> None:
    entry = BitMap64([1]).serialize()[8:]
    with pytest.raises(CorruptFileError, match="two bitmaps"):
        RowSet.from_treemap((2).to_bytes(8, "little") + 2 * entry)


def test_many_fragments_are_read_in_linear_time() -> None:
    """A copy of the rest for each entry would be 60 GB."""
    data = RowSet.of(np.arange(80_000, dtype=np.uint64) << np.uint64(32)).to_treemap()
    assert len(RowSet.from_treemap(data).bitmaps) == 80_000


def test_large_sets_have_the_numbers_that_they_were_made_of() -> None:
    random = np.random.default_rng(12)
    for fragments, rows, count in ((1, 70_000, 9000), (3, 200_000, 40_000), (2, 9000, 5000)):
        high = random.integers(5, 5 + fragments, count).astype(np.uint64) << np.uint64(32)
        numbers = high | random.integers(0, rows, count).astype(np.uint64)
        dense = (np.uint64(6) << np.uint64(32)) | random.permutation(60_000).astype(np.uint64)
        for given in (numbers, np.concatenate([numbers, dense])):
            found = RowSet.of(given)
            assert np.array_equal(found.numbers(), np.unique(given))
            assert RowSet.from_tree_map(found.to_tree_map()).numbers().tolist() == (
                np.unique(given).tolist()
            )


def test_chunks_with_as_many_numbers_as_an_array_may_have_are_read_back() -> None:
    for count in (4095, 4096, 4097):
        numbers = np.concatenate([np.arange(0, 16 * count, 16), np.arange(1 << 16, 3 << 16)])
        found = RowSet.of(numbers.astype(np.uint64))
        assert np.array_equal(found.numbers(), np.unique(numbers))


def test_a_fragment_with_all_rows_has_those_of_the_other_set_in_common() -> None:
    whole, some = RowSet({1: None}), RowSet.of(np.array([3, (1 << 32) + 5], np.uint64))
    both = np.array([3, (1 << 32) + 5, (1 << 32) + 6], np.uint64)
    for one, other in ((whole, some), (some, whole)):
        assert (one & other).contains(both).tolist() == [False, True, False]
    assert (whole & whole).contains(both).tolist() == [False, True, True]
    assert not whole & RowSet.of(both[:1])
