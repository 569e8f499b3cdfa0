"""`IntegerIndex`: find 64-bit integers among a set of distinct ones, vectorised.

A table of slots, indexed by a multiplicative hash, holds one member for each slot. Most searched
values that are no member meet an empty slot, so that they cost one read from a table that fits into
a processor cache. Members that share a slot are found by binary search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: consecutive values get distant slots."""

_SLOTS_PER_MEMBER = 8
_MAX_SLOT_BITS = 24
"""Slots for each member, up to a table of 2**24 slots (64 MiB); more members share slots."""

_BLOCK = 1 << 15
"""Values that are searched together, so that all intermediate arrays stay in a cache."""


class Found(NamedTuple):
    """Searched rows that are members: ``rows`` ascend, ``members`` are the members' numbers."""

    rows: Int64Array
    members: Int64Array


class IntegerIndex:
    """Distinct integers, numbered from 0 in ascending order."""

    def __init__(self, members: Int64Array) -> None:
        """``members``: strictly ascending."""
        self._members = members
        bits = max(1, (len(members) * _SLOTS_PER_MEMBER).bit_length())
        bits = min(bits, _MAX_SLOT_BITS)
        self._shift = np.uint64(64 - bits)
        self._slots = np.full(1 << bits, -1, np.int32)
        places = self._places(members)
        self._slots[places] = np.arange(len(members), dtype=np.int32)
        held = self._slots[places] == np.arange(len(members), dtype=np.int32)
        self._has_shared_slots = not bool(held.all())

    def __len__(self) -> int:
        return len(self._members)

    def find(self, values: Int64Array) -> Found:
        """The rows of ``values`` that are members."""
        if not len(self._members):
            return Found(np.empty(0, np.int64), np.empty(0, np.int64))
        parts = [
            self._find(values[start : start + _BLOCK], start)
            for start in range(0, len(values), _BLOCK)
        ]
        if len(parts) == 1:
            return parts[0]
        rows = [np.empty(0, np.int64), *(part.rows for part in parts)]
        members = [np.empty(0, np.int64), *(part.members for part in parts)]
        return Found(np.concatenate(rows), np.concatenate(members))

    def _find(self, values: Int64Array, start: int) -> Found:
        slots = self._slots[self._places(values)]
        rows = np.flatnonzero(slots >= 0)
        members, wanted = slots[rows].astype(np.int64), values[rows]
        is_equal = self._members[members] == wanted
        if self._has_shared_slots and not is_equal.all():
            # Another member may own the slot of a value that is a member, too.
            other = np.flatnonzero(~is_equal)
            members[other] = np.searchsorted(self._members, wanted[other])
            members[members == len(self._members)] = 0
            is_equal[other] = self._members[members[other]] == wanted[other]
        return Found(rows[is_equal] + start, members[is_equal])

    def _places(self, values: Int64Array) -> Int64Array:
        mixed = values.view(np.uint64) * _MULTIPLIER
        mixed >>= self._shift
        return mixed.view(np.int64)
