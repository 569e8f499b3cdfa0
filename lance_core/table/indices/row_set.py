"""`RowSet`: a set of row numbers, and its two serialised forms in the files of indices.

Both forms have a 32-bit Roaring bitmap of the lower halves for each upper half, by ascending upper
half. All numbers are little-endian. ``RowAddrTreeMap``: the number of entries (32 bits), then for
each the upper half, the number of bytes of the bitmap, and the bitmap; 0 bytes mean all row numbers
with this upper half. ``RoaringTreemap``, the portable form of a 64-bit Roaring bitmap: the number
of entries (64 bits), then for each the upper half and the bitmap.
"""

from __future__ import annotations

import itertools
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.roaring import checked_end

if TYPE_CHECKING:
    from pyroaring import BitMap

UInt64Array = npt.NDArray[np.uint64]
"""Row addresses or row ids."""

_COUNT = struct.Struct("<I")
_LONG_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<II")
_LOW = np.uint64(0xFFFFFFFF)
_HIGH_BITS = np.uint64(32)

_CHUNK = 1 << 16
"""The row numbers of a container of a Roaring bitmap."""

_MAX_ARRAY = 4096
"""Maximum numbers in a container that is an array; one with more is a bitset of 8 KiB."""

_BITSET_COOKIE = 12346
"""The start of a portable Roaring bitmap without containers of runs."""

_MIN_DENSE = 4096
_DENSE_CELLS = 64
# From this number of rows on, a set with a row in this many numbers is built from a mask: to sort
# the numbers takes longer.

_SPARSE = 16
"""If a range has more numbers than this for each wanted one, the wanted ones are looked up."""

_ERRORS = (struct.error, ValueError, IndexError, OverflowError, MemoryError)


@dataclass(frozen=True, slots=True, eq=False)
class RowSet:
    """Row numbers by upper half. None instead of a bitmap means all; no bitmap is empty.

    Bitmaps are shared between sets and must not be changed.
    """

    bitmaps: Mapping[int, BitMap | None]

    @classmethod
    def of(cls, numbers: UInt64Array) -> RowSet:
        """The set of ``numbers``, in any order."""
        from pyroaring import BitMap

        if not len(numbers):
            return EMPTY
        if len(numbers) == 1:
            number = int(numbers[0])
            return cls({number >> 32: BitMap((number & 0xFFFFFFFF,))})
        dense = _dense(numbers)
        if dense is not None:
            return dense
        ordered = np.sort(numbers)
        low = ordered.astype(np.uint32)
        first, last = int(ordered[0] >> _HIGH_BITS), int(ordered[-1] >> _HIGH_BITS)
        if first == last:
            return cls({first: BitMap(array("I", low.tobytes()), optimize=False)})
        high = (ordered >> _HIGH_BITS).astype(np.uint32)
        cuts = [0, *(np.flatnonzero(high[1:] != high[:-1]) + 1).tolist(), len(high)]
        return cls(
            {
                int(high[start]): BitMap(array("I", low[start:stop].tobytes()), optimize=False)
                for start, stop in itertools.pairwise(cuts)
            }
        )

    @classmethod
    def of_ranges(cls, ranges: Iterable[tuple[int, int, int]]) -> RowSet:
        """The set of ranges, each an upper half, a first lower half and an exclusive end."""
        from pyroaring import BitMap

        bitmaps: dict[int, BitMap | None] = {}
        for high, start, stop in ranges:
            if stop > start:
                bitmap = bitmaps.setdefault(high, BitMap())
                assert bitmap is not None
                bitmap.add_range(start, stop)
        return cls(bitmaps)

    def __bool__(self) -> bool:
        return bool(self.bitmaps)

    def contains(self, numbers: UInt64Array) -> npt.NDArray[np.bool_]:
        """True for each of ``numbers`` in the set; cost does not depend on the set's size."""
        high = numbers >> _HIGH_BITS
        if len(high) and (high == high[0]).all():
            return self._contains_half(int(high[0]), numbers)
        mask = np.zeros(len(numbers), np.bool_)
        for value in np.unique(high).tolist():
            if value not in self.bitmaps:
                continue
            here = np.flatnonzero(high == value)
            bitmap = self.bitmaps[value]
            mask[here] = True if bitmap is None else _are_in(bitmap, numbers[here] & _LOW)
        return mask

    def _contains_half(self, high: int, numbers: UInt64Array) -> npt.NDArray[np.bool_]:
        """`contains` for numbers that all have the upper half ``high``, as in a single fragment."""
        bitmap = self.bitmaps.get(high)
        if bitmap is None:
            return np.full(len(numbers), high in self.bitmaps)
        return _are_in(bitmap, numbers & _LOW)

    def __or__(self, other: RowSet) -> RowSet:
        return RowSet.union((self, other))

    def __and__(self, other: RowSet) -> RowSet:
        bitmaps: dict[int, BitMap | None] = {}
        for high, bitmap in self.bitmaps.items():
            if high in other.bitmaps:
                theirs = other.bitmaps[high]
                both = theirs if bitmap is None else bitmap if theirs is None else bitmap & theirs
                if both is None or both:
                    bitmaps[high] = both
        return RowSet(bitmaps)

    @classmethod
    def union(cls, sets: Iterable[RowSet]) -> RowSet:
        """All row numbers of ``sets``."""
        from pyroaring import BitMap

        groups: dict[int, list[BitMap]] = {}
        whole: dict[int, BitMap | None] = {}
        for rows in sets:
            for high, bitmap in rows.bitmaps.items():
                if bitmap is None:
                    whole[high] = None
                else:
                    groups.setdefault(high, []).append(bitmap)
        united = {
            high: group[0] if len(group) == 1 else BitMap.union(*group)
            for high, group in groups.items()
        }
        return cls(united | whole)

    def within(self, highs: Callable[[int], bool]) -> RowSet:
        """The row numbers whose upper half satisfies ``highs``."""
        if all(map(highs, self.bitmaps)):
            return self
        return RowSet({high: bitmap for high, bitmap in self.bitmaps.items() if highs(high)})

    def numbers(self) -> UInt64Array:
        """All row numbers, ascending. Raises `CorruptFileError` if an entry means all numbers."""
        return np.concatenate([np.empty(0, np.uint64), *self._parts()])

    def _parts(self) -> Iterator[UInt64Array]:
        for high, bitmap in sorted(self.bitmaps.items()):
            if bitmap is None:
                raise CorruptFileError(f"a set of rows has all of fragment {high}")
            low = np.frombuffer(bitmap.to_array(), np.uint32).astype(np.uint64)
            yield low | np.uint64(high << 32)

    @classmethod
    def from_tree_map(cls, data: bytes) -> RowSet:
        """The set in a ``RowAddrTreeMap``. Raises `CorruptFileError` for other bytes."""
        from pyroaring import BitMap

        try:
            (count,) = _COUNT.unpack_from(data)
            position, bitmaps = _COUNT.size, {}
            for _ in range(count):
                high, size = _ENTRY.unpack_from(data, position)
                position += _ENTRY.size
                end = position + size
                if high in bitmaps:
                    raise ValueError(f"the upper half {high} has two bitmaps")
                if size and checked_end(data, position) != end:
                    raise ValueError(f"the bitmap of entry {high} does not have {size} bytes")
                bitmaps[high] = BitMap.deserialize(data[position:end]) if size else None
                position = end
            if position < len(data):
                raise ValueError(f"{len(data) - position} bytes follow its end")
        except _ERRORS as error:
            raise CorruptFileError(f"the bytes are not a set of row addresses: {error}") from None
        return cls({high: bitmap for high, bitmap in bitmaps.items() if bitmap is None or bitmap})

    def to_tree_map(self) -> bytes:
        """The set as a ``RowAddrTreeMap``."""
        parts = [_COUNT.pack(len(self.bitmaps))]
        for high, bitmap in sorted(self.bitmaps.items()):
            raw = b"" if bitmap is None else bitmap.serialize()
            parts += [_ENTRY.pack(high, len(raw)), raw]
        return b"".join(parts)

    @classmethod
    def from_treemap(cls, data: bytes) -> RowSet:
        """The set in a ``RoaringTreemap``. Raises `CorruptFileError` for other bytes."""
        from pyroaring import BitMap

        try:
            (count,) = _LONG_COUNT.unpack_from(data)
            position, bitmaps = _LONG_COUNT.size, {}
            for _ in range(count):
                (high,) = _COUNT.unpack_from(data, position)
                start = position + _COUNT.size
                if high in bitmaps:
                    raise ValueError(f"the upper half {high} has two bitmaps")
                position = checked_end(data, start)
                bitmaps[high] = BitMap.deserialize(data[start:position])
            if position < len(data):
                raise ValueError(f"{len(data) - position} bytes follow its end")
        except _ERRORS as error:
            raise CorruptFileError(f"the bytes are not a 64-bit Roaring bitmap: {error}") from None
        return cls({high: bitmap for high, bitmap in bitmaps.items() if bitmap})

    def to_treemap(self) -> bytes:
        """The set as a ``RoaringTreemap``."""
        parts = [_LONG_COUNT.pack(len(self.bitmaps))]
        for high, bitmap in sorted(self.bitmaps.items()):
            assert bitmap is not None
            parts += [_COUNT.pack(high), bitmap.serialize()]
        return b"".join(parts)


def _dense(numbers: UInt64Array) -> RowSet | None:
    """The set of ``numbers`` by a mask, or None if they are few or far apart.

    The mask has as many cells for each upper half, a multiple of `_CHUNK`.
    """
    if len(numbers) < _MIN_DENSE:
        return None
    low = numbers.astype(np.uint32)
    first, last = (int(end) >> 32 for end in (numbers.min(), numbers.max()))
    stride = (int(low.max()) // _CHUNK + 1) * _CHUNK
    if (last - first + 1) * stride > _DENSE_CELLS * len(numbers):
        return None
    mask = np.zeros((last - first + 1) * stride, np.bool_)
    cells = low.astype(np.int64)
    if last > first:
        cells += ((numbers >> _HIGH_BITS).astype(np.int64) - first) * stride
    mask[cells] = True
    bitmaps: dict[int, BitMap | None] = {}
    for high, part in enumerate(mask.reshape(-1, stride), first):
        bitmap = _of_mask(part)
        if bitmap:
            bitmaps[high] = bitmap
    return RowSet(bitmaps)


def _of_mask(mask: npt.NDArray[np.bool_]) -> BitMap:
    """The positions of True in ``mask``, whose length is a multiple of `_CHUNK`.

    Containers with many numbers are copied as bits: a bitmap is created from its portable form.
    """
    from pyroaring import BitMap

    chunks = mask.reshape(-1, _CHUNK)
    counts = np.count_nonzero(chunks, axis=1)
    dense = np.flatnonzero(counts > _MAX_ARRAY)
    sparse = np.flatnonzero((counts > 0) & (counts <= _MAX_ARRAY))
    bitmaps = []
    if len(dense):
        keys = np.stack([dense, counts[dense] - 1], axis=1).astype("<u2")
        start = 8 + 8 * len(dense)
        offsets = start + np.arange(len(dense)) * (_CHUNK // 8)
        bits = np.packbits(chunks[dense], bitorder="little")
        head = _ENTRY.pack(_BITSET_COOKIE, len(dense))
        parts = [head, keys.tobytes(), offsets.astype("<u4").tobytes(), bits.tobytes()]
        bitmaps.append(BitMap.deserialize(b"".join(parts)))
    if len(sparse):
        chunk, offset = np.nonzero(chunks[sparse])
        numbers = (sparse[chunk] * _CHUNK + offset).astype(np.uint32)
        bitmaps.append(BitMap(array("I", numbers.tobytes())))
    return BitMap.union(*bitmaps) if len(bitmaps) > 1 else bitmaps[0] if bitmaps else BitMap()


def _are_in(bitmap: BitMap, low: UInt64Array) -> npt.NDArray[np.bool_]:
    from pyroaring import BitMap

    first, stop = int(low.min()), int(low.max()) + 1
    if stop - first <= _SPARSE * len(low):
        candidates = BitMap(range(first, stop))
    else:
        candidates = BitMap(array("I", low.astype(np.uint32).tobytes()))
    return np.isin(low, np.array((bitmap & candidates).to_array(), np.uint64))


EMPTY = RowSet({})
"""The set without rows."""
