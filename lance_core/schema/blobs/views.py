"""Blob fields as descriptions: the position and size of each value's bytes in the data file.

A scan returns descriptions by default, so that it does not read all blobs of a table. A blob
column of a 2.0 file stores position and size in a ``PackedStruct``; a 2.2 file stores a packed
struct of the five members of `DESCRIPTION_V2`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from lance_core.schema.blobs.fields import (
    DESCRIPTION_V2,
    as_bytes,
    described_in_file,
    given_to_files,
    has_blobs,
    is_blob_v2,
)
from lance_core.schema.field import BLOB_KEY, UNASSIGNED, Field
from lance_core.schema.logical_type import logical_type_of
from lance_core.schema.tree import Schema

_PACKED = {"lance-encoding:packed": "true"}


def with_descriptions(schema: Schema) -> Schema:
    """``schema`` with each blob field replaced by the description that its column stores.

    A description is ``struct<position: uint64, size: uint64>``, or `DESCRIPTION_V2` for blobs of
    version 2.
    """
    return schema.derived("with_descriptions", lambda: schema.with_changed_fields(_described))


def as_given(schema: Schema) -> Schema:
    """``schema`` as file writers accept it, see `given_to_files`."""
    return schema.derived("as_given", lambda: _changed(schema, given_to_files))


def as_stored(schema: Schema) -> Schema:
    """``schema`` as data files store it, see `described_in_file`."""
    return schema.derived("as_stored", lambda: _changed(schema, described_in_file))


def with_bytes(schema: Schema) -> Schema:
    """``schema`` with each blob field as the large_binary that results with bytes hold."""
    return schema.derived("with_bytes", lambda: _changed(schema, as_bytes))


def _changed(schema: Schema, change: Callable[[Field], Field]) -> Schema:
    """``schema`` with its blobs changed, which have metadata."""
    return schema.with_changed_fields(change) if schema.complex_fields else schema


def blob_fields(schema: Schema) -> Sequence[int]:
    """The positions of the fields with blobs among those of `Schema.complex_fields`."""
    fields = schema.complex_fields
    return schema.derived(
        "blob_fields", lambda: [n for n, field in enumerate(fields) if has_blobs(field)]
    )


def result_field(field: Field) -> pa.Field:
    """The Arrow field of results; a blob description has only the metadata that marks blobs."""
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
    list_type = pa.large_list if pa.types.is_large_list(arrow.type) else pa.list_
    return arrow.with_type(list_type(children[0]))


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
        return field.with_changed_children(_described)
    children = tuple(
        Field(name=name, id=UNASSIGNED, parent_id=field.id, logical_type="uint64", nullable=True)
        for name in ("position", "size")
    )
    metadata = {key: value for key, value in field.metadata.items() if key != BLOB_KEY}
    metadata.update(_PACKED)
    return replace(field, logical_type="struct", children=children, metadata=metadata)
