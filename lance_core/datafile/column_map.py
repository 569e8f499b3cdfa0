"""Map fields to physical columns (``DataFile.fields`` and ``column_indices`` in table.proto)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lance_core.encodings.page import Column
from lance_core.encodings.v2_0.base import is_byte_lists
from lance_core.encodings.version import FileVersion
from lance_core.schema import Field, Schema


def column_fields(fields: Sequence[Field], version: FileVersion) -> Iterator[Field]:
    """The fields that have a column in a file of ``version``, in the order of the columns.

    A packed struct or a blob has one column and its children have none. In files of some versions,
    lists and structs have a column too, before the columns of their children; in others, only
    fields without children have a column.
    """
    for field in fields:
        has_parts = bool(field.children) and not field.is_packed_struct and not field.is_blob
        if not has_parts or version.parents_have_columns:
            yield field
        if has_parts:
            yield from column_fields(field.children, version)


def column_of(fields: Sequence[Field], version: FileVersion) -> dict[int, int]:
    """Column index by field id, for a file whose schema has exactly these top-level fields."""
    return {field.id: index for index, field in enumerate(column_fields(fields, version))}


def column_of_schema(schema: Schema, version: FileVersion) -> Mapping[int, int]:
    """`column_of` of all fields of ``schema``."""
    return schema.derived(f"columns in {version.value}", lambda: _of_schema(schema, version))


def _of_schema(schema: Schema, version: FileVersion) -> Mapping[int, int]:
    if schema.is_plain:
        return dict(zip(schema.field_ids, range(schema.num_fields), strict=True))
    return column_of(schema.fields, version)


def column_of_early(
    fields: Sequence[Field], version: FileVersion, columns: Sequence[Column]
) -> dict[int, int] | None:
    """`column_of` for an early 2.0 file, in which each string field has two columns.

    None if the number of columns of the fields differs from the number of ``columns``.
    """
    columns_by_id, number = {}, 0
    for field in column_fields(fields, version):
        if number >= len(columns):
            return None
        columns_by_id[field.id] = number
        number += 2 if is_byte_lists(field.storage_type, columns[number]) else 1
    return columns_by_id if number == len(columns) else None
