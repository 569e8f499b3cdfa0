"""Blob columns: which of Spark's columns are their bytes, and which only say where these are."""

from __future__ import annotations

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.schema import BLOB_KEY, BLOB_V2, parse_path
from lance_core_spark.types import is_any_list, members


def as_bytes(field: pa.Field) -> pa.Field:
    """A table's ``field`` with binary values in place of blobs of version 2.

    Their metadata says that they are blobs: what is made of them is such a column again.
    """
    arrow = field.type
    if isinstance(arrow, pa.BaseExtensionType):
        if arrow.extension_name != BLOB_V2:
            return field
        metadata = {**(field.metadata or {}), BLOB_KEY: "true"}
        return field.with_type(pa.large_binary()).with_metadata(metadata)
    if pa.types.is_struct(arrow):
        return field.with_type(pa.struct([as_bytes(member) for member in members(arrow)]))
    if pa.types.is_fixed_size_list(arrow):
        return field.with_type(pa.list_(as_bytes(arrow.value_field), arrow.list_size))
    if is_any_list(arrow):
        item = as_bytes(arrow.value_field)
        small = pa.types.is_list(arrow)
        return field.with_type(pa.list_(item) if small else pa.large_list(item))
    return field


def marked(found: pa.Field, name: str, table: pa.Schema) -> pa.Field:
    """``found``, the column ``name`` of a scan, with metadata where it has the bytes of blobs."""
    path = (name,) if name in table.names else parse_path(name)
    own = next((field for field in table if field.name == path[0]), None)
    for step in path[1:]:
        if own is None or not pa.types.is_struct(own.type):
            return found
        own = next((field for field in members(own.type) if field.name == step), None)
    if own is None:
        return found
    plain = as_bytes(own)
    return plain.with_name(found.name) if plain.type == found.type else found


def refuse_descriptions(schema: pa.Schema) -> None:
    """Raise `InvalidInputError` for a column that only says where blobs of another table are."""
    for field in schema:
        _refuse(field, field.name)


def _refuse(field: pa.Field, column: str) -> None:
    if not pa.types.is_struct(field.type):
        return
    if BLOB_KEY.encode() in (field.metadata or {}):
        raise InvalidInputError(
            f"column {column!r} says where blobs are, it does not have their bytes: read the table "
            "with the option 'blob_handling' = 'all_binary', or leave the column out"
        )
    for member in members(field.type):
        _refuse(member, f"{column}.{member.name}")
