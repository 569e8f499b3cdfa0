"""Blob columns in Spark: columns with the bytes of blobs, and columns with their descriptions."""

from __future__ import annotations

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.schema import BLOB_KEY, BLOB_V2, parse_path
from lance_core_spark.types.arrow_types import is_any_list, struct_fields


def has_blobs(field: pa.Field) -> bool:
    """True if ``field`` or a field below it is a blob field."""
    arrow = field.type
    if isinstance(arrow, pa.BaseExtensionType):
        return bool(arrow.extension_name == BLOB_V2)
    if BLOB_KEY.encode() in (field.metadata or {}):
        return True
    return any(has_blobs(arrow.field(i)) for i in range(arrow.num_fields))


def with_bytes(field: pa.Field) -> pa.Field:
    """A table's ``field`` with binary values in place of version 2 blobs.

    Its metadata still marks them as blobs, so that a column written from it has blobs again.
    """
    arrow = field.type
    if isinstance(arrow, pa.BaseExtensionType):
        if arrow.extension_name != BLOB_V2:
            return field
        metadata = {**(field.metadata or {}), BLOB_KEY: "true"}
        return field.with_type(pa.large_binary()).with_metadata(metadata)
    if pa.types.is_struct(arrow):
        return field.with_type(pa.struct([with_bytes(member) for member in struct_fields(arrow)]))
    if pa.types.is_fixed_size_list(arrow):
        return field.with_type(pa.list_(with_bytes(arrow.value_field), arrow.list_size))
    if is_any_list(arrow):
        item = with_bytes(arrow.value_field)
        small = pa.types.is_list(arrow)
        return field.with_type(pa.list_(item) if small else pa.large_list(item))
    return field


def with_blob_metadata(scanned: pa.Field, name: str, table: pa.Schema) -> pa.Field:
    """The scanned column ``name``, with the metadata of a blob column if it has bytes of blobs."""
    path = (name,) if name in table.names else parse_path(name)
    stored = next((field for field in table if field.name == path[0]), None)
    for step in path[1:]:
        if stored is None or not pa.types.is_struct(stored.type):
            return scanned
        stored = next((field for field in struct_fields(stored.type) if field.name == step), None)
    if stored is None:
        return scanned
    binary = with_bytes(stored)
    return binary.with_name(scanned.name) if binary.type == scanned.type else scanned


def check_no_descriptions(schema: pa.Schema) -> None:
    """Raise `InvalidInputError` for a column with descriptions of another table's blobs."""
    for field in schema:
        _check_no_description(field, field.name)


def _check_no_description(field: pa.Field, column: str) -> None:
    if not pa.types.is_struct(field.type):
        return
    if BLOB_KEY.encode() in (field.metadata or {}):
        raise InvalidInputError(
            f"column {column!r} has descriptions of blobs, not their bytes: read the table "
            "with the option 'blob_handling' = 'all_binary', or leave the column out"
        )
    for member in struct_fields(field.type):
        _check_no_description(member, f"{column}.{member.name}")
