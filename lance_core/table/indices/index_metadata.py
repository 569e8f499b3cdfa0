"""``IndexMetadata`` and ``IndexSection`` (``table.proto``): which indices a version has."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable
from typing import TYPE_CHECKING

from google.protobuf.any_pb2 import Any as AnyMessage

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.unknown_fields import parse, unknown_fields

if TYPE_CHECKING:
    from pyroaring import BitMap


@dataclass(frozen=True, slots=True)
class IndexDetails:
    """What only the kind of index that ``type_url`` names can interpret."""

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
    """A file of an index; ``path`` is relative to the folder of the index and unchecked."""

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
    """An index, or a part of one: several with the same ``name`` make up one index.

    ``fields`` are the ids of the fields it is keyed on, followed by ``covering_fields``.
    ``dataset_version`` is the version that it was built from. ``fragment_bitmap`` is a 32-bit
    Roaring bitmap of the ids of the indexed fragments, empty bytes if that is not known.
    ``created_at`` counts milliseconds since the epoch, UTC. ``base_id`` names a ``BasePath``, None
    the table itself.
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
        """Ids of the indexed fragments, None if not known; `CorruptFileError` for bad bytes."""
        return decode_fragment_ids(self.fragment_bitmap) if self.fragment_bitmap else None

    @classmethod
    def from_proto(cls, message: table_pb2.IndexMetadata) -> IndexMetadata:
        """Raises `CorruptFileError` if the UUID does not have 16 bytes."""
        raw = message.uuid.uuid
        if len(raw) != 16:
            raise CorruptFileError(f"a UUID of {len(raw)} bytes", field="IndexMetadata.uuid")
        has_details = message.HasField("index_details")
        return cls(
            uuids.UUID(bytes=raw),
            message.name,
            tuple(message.fields),
            message.dataset_version,
            message.fragment_bitmap,
            IndexDetails.from_proto(message.index_details) if has_details else None,
            message.index_version if message.HasField("index_version") else None,
            message.created_at if message.HasField("created_at") else None,
            message.base_id if message.HasField("base_id") else None,
            tuple(map(IndexFile.from_proto, message.files)),
            tuple(message.covering_fields),
            unknown_fields(message),
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


def decode_fragment_ids(data: bytes) -> BitMap:
    """The Roaring bitmap ``data``; `CorruptFileError` if it is not one."""
    from pyroaring import BitMap

    try:
        return BitMap.deserialize(data)
    except (ValueError, IndexError, OverflowError, MemoryError) as error:
        raise CorruptFileError(
            f"not a Roaring bitmap: {error}", field="IndexMetadata.fragment_bitmap"
        ) from None


def encode_fragment_ids(ids: BitMap) -> bytes:
    """``ids`` serialized."""
    return bytes(ids.serialize())


def fragment_bitmap(ids: Iterable[int]) -> BitMap:
    """A bitmap of the ``ids`` that a bitmap can hold: an index covers no others."""
    from pyroaring import BitMap

    return BitMap([id_ for id_ in ids if id_ < 1 << 32], optimize=False)


def parse_index_section(data: bytes | None) -> tuple[IndexMetadata, ...]:
    """The indices of a serialized ``IndexSection``; None holds none.

    Raises `CorruptFileError` if ``data`` is not one.
    """
    if data is None:
        return ()
    section = parse(table_pb2.IndexSection, data, "IndexSection")
    return tuple(map(IndexMetadata.from_proto, section.indices))


def serialize_index_section(indices: Iterable[IndexMetadata]) -> bytes | None:
    """The ``IndexSection`` of ``indices``, None if there are none."""
    messages = [index.to_proto() for index in indices]
    if not messages:
        return None
    return table_pb2.IndexSection(indices=messages).SerializeToString(deterministic=True)
