"""A manifest file: optional sections, the manifest, a tail of 16 bytes.

::

    [u32 length | IndexSection]  [u32 length | Transaction]  u32 length | Manifest
    u64 position of the manifest's length | u16 major = 0 | u16 minor | "LANC"

All little-endian. The manifest says where the two sections are; readers go by those positions.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.table.manifest import Manifest, join, section_positions, split
from lance_core.table.storage_version import LEGACY

if TYPE_CHECKING:
    from lance_core._pb import table_pb2

_TAIL = struct.Struct("<QHH4s")
_LENGTH = struct.Struct("<I")
_MAGIC = b"LANC"
_MAJOR, _MINOR = 0, 2


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """What a manifest file holds.

    ``index_section`` is a serialized ``IndexSection`` and ``transaction`` a serialized
    ``Transaction``; None if the file has no such section.
    """

    manifest: Manifest
    index_section: bytes | None = None
    transaction: bytes | None = None


def parse_manifest_file(data: pa.Buffer | bytes | memoryview, path: str = "") -> ManifestFile:
    """Read a whole manifest file; ``path`` is for error texts.

    Raises `CorruptFileError` for anything that contradicts the format and
    `UnsupportedFeatureError` for tables that need features this library does not have.
    """
    view = _bytes_view(data)
    try:
        start, stop = _manifest_range(view)
        message, fragments = split(bytes(view[start:stop]))
        positions = section_positions(message)
        return ManifestFile(
            Manifest.from_proto(message, fragments),
            _section(view, positions.index_section, "index_section"),
            _section(view, positions.transaction_section, "transaction_section"),
        )
    except CorruptFileError as error:
        raise error.at(path) from None


def serialize_manifest_file(file: ManifestFile) -> bytes:
    """The bytes of a manifest file as today's releases write it.

    Raises `UnsupportedFeatureError` for 0.1 tables that keep dictionary values in this file.
    """
    parts: list[bytes] = []
    message = file.manifest.to_proto()
    _forget_dictionary_values(message, file.manifest.storage_version)
    position = 0
    if file.index_section is not None:
        message.index_section = position
        position += _add_section(parts, file.index_section)
    if file.transaction is not None:
        message.transaction_section = position
        position += _add_section(parts, file.transaction)
    _add_section(parts, join(message, file.manifest.fragments))
    parts.append(_TAIL.pack(position, _MAJOR, _MINOR, _MAGIC))
    return b"".join(parts)


def _forget_dictionary_values(message: table_pb2.Manifest, storage_version: str) -> None:
    """Take out the positions of values that the manifest file written before had, and this lacks.

    Releases before 1.0 put them into 2.0 tables as well, where no reader looks at them.
    """
    for field in message.fields:
        if field.dictionary.length == 0:
            continue
        if storage_version == LEGACY:
            raise UnsupportedFeatureError(
                f"column {field.name!r} of a 0.1 table keeps dictionary values in the manifest "
                "file; writing such a table is not supported"
            )
        field.dictionary.Clear()
        field.dictionary.SetInParent()


def _bytes_view(data: pa.Buffer | bytes | memoryview) -> memoryview:
    return memoryview(data).cast("B")


def _add_section(parts: list[bytes], content: bytes) -> int:
    parts += [_LENGTH.pack(len(content)), content]
    return _LENGTH.size + len(content)


def _manifest_range(view: memoryview) -> tuple[int, int]:
    """Where the serialized manifest is, from the tail."""
    tail = len(view) - _TAIL.size
    if tail < _LENGTH.size:
        raise CorruptFileError(f"a manifest file of {len(view)} bytes is too short", offset=0)
    position, major, _, magic = _TAIL.unpack_from(view, tail)
    if magic != _MAGIC:
        raise CorruptFileError("the file does not end in LANC", offset=len(view) - 4)
    if major != _MAJOR:
        raise UnsupportedFeatureError(f"unsupported manifest file version {major}")
    start, stop = _bounds(view, position, "manifest position")
    if stop != tail:
        raise CorruptFileError(
            f"the manifest ends at {stop}, the tail begins at {tail}", offset=position
        )
    return start, stop


def _bounds(view: memoryview, position: int, field: str) -> tuple[int, int]:
    """The content of a section whose length is at ``position``; it must end before the tail."""
    end = len(view) - _TAIL.size
    if position + _LENGTH.size > end:
        raise CorruptFileError(f"offset {position} is past the end", field=field)
    start = position + _LENGTH.size
    (length,) = _LENGTH.unpack_from(view, position)
    if length > end - start:
        raise CorruptFileError(
            f"{length} bytes at {start} reach past the end", offset=position, field=field
        )
    return start, start + length


def _section(view: memoryview, position: int | None, field: str) -> bytes | None:
    if position is None:
        return None
    start, stop = _bounds(view, position, f"Manifest.{field}")
    return bytes(view[start:stop])
