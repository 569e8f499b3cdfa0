"""Sets of row addresses, and what is looked up in them."""

from __future__ import annotations

import numpy as np

from lance_core.table.indices.row_flags import RowFlags


def test_flags_have_the_rows_that_they_are_made_of() -> None:
    random = np.random.default_rng(2)
    sizes = {7: 1_000, 2: 13, 40: 1, 9: 64}
    own = {id_: np.flatnonzero(random.random(size) < 0.4) for id_, size in sizes.items()}
    parts = [(7, own[7][:50]), (7, own[7][50:]), (2, own[2]), (9, own[9])]
    flags = RowFlags.of(sizes, parts)
    expected = sorted((id_ << 32) + row for id_ in (2, 7, 9) for row in own[id_].tolist())
    assert flags.addresses().tolist() == expected
    assert flags.count == len(expected)
    every = [
        (id_ << 32) + row for id_ in (0, 2, 7, 9, 40, 41) for row in range(sizes.get(id_, 1_100))
    ]
    mask = flags.contains(np.array(every, np.uint64))
    assert [row for row, is_in in zip(every, mask, strict=True) if is_in] == expected
    some = flags.within({7, 9}.__contains__)
    assert some.count == len(own[7]) + len(own[9])
    assert some.addresses().tolist() == [row for row in expected if row >> 32 in (7, 9)]
    assert not RowFlags.of({}, []).contains(np.array([1], np.uint64)).any()


def test_flags_tell_which_addresses_are_of_physical_rows() -> None:
    sizes = {2: 3, 7: 5}
    flags = RowFlags.of(sizes, [(2, np.array([1]))], whole=[7])
    rows = [(id_ << 32) + row for id_, size in sizes.items() for row in range(size)]
    assert flags.are_physical_rows(np.array(rows[::-1], np.uint64))
    assert flags.are_physical_rows(np.empty(0, np.uint64))
    for other in ((2 << 32) + 3, (7 << 32) + 5, 0, (3 << 32), (8 << 32)):
        assert not flags.are_physical_rows(np.array([*rows, other], np.uint64))
    assert not RowFlags.of({}, []).are_physical_rows(np.array(rows, np.uint64))
    only = RowFlags.of(sizes, [], whole=[7])
    assert only.are_physical_rows(np.array(rows[3:], np.uint64))
    assert not only.are_physical_rows(np.array(rows, np.uint64))


def test_addresses_behind_a_fragment_are_not_lost() -> None:
    flags = RowFlags.of({2: 30, 7: 5}, [(2, np.array([1]))], whole=[7])
    behind = [(2 << 32) + 30, (2 << 32) + 5000, (7 << 32) + 5]
    assert flags.contains(np.array(behind, np.uint64)).all()
    assert not flags.contains(np.array([(2 << 32) + 29, (3 << 32) + 30], np.uint64)).any()


def test_whole_fragments_need_no_bits() -> None:
    sizes = {1: 70, 4: 10, 6: 20}
    flags = RowFlags.of(sizes, [(4, np.array([3, 9])), (6, np.arange(20))], whole=[1])
    rows = [(1 << 32) + row for row in range(70)] + [(4 << 32) + 3, (4 << 32) + 9]
    rows += [(6 << 32) + row for row in range(20)]
    assert flags.count == len(rows)
    assert flags.addresses().tolist() == rows
    every = np.array([(id_ << 32) + row for id_ in range(8) for row in range(70)], np.uint64)
    for id_, size in ((4, 10), (6, 20)):
        every = every[((every >> np.uint64(32)) != id_) | ((every & np.uint64(127)) < size)]
    assert every[flags.contains(every)].tolist() == rows
    only = RowFlags.of(sizes, [], whole=[6])
    assert every[only.contains(every)].tolist() == rows[-20:]
    assert flags.within({1}.__contains__).addresses().tolist() == rows[:70]
