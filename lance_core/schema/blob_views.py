"""Blob fields seen as descriptions: where in the data file each value's bytes are.

A scan returns descriptions unless it is asked for the bytes, so that a look at a table does not
read all its blobs. A blob column of a 2.0 file holds exactly these two numbers, packed row by row
(``PackedStruct`` of position and size); a 2.2 file holds five members, in a packed struct, too.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from lance_core.schema import (
    BLOB_KEY,
    DESCRIPTION_V2,
    UNASSIGNED,
    Field,
    Schema,
    as_bytes,
    is_blob_v2,
)
from lance_core.schema.logical_type import logical_type_of

_PACKED = {"lance-encoding:packed": "true"}


def with_descriptions(schema: Schema) -> Schema:
    """``schema`` with each blob field as what its column holds.

    That is ``struct<position: uint64, size: uint64>``, or the five members of blobs of version 2.
    """
    return replace(schema, fields=tuple(_described(field) for field in schema.fields))


def with_bytes(schema: Schema) -> Schema:
    """``schema`` with each blob field as the bytes of its values."""
    return replace(schema, fields=tuple(map(as_bytes, schema.fields)))


def result_field(field: Field) -> pa.Field:
    """``field`` as results have it: a description is marked as that of a blob, and nothing else."""
    arrow = field.to_arrow()
    if _is_description(field):
        marks = {BLOB_KEY: "true"}
        return arrow.with_metadata(marks if len(field.children) == 2 else {**marks, **_PACKED})
    if not any(map(_is_description, field.walk())):
        return arrow
    children = [result_field(child) for child in field.children]
    if field.is_struct:
        return arrow.with_type(pa.struct(children))
    if pa.types.is_map(arrow.type):
        key, value = children[0].type
        return arrow.with_type(pa.map_(key, value))
    if pa.types.is_fixed_size_list(arrow.type):
        return arrow.with_type(pa.list_(children[0], arrow.type.list_size))
    kind = pa.large_list if pa.types.is_large_list(arrow.type) else pa.list_
    return arrow.with_type(kind(children[0]))


def _is_description(field: Field) -> bool:
    return field.is_struct and bool(field.children) and field.children[0].id == UNASSIGNED


def _described(field: Field) -> Field:
    if is_blob_v2(field):
        described = tuple(
            Field(
                name=member.name,
                id=UNASSIGNED,
                parent_id=field.id,
                logical_type=logical_type_of(member.type) or "",
                nullable=False,
            )
            for member in DESCRIPTION_V2
        )
        return replace(field, children=described, metadata=_PACKED)
    if not field.is_blob:
        if not field.children:
            return field
        return replace(field, children=tuple(_described(child) for child in field.children))
    children = tuple(
        Field(name=name, id=UNASSIGNED, parent_id=field.id, logical_type="uint64", nullable=True)
        for name in ("position", "size")
    )
    metadata = {key: value for key, value in field.metadata.items() if key != BLOB_KEY}
    metadata.update(_PACKED)
    return replace(field, logical_type="struct", children=children, metadata=metadata)
