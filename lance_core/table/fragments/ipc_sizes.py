"""Compute the memory to decode an Arrow IPC file from its metadata alone.

A compressed buffer begins with its uncompressed size, and a reader allocates this size before it
decompresses the data: 100 KB can claim, and even contain, gigabytes. Layouts: the flatbuffers of
Arrow's ``Message.fbs`` and ``File.fbs``.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from lance_core.errors import CorruptFileError

_FOOTER_RECORD_BATCHES = 3
_MESSAGE_HEADER = 2
_BATCH_LENGTH, _BATCH_BUFFERS, _BATCH_COMPRESSION = 0, 2, 3
_CONTINUATION = 0xFFFFFFFF


class BatchSize(NamedTuple):
    """Rows and total uncompressed buffer bytes of a record batch, according to its metadata."""

    rows: int
    unpacked_bytes: int


def batch_size(data: memoryview, batch: int = 0) -> BatchSize:
    """Size of record batch number ``batch`` of the IPC file ``data``.

    Raises `CorruptFileError` if the file's metadata is malformed.
    """
    try:
        return _batch_size(data, batch)
    except (struct.error, IndexError):
        raise CorruptFileError("the metadata of an Arrow file points outside of it") from None


def _batch_size(data: memoryview, batch: int) -> BatchSize:
    (footer_size,) = struct.unpack_from("<I", data, len(data) - 10)
    footer = _root(data, len(data) - 10 - footer_size)
    blocks = _reference(data, footer, _FOOTER_RECORD_BATCHES)
    if batch >= _u32(data, blocks):
        raise IndexError(batch)
    offset, metadata_size = struct.unpack_from("<qi", data, blocks + 4 + 24 * batch)
    prefix = 8 if _u32(data, offset) == _CONTINUATION else 4
    header = _reference(data, _root(data, offset + prefix), _MESSAGE_HEADER)
    length_at = _slot(data, header, _BATCH_LENGTH)
    (rows,) = struct.unpack_from("<q", data, length_at) if length_at else (0,)
    buffers = _reference(data, header, _BATCH_BUFFERS)
    compressed = _slot(data, header, _BATCH_COMPRESSION) != 0
    count = _u32(data, buffers)
    if not 0 <= rows < 1 << 63 or count > len(data) // 16:
        raise IndexError(count)
    total = 0
    for number in range(count):
        at, stored = struct.unpack_from("<qq", data, buffers + 4 + 16 * number)
        total += _unpacked(data, offset + metadata_size + at, stored, compressed)
    return BatchSize(rows, total)


def _unpacked(data: memoryview, at: int, stored: int, compressed: bool) -> int:
    if stored < 0 or at < 0 or at + stored > len(data):
        raise IndexError(at)
    if not compressed or stored < 8:
        return stored
    (claimed,) = struct.unpack_from("<q", data, at)
    return stored if claimed == -1 else abs(int(claimed))


def _u32(data: memoryview, at: int) -> int:
    if at < 0:
        raise IndexError(at)
    return int(struct.unpack_from("<I", data, at)[0])


def _root(data: memoryview, at: int) -> int:
    """Position of the root table of the flatbuffer at ``at``."""
    return at + _u32(data, at)


def _slot(data: memoryview, table: int, field: int) -> int:
    """Position of field number ``field`` of the flatbuffer table, 0 if the field is absent."""
    if table < 0:
        raise IndexError(table)
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise IndexError(vtable)
    (vtable_size,) = struct.unpack_from("<H", data, vtable)
    if 4 + 2 * field + 2 > vtable_size:
        return 0
    (offset,) = struct.unpack_from("<H", data, vtable + 4 + 2 * field)
    return int(table + offset) if offset else 0


def _reference(data: memoryview, table: int, field: int) -> int:
    """Position of the object that a field of a flatbuffer table refers to."""
    at = _slot(data, table, field)
    if at == 0:
        raise IndexError(field)
    return at + _u32(data, at)
