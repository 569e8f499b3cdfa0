"""Remove children of structs that were read as a whole."""

from __future__ import annotations

import pyarrow as pa

from lance_core.schema.rebuild import visible_children, with_children


def prune_fields(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """``column`` with only the struct children, at any depth, that the type ``wanted`` has."""
    if column.type == wanted or not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([_narrowed(chunk, wanted) for chunk in column.chunks], wanted)


def _narrowed(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if array.type == wanted:
        return array
    children = visible_children(array)
    if pa.types.is_struct(wanted):
        kept = [children[array.type.get_field_index(member.name)] for member in wanted]
        members = [_narrowed(part, member.type) for part, member in zip(kept, wanted, strict=True)]
        return with_children(array, wanted, members)
    return with_children(array, wanted, [_narrowed(children[0], wanted.value_type)])
