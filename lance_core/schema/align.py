"""Align data with a table's schema before a write: column order, storage types, nulls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core.schema.blobs.fields import GIVEN_V2, is_blob_v2, is_given
from lance_core.schema.field import Field
from lance_core.schema.logical_type import without_views
from lance_core.schema.path import format_path
from lance_core.schema.rebuild import visible_children, with_children
from lance_core.schema.tree import Schema
from lance_core.schema.visible_values import VisibleValues

if TYPE_CHECKING:
    from lance_core.schema.json.loops import JsonLoops

_TEXTS = (pa.string(), pa.large_string(), pa.string_view())
_ALL = VisibleValues()


def align_batch(
    batch: pa.RecordBatch, schema: Schema, loops: JsonLoops | None = None
) -> pa.RecordBatch:
    """Select the columns of ``schema`` from ``batch``, with the types of `Schema.storage_schema`.

    The result has the column order of ``schema``. Columns and struct members are matched by name,
    list items by position. Buffers are shared, except those of string views, binary views and JSON,
    which compiled ``loops`` convert if a plugin has them.
    Raises `SchemaMismatchError` for a missing column, a different type, or rows without columns
    (no file can store them), and `InvalidInputError` for a null in a field that is not nullable.
    """
    if batch.num_rows and not schema.num_fields:
        raise SchemaMismatchError(f"{batch.num_rows} rows without columns cannot be stored")
    storage, batch_schema = schema.storage_schema(), batch.schema
    if batch_schema.remove_metadata().equals(storage, check_metadata=True):
        aligned = batch.replace_schema_metadata()
    else:
        columns = []
        for field in schema.fields:
            index = batch_schema.get_field_index(field.name)
            if index < 0:
                raise SchemaMismatchError(f"the data has no column {format_path([field.name])}")
            columns.append(to_storage(batch.column(index), field, loops=loops))
        aligned = pa.RecordBatch.from_arrays(columns, schema=storage)
    for position, field in schema.checked_fields():
        check_nulls(aligned.column(position), field)
    return aligned


def to_storage(
    array: pa.Array,
    field: Field,
    parents: Sequence[str] = (),
    visible: VisibleValues = _ALL,
    loops: JsonLoops | None = None,
) -> pa.Array:
    """Convert ``array``, of which rows have the ``visible`` values, to `Field.storage_type`.

    Raises `SchemaMismatchError` for a type that does not match and `InvalidInputError` for text
    that is not JSON. Nulls are not checked; call `check_nulls` for that.
    """
    path = (*parents, field.name)
    storage_type = field.storage_type
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if array.type == storage_type:
        return array
    if is_blob_v2(field) and storage_type == GIVEN_V2:
        return _given_blobs(array, path)
    if field.is_json and array.type in _TEXTS:
        return _binary_json(array, path, visible, loops)
    if pa.types.is_dictionary(storage_type) and pa.types.is_dictionary(array.type):
        return _dictionary(array, storage_type, path)
    if field.children:
        return _nested(array, field, path, visible, loops)
    if pa.types.is_fixed_size_list(storage_type):
        return _fixed_size_list(array, storage_type, path)
    if without_views(array.type) == storage_type:
        return array.cast(storage_type)
    raise _mismatch(array.type, storage_type, path)


def _given_blobs(array: pa.Array, path: Sequence[str]) -> pa.Array:
    """Convert input for a blob field of version 2, a struct or plain bytes, to `GIVEN_V2`."""
    members: list[pa.Array]
    if is_given(array.type):
        members = visible_children(array)
    elif pa.types.is_large_binary(array.type) or pa.types.is_binary(array.type):
        members = [array.cast(pa.large_binary())]
    else:
        raise _mismatch(array.type, GIVEN_V2, path)
    missing = [pa.nulls(len(array), member.type) for member in list(GIVEN_V2)[len(members) :]]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays([*members, *missing], fields=list(GIVEN_V2), mask=mask)


def _binary_json(
    texts: pa.Array, path: Sequence[str], visible: VisibleValues, loops: JsonLoops | None
) -> pa.Array:
    if visible.mask is not None and not visible.mask.all():
        texts = texts.cast(without_views(texts.type))
        import pyarrow.compute as pc

        texts = pc.if_else(pa.array(visible.mask), texts, pa.scalar(None, texts.type))
    from lance_core.schema.json.encoding import encode_json

    return encode_json(texts, format_path(path), visible.row_of, loops)


def _nested(
    array: pa.Array,
    field: Field,
    path: Sequence[str],
    visible: VisibleValues,
    loops: JsonLoops | None,
) -> pa.Array:
    storage_type = field.storage_type
    if array.type.id != storage_type.id:
        raise _mismatch(array.type, storage_type, path)
    if pa.types.is_fixed_size_list(storage_type) and storage_type.list_size != array.type.list_size:
        raise _mismatch(array.type, storage_type, path)
    children = visible_children(array)
    # Only the conversion of JSON depends on which values rows have.
    has_json = any(part.is_json for part in field.walk())
    below = visible.below(array) if has_json else _ALL
    if pa.types.is_struct(storage_type):
        positions = [array.type.get_field_index(child.name) for child in field.children]
        if -1 in positions:
            raise _mismatch(array.type, storage_type, path)
        children = [children[position] for position in positions]
    elif field.is_map:
        # Keys and values are matched by position: other writers name them differently.
        entries = field.children[0]
        members = visible_children(children[0])
        below = below.below(children[0]) if has_json else _ALL
        pairs = zip(members, entries.children, strict=True)
        parts = [
            to_storage(part, child, (*path, entries.name), below, loops) for part, child in pairs
        ]
        children = [with_children(children[0], entries.storage_type, parts)]
        return with_children(array, storage_type, children)
    pairs = zip(children, field.children, strict=True)
    parts = [to_storage(part, child, path, below, loops) for part, child in pairs]
    return with_children(array, storage_type, parts)


def _fixed_size_list(array: pa.Array, type_: pa.DataType, path: Sequence[str]) -> pa.Array:
    """Convert a fixed size list.

    Items lose their field name, nullability and extension type: a logical type stores none of them.
    """
    list_type = array.type
    if not pa.types.is_fixed_size_list(list_type) or list_type.list_size != type_.list_size:
        raise _mismatch(list_type, type_, path)
    items = array.values
    if isinstance(items, pa.ExtensionArray):
        items = items.storage
    if pa.types.is_fixed_size_list(type_.value_type):
        items = _fixed_size_list(items, type_.value_type, path)
    elif items.type != type_.value_type:
        raise _mismatch(list_type, type_, path)
    return with_children(array, type_, [items])


def _dictionary(array: pa.Array, type_: pa.DataType, path: Sequence[str]) -> pa.Array:
    values = array.dictionary
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    values = values.cast(without_views(values.type))
    if array.indices.type != type_.index_type or values.type != type_.value_type:
        raise _mismatch(array.type, type_, path)
    return pa.DictionaryArray.from_arrays(array.indices, values, ordered=False)


def check_nulls(array: pa.Array, field: Field, parents: Sequence[str] = ()) -> None:
    """Raise `InvalidInputError` naming the field if a field that is not nullable has a null.

    ``array`` has type `Field.storage_type`. Nulls below a null parent do not count.
    """
    path = (*parents, field.name)
    if not field.nullable and (nulls := _null_count(array)):
        raise InvalidInputError(
            f"field {format_path(path)} is not nullable, but the data has "
            f"{nulls} null value(s) in it"
        )
    if all(below.nullable for child in field.children for below in child.walk()):
        return
    for part, child in zip(_below_valid_rows(array, field), field.children, strict=True):
        check_nulls(part, child, path)


def _null_count(array: pa.Array) -> int:
    """The number of null values, including indices that refer to a null dictionary value."""
    count: int = array.null_count
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        count += array.dictionary.is_null().take(array.indices).true_count
    return count


def _below_valid_rows(array: pa.Array, field: Field) -> list[pa.Array]:
    """The child arrays, without the values below null rows."""
    if field.is_struct:
        valid = array.filter(array.is_valid()) if array.null_count else array
        return visible_children(valid)
    if field.is_map:
        as_list = pa.list_(field.children[0].storage_field())
        array = with_children(array, as_list, [array.values])
    return [array.flatten()]


def _mismatch(
    actual: pa.DataType, expected: pa.DataType, path: Sequence[str]
) -> SchemaMismatchError:
    return SchemaMismatchError(
        f"field {format_path(path)}: expected {str(expected)[:200]}, got {str(actual)[:200]}"
    )
