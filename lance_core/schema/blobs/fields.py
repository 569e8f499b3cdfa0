"""Blob fields: the Arrow types of one field in a table's schema, in data files and in results.

Blobs of version 1 are large_binary with the metadata key `BLOB_KEY`. Blobs of version 2, in tables
of file version 2.2, are structs of the extension type `BLOB_V2` with the members data and uri, and
in most tables position and size; a data file stores them as a packed struct `DESCRIPTION_V2`.
See docs/format/blobs.md.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import extension, logical_type
from lance_core.schema.field import BLOB_KEY, UNASSIGNED, Field

BLOB_V2 = "lance.blob.v2"
"""Arrow extension type of blobs in tables of version 2.2."""

_PACKED_KEY = "lance-encoding:packed"


class BlobKind(enum.IntEnum):
    """Location of the bytes of a blob of version 2."""

    INLINE = 0
    """In the data file, at byte ``position``."""
    PACKED = 1
    """In side file number ``blob_id`` of the data file, which holds several blobs."""
    DEDICATED = 2
    """In side file number ``blob_id`` of the data file, which holds this blob only."""
    EXTERNAL = 3
    """At ``blob_uri``: a URI, or a path below base path ``blob_id`` if ``blob_id`` is not 0. A
    ``size`` of 0 means the whole object."""
    MANAGED = 4


DESCRIPTION_V2 = pa.struct(
    [
        pa.field("kind", pa.uint8(), False),
        pa.field("position", pa.uint64(), False),
        pa.field("size", pa.uint64(), False),
        pa.field("blob_id", pa.uint32(), False),
        pa.field("blob_uri", pa.string(), False),
    ]
)
"""Type that data files store for a blob of version 2. ``kind`` is a `BlobKind`; sizes in bytes."""

GIVEN_V2 = pa.struct(
    [
        pa.field("data", pa.large_binary()),
        pa.field("uri", pa.string()),
        pa.field("position", pa.uint64()),
        pa.field("size", pa.uint64()),
    ]
)
"""Input type of a blob of version 2: either bytes, or a URI with an optional byte range."""

PREPARED_V2 = pa.struct(
    [
        pa.field("kind", pa.uint8()),
        pa.field("data", pa.large_binary()),
        pa.field("uri", pa.string()),
        pa.field("blob_id", pa.uint32()),
        pa.field("blob_size", pa.uint64()),
        pa.field("position", pa.uint64()),
    ]
)
"""Input type, for single files only, of a blob whose bytes may be in a side file already."""


def is_blob_v2(field: Field) -> bool:
    """True if ``field`` itself is a blob of version 2 of a table's schema."""
    return field.extension_name == BLOB_V2


def has_blobs_v2(fields: Iterable[Field]) -> bool:
    """True if any of ``fields`` or of their descendants is a blob of version 2."""
    return any(
        is_blob_v2(part)
        for field in fields
        if field.children or field.metadata
        for part in field.walk()
    )


def has_blobs_to_place(fields: Iterable[Field]) -> bool:
    """True if any of ``fields``, or of their descendants, has blobs that are not `PREPARED_V2`."""
    return any(
        is_blob_v2(part) and part.storage_type != PREPARED_V2
        for field in fields
        if field.children or field.metadata
        for part in field.walk()
    )


def has_blobs(field: Field) -> bool:
    """True if ``field`` or a descendant is written with payloads outside of pages."""
    if not (field.children or field.metadata):
        return False
    return any(part.is_blob or is_blob_v2(part) for part in field.walk())


def is_given(storage: pa.DataType) -> bool:
    """True if ``storage`` is `GIVEN_V2` or its first two members; nullability is ignored."""
    if not pa.types.is_struct(storage) or storage.num_fields not in (2, 4):
        return False
    pairs = zip(storage, GIVEN_V2, strict=False)
    return all((own.name, own.type) == (member.name, member.type) for own, member in pairs)


def described_in_file(field: Field) -> Field:
    """``field`` as data files store it: blobs of version 2 become `DESCRIPTION_V2`."""
    if not is_blob_v2(field):
        return field.with_changed_children(described_in_file)
    members = tuple(
        Field(
            name=member.name,
            id=UNASSIGNED,
            parent_id=UNASSIGNED,
            logical_type=logical_type.logical_type_of(member.type) or "",
            nullable=False,
            encoding=logical_type.encoding_of(logical_type.logical_type_of(member.type) or ""),
        )
        for member in DESCRIPTION_V2
    )
    metadata = {_PACKED_KEY: "true", BLOB_KEY: "true"}
    return replace(field, children=members, metadata=metadata)


def given_to_files(field: Field) -> Field:
    """``field`` as file writers accept it: blobs of version 2 get all members of `GIVEN_V2`."""
    if not is_blob_v2(field):
        return field.with_changed_children(given_to_files)
    members = tuple(
        Field(
            name=member.name,
            id=UNASSIGNED,
            parent_id=field.id,
            logical_type=logical_type.logical_type_of(member.type) or "",
            nullable=True,
        )
        for member in GIVEN_V2
    )
    return field.with_children(members)


def has_given_blobs(field: Field) -> bool:
    """True if ``field`` has a blob of version 2 as `given_to_files` returns it."""
    return any(
        is_blob_v2(part) and is_given(part.storage_type) and len(part.children) == len(GIVEN_V2)
        for part in field.walk()
    )


def as_bytes(field: Field) -> Field:
    """``field`` as results with bytes return it: blobs of version 2 become large_binary."""
    if not is_blob_v2(field):
        return field.with_changed_children(as_bytes)
    metadata = {key: text for key, text in field.metadata.items() if key != extension.NAME_KEY}
    return replace(field, logical_type="large_binary", children=(), metadata=metadata)


def upgraded(schema: pa.Schema) -> pa.Schema:
    """``schema`` of new data with blobs of version 1 changed to blobs of version 2.

    Tables of version 2.2 store only blobs of version 2. Raises `InvalidInputError` for blobs that
    are not binary.
    """
    return pa.schema([_upgraded(field) for field in schema], schema.metadata)


def _upgraded(field: pa.Field) -> pa.Field:
    if field.metadata is None and not field.type.num_fields:
        return field
    metadata = dict(field.metadata or {})
    if extension.is_extension(field.type):
        return field
    if metadata.pop(BLOB_KEY.encode(), None) is not None and not pa.types.is_struct(field.type):
        if not (pa.types.is_large_binary(field.type) or pa.types.is_binary(field.type)):
            raise InvalidInputError(
                f"field {field.name!r}: blobs are binary or large_binary, not {field.type}"
            )
        metadata[extension.NAME_KEY.encode()] = BLOB_V2.encode()
        plain = pa.struct([GIVEN_V2.field(0), GIVEN_V2.field(1)])
        return pa.field(field.name, plain, field.nullable, metadata)
    return field.with_type(_upgraded_type(field.type))


def _upgraded_type(arrow: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(arrow):
        return pa.struct([_upgraded(member) for member in arrow])
    if pa.types.is_list(arrow):
        return pa.list_(_upgraded(arrow.value_field))
    if pa.types.is_large_list(arrow):
        return pa.large_list(_upgraded(arrow.value_field))
    if pa.types.is_fixed_size_list(arrow):
        return pa.list_(_upgraded(arrow.value_field), arrow.list_size)
    if pa.types.is_map(arrow):
        return pa.map_(arrow.key_field, _upgraded(arrow.item_field), arrow.keys_sorted)
    return arrow


@dataclass(frozen=True, slots=True)
class BlobThresholds:
    """Size limits in bytes that choose the location of a blob.

    A blob larger than ``dedicated`` gets a side file of its own. Any other blob of at most
    ``inline`` bytes is stored in the data file, and the rest share side files of at most ``pack``
    bytes.
    """

    inline: int = 64 << 10
    dedicated: int = 4 << 20
    pack: int = 1 << 30

    @classmethod
    def of(cls, field: Field, pack: int | None = None) -> BlobThresholds:
        """Thresholds from a field's metadata; ``pack`` overrides the metadata if it is not None.

        Raises `InvalidInputError` naming the field and key for a value that is not a size.
        """
        thresholds = {name: _threshold(field, key) for name, key in THRESHOLD_KEYS.items()}
        if pack is not None:
            thresholds["pack"] = pack
        return cls(**{name: number for name, number in thresholds.items() if number is not None})


THRESHOLD_KEYS = {
    "inline": "lance-encoding:blob-inline-size-threshold",
    "dedicated": "lance-encoding:blob-dedicated-size-threshold",
    "pack": "lance-encoding:blob-pack-file-size-threshold",
}
"""The field metadata key of each attribute of `BlobThresholds`."""


def _threshold(field: Field, key: str) -> int | None:
    text = field.metadata.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise InvalidInputError(
            f"field {field.name!r}: {key} is {text[:80]!r}, not a size in bytes"
        )
    return int(text)


def other_thresholds(table: Field, data: Field) -> str:
    """A description of the first threshold that differs between the fields; "" if none does.

    Thresholds that the metadata of ``data`` does not set are not compared.
    """
    effective = BlobThresholds.of(table)
    for name, key in THRESHOLD_KEYS.items():
        threshold = _threshold(data, key)
        if threshold is not None and threshold != getattr(effective, name):
            return f"{key} is {getattr(effective, name)} in the table and {threshold} in the data"
    return ""
