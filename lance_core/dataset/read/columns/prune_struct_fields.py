"""Remove children of structs that were read as a whole."""

from __future__ import annotations

import pyarrow as pa

from lance_core.schema.rebuild import visible_children, with_children


def prune_fields(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """``column`` with only the struct children, at any depth, that the type ``type_`` has."""
    if column.type == type_ or not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([_narrowed(chunk, type_) for chunk in column.chunks], type_)


def _narrowed(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if array.type == type_:
        return array
    children = visible_children(array)
    if pa.types.is_struct(type_):
        selected = [children[array.type.get_field_index(member.name)] for member in type_]
        members = [
            _narrowed(part, member.type) for part, member in zip(selected, type_, strict=True)
        ]
        return with_children(array, type_, members)
    return with_children(array, type_, [_narrowed(children[0], type_.value_type)])
