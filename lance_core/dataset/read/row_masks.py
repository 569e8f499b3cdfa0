"""Sets of row ids that a scan allows or blocks, in the serialised form of pylance.

The form: the number of entries, then for each the high 32 bits of its row ids, the number of bytes
of a Roaring bitmap of the low 32 bits, and the bitmap; 0 bytes mean all row ids with these high
bits. All numbers are little-endian and have 32 bits.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.lazy_dataclass import dataclass

UInt64Array = npt.NDArray[np.uint64]

_COUNT = struct.Struct("<I")
_ENTRY = struct.Struct("<II")
_LOW = np.uint64(0xFFFFFFFF)
_HIGH_BITS = np.uint64(32)

_SPARSE = 16
"""If a range has more ids than this for each wanted one, the wanted ids are looked up instead."""


@dataclass(frozen=True, slots=True, eq=False)
class RowIdSet:
    """Row ids by their high 32 bits; None instead of a bitmap means all of them."""

    bitmaps: Mapping[int, Any]

    def contains(self, ids: UInt64Array) -> npt.NDArray[np.bool_]:
        """True for each of ``ids`` in the set; time and memory do not depend on the set's size."""
        found = np.zeros(len(ids), np.bool_)
        high = ids >> _HIGH_BITS
        for value in np.unique(high).tolist():
            if value not in self.bitmaps:
                continue
            here = np.flatnonzero(high == value)
            bitmap = self.bitmaps[value]
            found[here] = True if bitmap is None else _are_in(bitmap, ids[here] & _LOW)
        return found


def _are_in(bitmap: Any, low: UInt64Array) -> npt.NDArray[np.bool_]:
    from pyroaring import BitMap

    first, stop = int(low.min()), int(low.max()) + 1
    if stop - first <= _SPARSE * len(low):
        some = BitMap(range(first, stop))
    else:
        some = BitMap(array("I", low.astype(np.uint32).tobytes()))
    return np.isin(low, np.array((bitmap & some).to_array(), np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class RowMask:
    """The rows that a scan may return: those ``allowed`` (None: all) that are not ``blocked``."""

    allowed: RowIdSet | None
    blocked: RowIdSet | None

    def keep(self, ids: UInt64Array) -> npt.NDArray[np.bool_]:
        """True for the row ids that the scan may return."""
        kept = np.ones(len(ids), np.bool_) if self.allowed is None else self.allowed.contains(ids)
        return kept if self.blocked is None else kept & ~self.blocked.contains(ids)


def row_mask(allowlist: object, blocklist: object) -> RowMask:
    """The mask of two serialised sets, or one of them. Raises `InvalidInputError`."""
    return RowMask(_decoded(allowlist, "allowlist"), _decoded(blocklist, "blocklist"))


def _decoded(data: object, name: str) -> RowIdSet | None:
    if data is None:
        return None
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidTypeError(
            f"the row address {name} must be the bytes of serialize_row_addrs, got {type(data)}"
        )
    try:
        return RowIdSet(_bitmaps(bytes(data)))
    except (struct.error, ValueError, IndexError, OverflowError, MemoryError) as error:
        raise InvalidInputError(f"the row address {name} is malformed: {error}") from None


def _bitmaps(data: bytes) -> dict[int, Any]:
    from pyroaring import BitMap

    (count,) = _COUNT.unpack_from(data)
    position, found = _COUNT.size, {}
    for _ in range(count):
        high, size = _ENTRY.unpack_from(data, position)
        position += _ENTRY.size
        if position + size > len(data):
            raise ValueError("it ends too early")
        found[high] = BitMap.deserialize(data[position : position + size]) if size else None
        position += size
    if position < len(data):
        raise ValueError(f"{len(data) - position} bytes follow its end")
    return found


def serialize_row_addrs(addrs: Iterable[int]) -> bytes:
    """The ids of rows as bytes for ``row_addr_allowlist`` and ``row_addr_blocklist`` of a scan.

    Raises `InvalidInputError` unless all are integers from 0 to 2**64 - 1.
    """
    from pyroaring import BitMap

    try:
        ids = np.unique(np.fromiter(addrs, np.uint64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"a row address must be an integer from 0 on: {error}") from None
    parts = []
    high = ids >> _HIGH_BITS
    for value in np.unique(high).tolist():
        low = (ids[high == value] & _LOW).astype(np.uint32)
        bitmap = BitMap(array("I", low.tobytes()), optimize=False).serialize()
        parts.append(_ENTRY.pack(value, len(bitmap)) + bitmap)
    return _COUNT.pack(len(parts)) + b"".join(parts)
