"""`IntegerIndex`: find 64-bit integers among a set of distinct ones, vectorised.

A table of slots, indexed by a multiplicative hash, has a byte that tells whether a member uses the
slot. Most searched values that are no member meet an unused slot, so that they cost one read from a
table that fits into a processor cache. Members that share a slot are found by binary search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: consecutive values get distant slots."""

_SLOTS_PER_MEMBER = 8
_MIN_SLOT_BITS, _MAX_SLOT_BITS = 16, 24
"""Slots for each member, within 2**16 and 2**24 slots (of 6 bytes); more members share slots."""

_BLOCK = 1 << 15
"""Values that are searched together, so that all intermediate arrays stay in a cache."""


_SPARSE = 16
"""Values for each member from which on searching the members in ascending values is faster."""

_PROBE = 1 << 10
"""Values that are compared first to find out whether all values ascend."""


class MemberRows(NamedTuple):
    """Result of a search: ``values[rows[i]]`` equals member number ``members[i]``; rows ascend."""

    rows: Int64Array
    members: Int64Array


class SlotTable(NamedTuple):
    """The arrays of an `IntegerIndex`; the slot of a value is its highest bits after mixing.

    Slot s is in use if ``is_used[s]``. Then ``owners[s]`` is the number of a member in it, and
    ``is_shared[s]`` tells if there are others.
    """

    members: Int64Array
    is_used: npt.NDArray[np.bool_]
    owners: npt.NDArray[np.int32]
    is_shared: npt.NDArray[np.bool_]


class IntegerIndex:
    """Distinct integers, numbered from 0 in ascending order."""

    def __init__(self, members: Int64Array) -> None:
        """``members``: strictly ascending."""
        self._members = members
        bits = max(_MIN_SLOT_BITS, (len(members) * _SLOTS_PER_MEMBER).bit_length())
        bits = min(bits, _MAX_SLOT_BITS)
        self._shift = np.uint64(64 - bits)
        slots = self._slots(members)
        numbers = np.arange(len(members), dtype=np.int32)
        self._is_used = np.zeros(1 << bits, np.bool_)
        self._is_used[slots] = True
        self._owners = np.zeros(1 << bits, np.int32)
        self._owners[slots] = numbers
        self._is_shared = np.zeros(1 << bits, np.bool_)
        self._is_shared[slots[self._owners[slots] != numbers]] = True

    def __len__(self) -> int:
        return len(self._members)

    @property
    def slots(self) -> SlotTable:
        """The arrays for kernels that search without this class."""
        return SlotTable(self._members, self._is_used, self._owners, self._is_shared)

    def find(self, values: Int64Array) -> MemberRows:
        """The rows of ``values`` that are members."""
        if not len(self._members) or not len(values):
            return MemberRows(np.empty(0, np.int64), np.empty(0, np.int64))
        if len(self._members) * _SPARSE <= len(values) and _ascends(values):
            return self._find_in_ascending(values)
        parts = [
            np.flatnonzero(self._is_used[self._slots(values[start : start + _BLOCK])]) + start
            for start in range(0, len(values), _BLOCK)
        ]
        return self._checked(values, parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _find_in_ascending(self, values: Int64Array) -> MemberRows:
        """Search the members in ``values`` instead of the values among the members."""
        low = np.searchsorted(self._members, values[0])
        high = np.searchsorted(self._members, values[-1], side="right")
        members = np.arange(low, high)
        starts = np.searchsorted(values, self._members[low:high])
        counts = np.searchsorted(values, self._members[low:high], side="right") - starts
        first = np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return MemberRows(first + np.arange(len(first)), np.repeat(members, counts))

    def _checked(self, values: Int64Array, rows: Int64Array) -> MemberRows:
        """Those of ``rows`` that are members, not only in the slot of one."""
        candidates = values[rows]
        slots = self._slots(candidates)
        members = self._owners[slots].astype(np.int64)
        is_equal = self._members[members] == candidates
        # Another member may own the slot of a value that is a member, too.
        other = np.flatnonzero(self._is_shared[slots] & ~is_equal)
        if len(other):
            members[other] = np.searchsorted(self._members, candidates[other])
            members[members == len(self._members)] = 0
            is_equal[other] = self._members[members[other]] == candidates[other]
        return MemberRows(rows[is_equal], members[is_equal])

    def _slots(self, values: Int64Array) -> Int64Array:
        mixed = values.view(np.uint64) * _MULTIPLIER
        mixed >>= self._shift
        return mixed.view(np.int64)


def distinct_sorted(values: Int64Array) -> Int64Array:
    """The distinct values in ascending order; several times faster than `numpy.unique`."""
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered if is_first.all() else ordered[is_first]


def _ascends(values: Int64Array) -> bool:
    """True if no value is less than the one before it, as in tables that are sorted by key."""
    probe = values[:_PROBE]
    return bool((probe[1:] >= probe[:-1]).all() and (values[1:] >= values[:-1]).all())
