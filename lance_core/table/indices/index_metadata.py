"""``IndexMetadata`` and ``IndexSection`` (``table.proto``): the indices of a version."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from google.protobuf.any_pb2 import Any as AnyMessage

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.unknown_fields import parse, unknown_fields

if TYPE_CHECKING:
    from pyroaring import BitMap

_PACKAGES = ("lance.table.", "lance.index.pb.")
"""Packages of the format's own messages; one message may occur in either of them."""


@dataclass(frozen=True, slots=True)
class IndexDetails:
    """Serialized details of an index; ``type_url`` names their message type."""

    type_url: str
    value: bytes = b""
    unknown: bytes = b""

    @classmethod
    def from_proto(cls, message: AnyMessage) -> IndexDetails:
        return cls(message.type_url, message.value, unknown_fields(message))

    def to_proto(self) -> AnyMessage:
        message = AnyMessage(type_url=self.type_url, value=self.value)
        message.MergeFromString(self.unknown)
        return message


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file of an index; ``path`` is relative to the folder of the index and not validated."""

    path: str
    size_bytes: int
    unknown: bytes = b""

    @classmethod
    def from_proto(cls, message: table_pb2.IndexFile) -> IndexFile:
        return cls(message.path, message.size_bytes, unknown_fields(message))

    def to_proto(self) -> table_pb2.IndexFile:
        message = table_pb2.IndexFile(path=self.path, size_bytes=self.size_bytes)
        message.MergeFromString(self.unknown)
        return message


@dataclass(frozen=True, slots=True)
class IndexMetadata:
    """An index, or a part of an index: all entries with the same ``name`` form one index.

    ``fields`` are the ids of the key fields, followed by ``covering_fields``. ``dataset_version``
    is the version that the index was built from. ``fragment_bitmap`` is a 32-bit Roaring bitmap of
    the ids of the indexed fragments, empty if they are unknown. ``created_at`` is in milliseconds
    since the epoch, UTC. ``base_id`` is the id of a ``BasePath``; None means the table's root.
    """

    uuid: uuids.UUID
    name: str
    fields: tuple[int, ...]
    dataset_version: int = 0
    fragment_bitmap: bytes = b""
    index_details: IndexDetails | None = None
    index_version: int | None = None
    created_at: int | None = None
    base_id: int | None = None
    files: tuple[IndexFile, ...] = ()
    covering_fields: tuple[int, ...] = ()
    unknown: bytes = b""

    @property
    def fragments(self) -> BitMap | None:
        """Ids of the indexed fragments, None if unknown; `CorruptFileError` for invalid bytes."""
        return decode_fragment_ids(self.fragment_bitmap) if self.fragment_bitmap else None

    @classmethod
    def from_proto(
        cls, message: table_pb2.IndexMetadata, *, has_unknown: bool = True
    ) -> IndexMetadata:
        """Raises `CorruptFileError` if the UUID does not have 16 bytes.

        ``has_unknown``: False if the message and its parts have no unknown fields; to look for them
        takes longer than everything else.
        """
        raw = message.uuid.uuid
        if len(raw) != 16:
            raise CorruptFileError(
                f"a UUID has {len(raw)} bytes, expected 16", field="IndexMetadata.uuid"
            )
        has_details = message.HasField("index_details")
        return cls(
            uuids.UUID(bytes=raw),
            message.name,
            tuple(message.fields),
            message.dataset_version,
            message.fragment_bitmap,
            _details(message.index_details, has_unknown) if has_details else None,
            message.index_version if message.HasField("index_version") else None,
            message.created_at if message.HasField("created_at") else None,
            message.base_id if message.HasField("base_id") else None,
            tuple(_file(file, has_unknown) for file in message.files),
            tuple(message.covering_fields),
            unknown_fields(message) if has_unknown else b"",
        )

    def to_proto(self) -> table_pb2.IndexMetadata:
        message = table_pb2.IndexMetadata(
            uuid=table_pb2.UUID(uuid=self.uuid.bytes),
            fields=self.fields,
            name=self.name,
            dataset_version=self.dataset_version,
            fragment_bitmap=self.fragment_bitmap,
            index_details=None if self.index_details is None else self.index_details.to_proto(),
            index_version=self.index_version,
            created_at=self.created_at,
            base_id=self.base_id,
            files=[file.to_proto() for file in self.files],
            covering_fields=self.covering_fields,
        )
        message.MergeFromString(self.unknown)
        return message


def _details(message: AnyMessage, has_unknown: bool) -> IndexDetails:
    if has_unknown:
        return IndexDetails.from_proto(message)
    return _known_details(message.type_url, message.value)


@lru_cache(maxsize=256)
def _known_details(type_url: str, value: bytes) -> IndexDetails:
    """Most indices of a table have one of a few values."""
    return IndexDetails(type_url, value)


def _file(message: table_pb2.IndexFile, has_unknown: bool) -> IndexFile:
    if has_unknown:
        return IndexFile.from_proto(message)
    return IndexFile(message.path, message.size_bytes)


@lru_cache(maxsize=256)
def details_key(type_url: str) -> str | None:
    """What identifies the message of a type URL; None if the URL has no slash.

    The format's own messages are recognised in both of its packages and in any case.
    """
    _, slash, message = type_url.rpartition("/")
    if not slash:
        return None
    lower = message.lower()
    for package in _PACKAGES:
        if lower.startswith(package):
            return lower.removeprefix(package)
    return type_url


def decode_fragment_ids(data: bytes) -> BitMap:
    """Decode a Roaring bitmap. Raises `CorruptFileError` for other bytes."""
    from pyroaring import BitMap

    try:
        return BitMap.deserialize(data)
    except (ValueError, IndexError, OverflowError, MemoryError) as error:
        raise CorruptFileError(
            f"the fragments of an index are not a valid Roaring bitmap: {error}",
            field="IndexMetadata.fragment_bitmap",
        ) from None


def encode_fragment_ids(ids: BitMap) -> bytes:
    """Serialize ``ids`` for ``IndexMetadata.fragment_bitmap``."""
    return bytes(ids.serialize())


def fragment_bitmap(ids: Iterable[int]) -> BitMap:
    """A bitmap of the ``ids`` below 2**32; an index cannot cover other fragments."""
    from pyroaring import BitMap

    return BitMap([id_ for id_ in ids if id_ < 1 << 32], optimize=False)


@lru_cache(maxsize=4)
def parse_index_section(data: bytes | None) -> tuple[IndexMetadata, ...]:
    """The indices of a serialized ``IndexSection``; empty for None.

    Cached: most versions have the indices of the version before, and parsing them takes longer than
    a lookup. Raises `CorruptFileError` if ``data`` is not an ``IndexSection``.
    """
    if data is None:
        return ()
    section, has_unknown = _section(data)
    return tuple(
        IndexMetadata.from_proto(message, has_unknown=has_unknown) for message in section.indices
    )


@lru_cache(maxsize=4)
def _section(data: bytes) -> tuple[table_pb2.IndexSection, bool]:
    """The message, and True if it or its parts have unknown fields."""
    section = parse(table_pb2.IndexSection, data, "IndexSection")
    size = section.ByteSize()
    section.DiscardUnknownFields()
    if section.ByteSize() == size:
        return section, False
    return parse(table_pb2.IndexSection, data, "IndexSection"), True


class IndexEntry(NamedTuple):
    """What a choice among many entries of an index section needs; ``type_url``: "" if unknown."""

    position: int
    name: str
    type_url: str
    index_version: int
    fragment_bitmap: bytes


def entries_of_field(data: bytes | None, field_id: int) -> Iterator[IndexEntry]:
    """The entries of indices of one field, from an ``IndexSection``; None has no entries.

    Takes a fraction of the time of `parse_index_section`: a section may have 100,000 entries.
    """
    if data is None:
        return
    for position, message in enumerate(_section(data)[0].indices):
        fields = message.fields
        if len(fields) == 1 and fields[0] == field_id:
            yield IndexEntry(
                position,
                message.name,
                message.index_details.type_url if message.HasField("index_details") else "",
                message.index_version,
                message.fragment_bitmap,
            )


def index_at(data: bytes, position: int) -> IndexMetadata:
    """The entry at ``position`` of an ``IndexSection``; raises `CorruptFileError`."""
    section, has_unknown = _section(data)
    return IndexMetadata.from_proto(section.indices[position], has_unknown=has_unknown)


def serialize_index_section(indices: Iterable[IndexMetadata]) -> bytes | None:
    """The serialized ``IndexSection`` of ``indices``, None if ``indices`` is empty."""
    messages = [index.to_proto() for index in indices]
    if not messages:
        return None
    return table_pb2.IndexSection(indices=messages).SerializeToString(deterministic=True)
