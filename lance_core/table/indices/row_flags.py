"""`RowFlags`: which rows of fragments a search may return, by a bit for each physical row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core.lazy_dataclass import dataclass

_LOW = np.uint64(0xFFFFFFFF)
_HIGH_BITS = np.uint64(32)

Addresses = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RowFlags:
    """A set of row addresses in which many are looked up in little time.

    Of each fragment with rows in the set, by ascending ``ids``: its physical rows (``sizes``), the
    rows in the set (``counts``), and the first of its bytes in ``bits`` (``firsts``), of which row
    i has bit i % 8 of byte i // 8. A fragment all of whose rows are in the set needs no bytes.
    """

    ids: npt.NDArray[np.uint64]
    sizes: Numbers
    counts: Numbers
    firsts: Numbers
    bits: npt.NDArray[np.uint8]

    @classmethod
    def of(
        cls,
        sizes: Mapping[int, int],
        parts: Iterable[tuple[int, npt.NDArray[Any]]],
        whole: Iterable[int] = (),
    ) -> RowFlags:
        """The set of ``parts``, each a fragment and offsets in it, and of ``whole`` fragments.

        ``sizes``: the physical rows of fragments, by id. No row occurs twice.
        """
        bits = dict.fromkeys(whole, np.empty(0, np.uint8))
        counts = {id_: sizes[id_] for id_ in bits}
        for id_, group in itertools.groupby(parts, key=lambda part: part[0]):
            flags = np.zeros(sizes[id_], np.bool_)
            for _, offsets in group:
                flags[offsets] = True
            own = np.packbits(flags, bitorder="little")
            bits[id_] = own | bits[id_] if id_ in bits else own
            counts[id_] = counts.get(id_, 0) + int(np.count_nonzero(flags))
        ids = sorted(bits)
        lengths = np.array([len(bits[id_]) for id_ in ids], np.int64)
        return cls(
            np.array(ids, np.uint64),
            np.array([sizes[id_] for id_ in ids], np.int64),
            np.array([counts[id_] for id_ in ids], np.int64),
            np.cumsum(lengths) - lengths,
            np.concatenate([*(bits[id_] for id_ in ids), np.zeros(1, np.uint8)]),
        )

    @property
    def count(self) -> int:
        """The number of rows in the set."""
        return int(self.counts.sum())

    @property
    def nbytes(self) -> int:
        """The bytes of the set in memory."""
        return sum(part.nbytes for part in (*self._columns, self.bits))

    @property
    def is_whole(self) -> bool:
        """True if the set has all rows of its fragments."""
        return bool((self.counts == self.sizes).all())

    @property
    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        return self.ids, self.sizes, self.counts, self.firsts

    def are_physical_rows(self, addresses: Addresses) -> bool:
        """True if each of ``addresses`` is of a physical row of a fragment with rows in the set."""
        if not len(addresses):
            return True
        if not len(self.ids):
            return False
        number = self._fragments_of(addresses >> _HIGH_BITS)
        firsts = self.ids << _HIGH_BITS
        ends = firsts + self.sizes.astype(np.uint64)
        return bool(((addresses >= firsts[number]) & (addresses < ends[number])).all())

    def _fragments_of(self, ids: npt.NDArray[np.uint64]) -> Any:
        """The index of each fragment among `ids`, if there are some; any of one that is absent."""
        if len(self.ids) == 1:
            return 0
        return np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)

    def contains(self, addresses: Addresses) -> npt.NDArray[np.bool_]:
        """True for each of ``addresses`` in the set.

        Also for addresses behind the last row of a fragment with rows in the set: they are those of
        a damaged index, and must not get lost.
        """
        if not len(self.ids):
            return np.zeros(len(addresses), np.bool_)
        high, low = addresses >> _HIGH_BITS, (addresses & _LOW).astype(np.int64)
        number = self._fragments_of(high)
        known: npt.NDArray[np.bool_] = high == self.ids[number]
        is_whole = self.counts[number] == self.sizes[number]
        if np.all(is_whole):
            return known
        has_bit = ~is_whole & (low < self.sizes[number])
        byte = np.where(has_bit, self.firsts[number] + (low >> 3), 0)
        # The lowest bits only: those above are of other rows.
        flags = (self.bits[byte] >> (low & 7).astype(np.uint8) & 1).view(np.bool_)
        known &= ~has_bit | flags
        return known

    def within(self, fragments: Callable[[int], bool]) -> RowFlags:
        """The rows of the ``fragments``."""
        here = np.array([fragments(id_) for id_ in self.ids.tolist()], np.bool_)
        if here.all():
            return self
        sizes, counts, firsts = self.sizes[here], self.counts[here], self.firsts[here]
        return RowFlags(self.ids[here], sizes, counts, firsts, self.bits)

    def addresses(self) -> Addresses:
        """The addresses in the set, ascending."""
        addresses = [np.empty(0, np.uint64)]
        columns = [column.tolist() for column in self._columns]
        for id_, size, count, first in zip(*columns, strict=True):
            low = np.arange(size)
            if count < size:
                own = self.bits[first : first + (size + 7) // 8]
                flags = np.unpackbits(own, count=size, bitorder="little")
                low = np.flatnonzero(flags.view(np.bool_))  # ten times as fast as of numbers
            addresses.append(low.astype(np.uint64) | np.uint64(id_ << 32))
        return np.concatenate(addresses)
