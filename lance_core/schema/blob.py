"""Blob fields: the forms that one field takes in a table, in its files and in results.

Blobs of version 1 are large_binary with the metadata key `BLOB_KEY`. Blobs of version 2, in tables
of file version 2.2, are structs of the extension type `BLOB_V2` with the members data, uri and
mostly position and size; what a file holds of them is a packed struct of `DESCRIPTION_V2`.
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
    """Where the bytes of a blob of version 2 are."""

    INLINE = 0
    """In the data file, ``position`` counts from its start."""
    PACKED = 1
    """With others in the side file number ``blob_id`` of the data file."""
    DEDICATED = 2
    """Alone in the side file number ``blob_id`` of the data file."""
    EXTERNAL = 3
    """At ``blob_uri``: a URI, or a path in the base path number ``blob_id`` if that is not 0. The
    whole object, if ``size`` is 0."""
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
"""What the pages of a blob of version 2 hold."""

GIVEN_V2 = pa.struct(
    [
        pa.field("data", pa.large_binary()),
        pa.field("uri", pa.string()),
        pa.field("position", pa.uint64()),
        pa.field("size", pa.uint64()),
    ]
)
"""What users give for a blob of version 2: either bytes or a URI, perhaps with a range."""


def is_blob_v2(field: Field) -> bool:
    """Whether ``field`` itself is a blob of version 2, as a table's schema has it."""
    return field.extension_name == BLOB_V2


def has_blobs_v2(fields: Iterable[Field]) -> bool:
    """Whether any of ``fields``, or of what is below them, is a blob of version 2."""
    return any(is_blob_v2(part) for field in fields for part in field.walk())


def is_given(storage: pa.DataType) -> bool:
    """Whether a type is `GIVEN_V2`, or its first two members, whatever may be null there."""
    if not pa.types.is_struct(storage) or storage.num_fields not in (2, 4):
        return False
    pairs = zip(storage, GIVEN_V2, strict=False)
    return all((own.name, own.type) == (wanted.name, wanted.type) for own, wanted in pairs)


def described_in_file(field: Field) -> Field:
    """``field`` as files store it, blobs of version 2 as their descriptions."""
    if not is_blob_v2(field):
        return field.with_children(tuple(map(described_in_file, field.children)))
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
    """``field`` as writers of files take it: blobs of version 2 with all members of `GIVEN_V2`."""
    if not is_blob_v2(field):
        return field.with_children(tuple(map(given_to_files, field.children)))
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


def as_bytes(field: Field) -> Field:
    """``field`` as results have it that hold bytes: blobs of version 2 as large_binary."""
    if not is_blob_v2(field):
        return field.with_children(tuple(map(as_bytes, field.children)))
    metadata = {key: text for key, text in field.metadata.items() if key != extension.NAME_KEY}
    return replace(field, logical_type="large_binary", children=(), metadata=metadata)


def upgraded(schema: pa.Schema) -> pa.Schema:
    """The schema of new data with blobs of version 1 made those of version 2.

    That is what a table of version 2.2 has in their place. Raises `InvalidInputError` for blobs
    that are not binary.
    """
    return pa.schema([_upgraded(field) for field in schema], schema.metadata)


def _upgraded(field: pa.Field) -> pa.Field:
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
    """Up to which size, in bytes, blobs of a field are kept where.

    ``inline``: the data file. ``dedicated``: larger ones have a side file of their own; this is
    asked first. ``pack``: what a side file of several blobs grows to.
    """

    inline: int = 64 << 10
    dedicated: int = 4 << 20
    pack: int = 1 << 30

    @classmethod
    def of(cls, field: Field, pack: int | None = None) -> BlobThresholds:
        """What the metadata of a field says; ``pack``, if given, counts instead."""
        found = {name: _threshold(field, key) for name, key in THRESHOLD_KEYS.items()}
        if pack is not None:
            found["pack"] = pack
        return cls(**{name: number for name, number in found.items() if number is not None})


THRESHOLD_KEYS = {
    "inline": "lance-encoding:blob-inline-size-threshold",
    "dedicated": "lance-encoding:blob-dedicated-size-threshold",
    "pack": "lance-encoding:blob-pack-file-size-threshold",
}
"""The metadata key of each of `BlobThresholds`."""


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
    """What ``data`` says of thresholds that is not so in ``table``, "" if there is nothing."""
    effective = BlobThresholds.of(table)
    for name, key in THRESHOLD_KEYS.items():
        wanted = _threshold(data, key)
        if wanted is not None and wanted != getattr(effective, name):
            return f"{key} is {getattr(effective, name)} in the table and {wanted} in the data"
    return ""
