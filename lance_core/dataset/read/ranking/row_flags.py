"""`RowFlags`: which rows of fragments a search may return, by a bit for each physical row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core.lazy_dataclass import dataclass

_HIGH_BITS = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)

Addresses = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class RowFlags:
    """A set of row addresses in which many are looked up in little time.

    ``ids``: the fragments, ascending; ``sizes``: the physical rows of each; ``firsts``: the first
    of its bytes in ``bits``, of which row i has bit i % 8 of byte i // 8. ``count``: the rows in
    the set.
    """

    ids: npt.NDArray[np.uint64]
    sizes: npt.NDArray[np.int64]
    firsts: npt.NDArray[np.int64]
    bits: npt.NDArray[np.uint8]
    count: int

    @classmethod
    def of(
        cls, sizes: Mapping[int, int], parts: Iterable[tuple[int, npt.NDArray[Any]]]
    ) -> RowFlags:
        """The set of ``parts``, each a fragment and offsets in it; none occurs twice.

        ``sizes``: the physical rows of all fragments, by id.
        """
        ids = sorted(sizes)
        rows = np.array([sizes[id_] for id_ in ids], np.int64)
        stops = np.cumsum((rows + 7) // 8)
        firsts = stops - (rows + 7) // 8
        first_of = dict(zip(ids, firsts.tolist(), strict=True))
        bits, count = np.zeros(int(stops[-1]) if ids else 0, np.uint8), 0
        for id_, group in itertools.groupby(parts, key=lambda part: part[0]):
            flags = np.zeros(sizes[id_], np.bool_)
            for _, offsets in group:
                flags[offsets] = True
            count += int(np.count_nonzero(flags))
            own = np.packbits(flags, bitorder="little")
            bits[first_of[id_] : first_of[id_] + len(own)] |= own
        return cls(np.array(ids, np.uint64), rows, firsts, bits, count)

    def contains(self, addresses: Addresses) -> npt.NDArray[np.bool_]:
        """True for each of ``addresses`` in the set."""
        if not self.count or not len(addresses):
            return np.zeros(len(addresses), np.bool_)
        high, at = addresses >> _HIGH_BITS, (addresses & _LOW).astype(np.int64)
        if len(self.ids) == 1:
            known = (high == self.ids[0]) & (at < self.sizes[0])
            first = self.firsts[0]
        else:
            number = np.minimum(np.searchsorted(self.ids, high), len(self.ids) - 1)
            known = (high == self.ids[number]) & (at < self.sizes[number])
            first = self.firsts[number]
        at = np.where(known, at, 0)
        # The lowest bits only: those above are of other rows.
        found: npt.NDArray[np.bool_] = known & (
            self.bits[first + (at >> 3)] >> (at & 7).astype(np.uint8) & 1
        ).view(np.bool_)
        return found

    def within(self, highs: Callable[[int], bool]) -> RowFlags:
        """The rows of the fragments that satisfy ``highs``."""
        here = np.array([highs(id_) for id_ in self.ids.tolist()], np.bool_)
        if here.all():
            return self
        some = RowFlags(self.ids[here], self.sizes[here], self.firsts[here], self.bits, 1)
        return RowFlags(some.ids, some.sizes, some.firsts, some.bits, len(some.addresses()))

    def addresses(self) -> Addresses:
        """The addresses in the set, ascending."""
        parts = [np.empty(0, np.uint64)]
        for id_, size, first in zip(
            self.ids.tolist(), self.sizes.tolist(), self.firsts.tolist(), strict=True
        ):
            own = self.bits[first : first + (size + 7) // 8]
            low = np.flatnonzero(np.unpackbits(own, count=size, bitorder="little"))
            parts.append(low.astype(np.uint64) | np.uint64(id_ << 32))
        return np.concatenate(parts)
