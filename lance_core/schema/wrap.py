"""Convert arrays of storage types to arrays of the types that users see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.schema import extension
from lance_core.schema.field import Field
from lance_core.schema.rebuild import visible_children, with_children

if TYPE_CHECKING:
    from lance_core.schema.json.loops import JsonLoops


def binary_json(field: Field) -> Field:
    """``field`` with its JSON, at any depth, as the ``large_binary`` that files hold."""
    if not any(part.is_json for part in field.walk()):
        return field
    if field.is_json:
        marks = {k: v for k, v in field.metadata.items() if not k.startswith("ARROW:extension:")}
        return replace(field, logical_type="large_binary", metadata=marks)
    return field.with_children(tuple(map(binary_json, field.children)))


def wrap_chunks(
    array: pa.ChunkedArray, field: Field, loops: JsonLoops | None = None
) -> pa.ChunkedArray:
    """`wrap` for every chunk."""
    arrow_type = field.arrow_type
    if array.type == arrow_type:
        return array
    return pa.chunked_array([wrap(chunk, field, loops) for chunk in array.chunks], type=arrow_type)


def wrap(array: pa.Array, field: Field, loops: JsonLoops | None = None) -> pa.Array:
    """Convert ``array`` from `Field.storage_type` to `Field.arrow_type`.

    Values are shared, except for JSON, which becomes text, by compiled ``loops`` if a plugin has
    them. Raises the errors of `decode_json`
    naming the field for bytes that are not binary JSON.
    """
    arrow_type = field.arrow_type
    if array.type == arrow_type:
        return array
    plain = extension.storage_of(arrow_type)
    if field.is_json:
        from lance_core.schema.json.values import decode_json

        array = decode_json(array, field.name, loops)
    elif field.children:
        array = _nested(array, field, plain, loops)
    elif pa.types.is_fixed_size_list(plain):
        array = _fixed_size_list(array, plain)
    if extension.is_extension(arrow_type):
        return pa.ExtensionArray.from_storage(arrow_type, array)
    return array


def _nested(array: pa.Array, field: Field, type_: pa.DataType, loops: JsonLoops | None) -> pa.Array:
    children = visible_children(array)
    pairs = zip(children, field.children, strict=True)
    return with_children(array, type_, [wrap(part, child, loops) for part, child in pairs])


def _fixed_size_list(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Wrap the items of a fixed size list; only bfloat16 items have an extension type."""
    item = type_.value_type
    if array.type.value_type == item:
        return array
    items = array.values
    if extension.is_extension(item):
        items = pa.ExtensionArray.from_storage(item, items)
    else:
        items = _fixed_size_list(items, item)
    return with_children(array, type_, [items])
