"""`LanceSchema` and `LanceField`: the schema of a table as pylance's users know it.

Both show a `Schema` and its `Field` objects through methods; they can be compared and pickled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import pyarrow as pa

from lance_core.errors import InvalidInputError, printable
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.field import Field
from lance_core.schema.tree import Schema


@dataclass(frozen=True, slots=True, repr=False)
class LanceField:
    """A field of a table's schema: a column, or a part of a nested column."""

    _field: Field

    def name(self) -> str:
        """The name, without the names of the fields around it."""
        return self._field.name

    def id(self) -> int:
        """The id, which stays the same when the field is renamed or moved."""
        return self._field.id

    def children(self) -> list[LanceField]:
        """The fields inside: members of a struct, the item of a list, the entries of a map."""
        return [LanceField(child) for child in self._field.children]

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of the field."""
        return dict(self._field.metadata)

    def to_arrow(self) -> pa.Field:
        """The Arrow field that a scan returns."""
        return self._field.to_arrow()

    def is_unenforced_primary_key(self) -> bool:
        """True if the field is part of the declared primary key."""
        return self._field.unenforced_primary_key

    def unenforced_primary_key_position(self) -> int | None:
        """The position in the primary key, from 1 on; None without one."""
        return self._field.unenforced_primary_key_position or None

    def is_unenforced_clustering_key(self) -> bool:
        """True if the field is part of the declared clustering key."""
        return self._field.unenforced_clustering_key_position > 0

    def unenforced_clustering_key_position(self) -> int | None:
        """The position in the clustering key, from 1 on; None without one."""
        return self._field.unenforced_clustering_key_position or None

    def __repr__(self) -> str:
        lines = [line.strip() for line in _lines(self._field, 0)]
        return printable("Field { " + "; ".join(lines) + " }")


@dataclass(frozen=True, slots=True, repr=False)
class LanceSchema:
    """The schema of a table, with field ids; see `LanceDataset.lance_schema`."""

    _schema: Schema

    @classmethod
    def from_pyarrow(cls, schema: pa.Schema) -> Self:
        """The schema of new data: ids are assigned depth first from 0.

        Raises `UnsupportedFeatureError` for a type that the format does not have, and
        `InvalidInputError` for invalid names.
        """
        return cls(Schema.from_arrow(schema))

    def to_pyarrow(self) -> pa.Schema:
        """The Arrow schema that a scan returns."""
        return self._schema.to_arrow()

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of the schema."""
        return dict(self._schema.metadata)

    def fields(self) -> list[LanceField]:
        """The top-level fields, in order."""
        return [LanceField(field) for field in self._schema.fields]

    def field(self, name: str) -> LanceField | None:
        """The field at a dotted path, for example ``"point.x"``; None if there is none."""
        try:
            field = self._schema.field_by_path(name)
        except InvalidInputError:
            return None  # the text is not a path
        return None if field is None else LanceField(field)

    def field_case_insensitive(self, name: str) -> LanceField | None:
        """Like `field`, but the case of letters is ignored if no field has exactly this path."""
        exact = self.field(name)
        if exact is not None:
            return exact
        folded = name.casefold()
        for field in self._schema.walk():
            if self._schema.path_of(field.id).casefold() == folded:
                return LanceField(field)
        return None

    def unenforced_primary_key(self) -> list[LanceField]:
        """The fields of the declared primary key, in the order of the key."""
        keys = (field for field in self._walk() if field.is_unenforced_primary_key())
        return sorted(keys, key=lambda field: field.unenforced_primary_key_position() or 0)

    def unenforced_clustering_key(self) -> list[LanceField]:
        """The fields of the declared clustering key, in the order of the key."""
        keys = (field for field in self._walk() if field.is_unenforced_clustering_key())
        return sorted(keys, key=lambda field: field.unenforced_clustering_key_position() or 0)

    def _walk(self) -> Iterator[LanceField]:
        return map(LanceField, self._schema.walk())

    def __repr__(self) -> str:
        lines = [line for field in self._schema.fields for line in _lines(field, 1)]
        if self._schema.metadata:
            lines.append(f"  metadata: {dict(self._schema.metadata)}")
        return printable("\n".join(["Schema {", *lines, "}"]))


def stored_schema(schema: LanceSchema | pa.Schema) -> Schema:
    """The internal `Schema` that a `LanceSchema` wraps.

    For an Arrow schema, a new one with ids in depth-first order. Raises ``TypeError`` for other
    classes.
    """
    if isinstance(schema, pa.Schema):
        return Schema.from_arrow(schema)
    if not isinstance(schema, LanceSchema):
        raise TypeError(f"schema must be a LanceSchema, got {type(schema).__name__}")
    return schema._schema  # noqa: SLF001 (the same module)


def _lines(field: Field, depth: int) -> Iterator[str]:
    """One line for the field and each field inside it, indented by depth."""
    needed = "" if field.nullable else " not null"
    name = field.name if field.name.isprintable() else ascii(field.name)
    yield f"{'  ' * depth}{field.id} {name}: {_type_text(field)}{needed}"
    for child in field.children:
        yield from _lines(child, depth + 1)


def _type_text(field: Field) -> str:
    return field.extension_name or field.logical_type
