"""Resolve names in an expression to columns of a schema.

A name without backticks resolves to the column with exactly this name, otherwise to the only
column that differs just in case. Names in backticks and names of struct fields must match exactly.
"""

from __future__ import annotations

import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.node import ColumnNode
from lance_core.dataset.expressions.sql.parser.syntax import Name
from lance_core.error_texts.suggestions import no_field
from lance_core.errors import InvalidInputError

TABLE = {b"lance-core:is-table": b""}
"""Metadata of a struct column that stands for a table."""


def resolve(schema: pa.Schema, first: Name, table: str = "") -> ColumnNode:
    """The top-level column with this name, of ``table`` if there are several.

    Raises `InvalidInputError` for an ambiguous name and for an unknown one.
    """
    count = schema.names.count(first.text)
    matching = [first.text] * count
    if not matching and not first.quoted:
        lower = first.text.lower()
        matching = [name for name in schema.names if name.lower() == lower]
    if len(matching) > 1:
        raise InvalidInputError(f"the name {first.text} is ambiguous: {', '.join(matching)}")
    if not matching:
        raise InvalidInputError(no_field(first.text, schema.names, table))
    field = schema.field(matching[0])
    return ColumnNode((matching[0],), field.type, field.nullable, field.metadata)


def child(parent: ColumnNode, name: str) -> ColumnNode:
    """A field of a struct column. Raises `InvalidInputError` if there is none.

    If the struct stands for a `TABLE`, its fields are columns, whose names may differ in case.
    """
    if (parent.metadata or {}).keys() >= TABLE.keys():
        column = resolve(pa.schema(list(parent.type)), Name(name), ".".join(parent.path))
        path = (*parent.path, *column.path)
        return ColumnNode(path, column.type, True, column.metadata)
    parent_type, shown = parent.type, ".".join(parent.path)
    if not pa.types.is_struct(parent_type):
        raise InvalidInputError(f"{shown} has the type {parent_type}: it has no field {name}")
    if parent_type.get_field_index(name) < 0:
        raise InvalidInputError(no_field(name, [member.name for member in parent_type], shown))
    field = parent_type.field(name)
    nullable = parent.nullable or field.nullable
    return ColumnNode((*parent.path, name), field.type, nullable, field.metadata)
