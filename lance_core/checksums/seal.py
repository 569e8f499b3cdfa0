"""Seals: the checksums of a whole file, as the last field of a message that other readers ignore.

A sealed message begins with the field 1702, a varint of 1, and ends with the field 1701::

    aa 6a 0c "sums" | u32 CRC-32C of all bytes before the field | u32 CRC-32C of all bytes behind it

Where one of them is damaged, the other says that there was a seal. Deletion files, which are no
messages, have the last field alone. See docs/format/checksums.md.
"""

from __future__ import annotations

import struct

from lance_core.byte_ranges import BytesLike
from lance_core.checksums import environment
from lance_core.checksums.crc32c import crc32c_loop
from lance_core.errors import CorruptFileError

MARK = b"\xb0\x6a\x01"
"""The field at the start of a sealed message."""

_MAGIC = b"\xaa\x6a\x0csums"
_SEAL = struct.Struct("<7sII")
SEAL_BYTES = _SEAL.size


def seal(before: BytesLike, behind: BytesLike = b"") -> bytes:
    """The field between the two parts of a file; empty if the environment forbids checksums."""
    if environment.WRITTEN == "no":
        return b""
    return _SEAL.pack(_MAGIC, *crc32c_loop()([before, behind]))


def sealed(message: bytes) -> bytes:
    """A serialized message that is a whole file, with a seal unless the environment forbids it."""
    if environment.WRITTEN == "no":
        return message
    content = MARK + message
    return content + _SEAL.pack(_MAGIC, *crc32c_loop()([content, b""]))


def unsealed(data: BytesLike) -> memoryview:
    """The message of a file that `sealed` may have made; raises as `inside_seal` does."""
    view = memoryview(data).cast("B")
    return inside_seal(view, 0, len(view))


def inside_seal(view: memoryview, start: int, stop: int) -> memoryview:
    """The message from ``start`` to ``stop`` of the file ``view``, without its seal if it has one.

    Raises `CorruptFileError` if the bytes of the file do not have the checksums of the seal.
    """
    is_marked = view[start : start + len(MARK)] == MARK
    at = stop - SEAL_BYTES
    end = at + SEAL_BYTES
    if at >= 0 and is_seal(view[at:end], view[:at], view[end:]):
        return view[start + len(MARK) * is_marked : at]
    if is_marked:
        raise CorruptFileError("the checksum of the file is damaged", offset=max(at, 0))
    return view[start:stop]


def has_seal(view: memoryview, at: int) -> bool:
    """True if the file ``view`` has a seal at ``at``; raises `CorruptFileError` if it is wrong."""
    if at < 0:
        return False
    end = at + SEAL_BYTES
    return is_seal(view[at:end], view[:at], view[end:])


def is_seal(field: BytesLike, before: BytesLike, behind: BytesLike, start: int = 0) -> bool:
    """True if ``field`` is a seal between two parts of a file, of which the first is at ``start``.

    Raises `CorruptFileError` if a part does not have its checksum.
    """
    if memoryview(field).nbytes != SEAL_BYTES:
        return False
    magic, *sums = _SEAL.unpack(field)
    if magic != _MAGIC:
        return False
    computed = crc32c_loop()([before, behind])
    if computed != sums:
        number = 0 if computed[0] != sums[0] else 1
        sizes = [memoryview(part).nbytes for part in (before, behind)]
        offset = start + number * (sizes[0] + SEAL_BYTES)
        raise wrong_sum(sizes[number], computed[number], sums[number], offset)
    return True


def seal_sums(field: BytesLike) -> list[int] | None:
    """The two checksums of a seal; None if the bytes are none."""
    if memoryview(field).nbytes != SEAL_BYTES:
        return None
    magic, *sums = _SEAL.unpack(field)
    return sums if magic == _MAGIC else None


def wrong_sum(size: int, computed: int, expected: int, offset: int) -> CorruptFileError:
    """The error for ``size`` bytes at ``offset`` that have another checksum."""
    reason = f"{size} bytes have the CRC-32C {computed:08x}, not {expected:08x}"
    return CorruptFileError(reason, offset=offset)
