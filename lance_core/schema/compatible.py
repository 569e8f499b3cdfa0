"""Check that data can be appended to a table, and find the part of the schema that it fills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from lance_core.errors import SchemaMismatchError
from lance_core.schema import extension
from lance_core.schema.blobs.fields import is_blob_v2, is_given, other_thresholds
from lance_core.schema.field import Field
from lance_core.schema.path import format_path
from lance_core.schema.tree import Schema

_MAX_SHOWN = 10


def append_schema(table: Schema, data: pa.Schema, *, allow_subschema: bool = True) -> Schema:
    """The fields of ``table`` that ``data`` has, with the ids and the order of ``table``.

    Fields are matched by name, the items of lists and maps by position. Types and extension types
    must be equal; metadata and nullability may differ (`align_batch` checks nulls on write).
    Nullable fields may be missing if ``allow_subschema``; they are then read as null. Raises
    `SchemaMismatchError` that lists the differences (at most 10), and the errors of
    `Schema.from_arrow`.
    """
    if data.equals(table.to_arrow(), check_metadata=True):
        # The table may be of another library, with names that are refused in files.
        table.derived("can_be_written", lambda: bool(Schema.from_arrow(data)))
        return table
    differences: list[str] = []
    incoming = Schema.from_arrow(data)
    fields = _match(table.fields, incoming.fields, (), allow_subschema, differences)
    if differences:
        more = len(differences) - _MAX_SHOWN
        shown = "; ".join(differences[:_MAX_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise SchemaMismatchError(f"the data does not fit the table's schema: {shown}")
    return Schema(fields, table.metadata)


def _match(
    table: Sequence[Field],
    data: Sequence[Field],
    parents: tuple[str, ...],
    allow_subschema: bool,
    differences: list[str],
) -> tuple[Field, ...]:
    """The table's fields that the data has; each mismatch is appended to ``differences``."""
    offered = {field.name: field for field in data}
    matched = []
    for field in table:
        offer = offered.pop(field.name, None)
        path = format_path((*parents, field.name))
        if offer is not None:
            matched.append(_match_field(field, offer, parents, allow_subschema, differences))
        elif not field.nullable:
            differences.append(f"field {path} is missing and not nullable")
        elif not allow_subschema:
            differences.append(f"field {path} is missing")
    differences += [
        f"field {format_path((*parents, name))} is not in the table" for name in offered
    ]
    return tuple(matched)


def _match_field(
    field: Field,
    offered: Field,
    parents: tuple[str, ...],
    allow_subschema: bool,
    differences: list[str],
    in_map: bool = False,
) -> Field:
    """Match one table field to one data field.

    ``in_map``: the fields are the ``entries`` of a map, whose members are matched by position.
    """
    path = (*parents, field.name)
    if is_blob_v2(field) and not offered.is_blob and is_given(offered.storage_type):
        reason = other_thresholds(field, offered)
        if reason:
            differences.append(f"field {format_path(path)}: {reason}")
        return field
    if _described(field) != _described(offered):
        differences.append(
            f"field {format_path(path)}: expected {_described(field)}, got {_described(offered)}"
        )
        return field
    if field.is_struct and not in_map:
        members = _match(field.children, offered.children, path, allow_subschema, differences)
        if field.children and not members:
            differences.append(f"field {format_path(path)} has none of its members")
    else:
        pairs = zip(field.children, offered.children, strict=True)
        members = tuple(
            _match_field(child, other, path, allow_subschema, differences, in_map=field.is_map)
            for child, other in pairs
        )
    return field if members == field.children else field.with_children(members)


def _described(field: Field) -> str:
    """The part of a field's own type, without children, that must be equal in table and data."""
    name, text = field.extension_name, field.logical_type
    if field.is_list and field.children[0].is_struct:
        # A table may store ``list`` for ``list.struct`` if the structs are of an extension type.
        text = f"{text.removesuffix('.struct')}.struct"
    if not name:
        return text
    parameters = field.metadata.get(extension.PARAMETERS_KEY, "")
    return f"{text} (extension {name}{' ' if parameters else ''}{parameters})"


def missing_fields(table: Schema, data: pa.Schema) -> pa.Schema:
    """The fields of ``data`` that ``table`` lacks, as nullable fields.

    A struct, or a list of structs, that exists is included with its new members only. Fields are
    matched by name; the types of existing fields are not compared.
    """
    return pa.schema(_missing(table.fields, data))


def _missing(table: Sequence[Field], data: Iterable[pa.Field]) -> Iterator[pa.Field]:
    known = {field.name: field for field in table}
    for member in data:
        field = known.get(member.name)
        if field is None:
            yield member.with_nullable(True)
        else:
            arrow = _with_missing(field, member.type)
            if arrow is not None:
                yield member.with_type(arrow)


def _with_missing(field: Field, offered: pa.DataType) -> pa.DataType | None:
    """``offered`` with only those members of structs that ``field`` lacks; None without any."""
    if field.is_struct and pa.types.is_struct(offered) and not field.extension_name:
        members = list(
            _missing(field.children, [offered.field(i) for i in range(offered.num_fields)])
        )
        return pa.struct(members) if members else None
    if field.is_list and (pa.types.is_list(offered) or pa.types.is_large_list(offered)):
        item = _with_missing(field.children[0], offered.value_type)
        if item is not None:
            return pa.list_(item) if pa.types.is_list(offered) else pa.large_list(item)
    return None
