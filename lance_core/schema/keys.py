"""Primary and clustering keys that field metadata requests."""

from __future__ import annotations

import dataclasses

from lance_core.errors import InvalidInputError
from lance_core.schema.field import Field
from lance_core.schema.tree import Schema


def with_keys(before: Schema, after: Schema) -> Schema:
    """``after`` with the keys that its field metadata requests.

    ``after`` is ``before`` with changed metadata. Raises `InvalidInputError` if a column cannot be
    a key (for example if it is nullable or nested), and if ``before`` has a primary key that
    ``after`` changes: a primary key is permanent.
    """
    keyed = Schema.from_arrow(after.to_arrow())
    schema = dataclasses.replace(after, fields=tuple(map(_with_keys, after.fields, keyed.fields)))
    old, new = _primary(before), _primary(schema)
    if old and old != new:
        raise InvalidInputError("the primary key cannot be changed once it is set")
    return schema


def _with_keys(field: Field, keyed: Field) -> Field:
    return dataclasses.replace(
        field,
        children=tuple(map(_with_keys, field.children, keyed.children)),
        unenforced_primary_key=keyed.unenforced_primary_key,
        unenforced_primary_key_position=keyed.unenforced_primary_key_position,
        unenforced_clustering_key_position=keyed.unenforced_clustering_key_position,
    )


def _primary(schema: Schema) -> list[tuple[int, int]]:
    keys = [field for field in schema.walk() if field.unenforced_primary_key]
    return [(field.id, field.unenforced_primary_key_position) for field in keys]
