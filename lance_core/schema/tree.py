"""The schema of a table: a tree of fields, and schema metadata."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.arrow import fields_from_arrow
from lance_core.schema.field import UNASSIGNED, Field
from lance_core.schema.path import format_path, parse_path
from lance_core.schema.project import project_lineages, without_ids
from lance_core.schema.proto import (
    decode_metadata,
    fields_from_proto,
    fields_to_proto,
    serialized_fields,
)

if TYPE_CHECKING:
    from lance_core._pb import file_pb2
    from lance_core.schema.plain_fields import PlainFields

T = TypeVar("T")

_PLAIN = "plain fields"

MIN_PLAIN_FIELDS = 100
"""Minimum fields of a schema to keep plain fields as columns; few tables have so many."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Top-level fields in order, and schema metadata.

    Metadata bytes that are not UTF-8 become surrogate escapes, as in `Field`.
    """

    fields: tuple[Field, ...] = ()
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    _derived: dict[str, Any] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def from_plain(cls, plain: PlainFields, metadata: Mapping[str, str]) -> Schema:
        """The schema with these fields; `Field` objects are created when `fields` is first used."""
        schema = cls.__new__(cls)
        object.__setattr__(schema, "metadata", metadata)
        object.__setattr__(schema, "_derived", {_PLAIN: plain})
        return schema

    if not TYPE_CHECKING:  # so that type checkers report unknown attributes

        def __getattr__(self, name: str) -> Any:
            """Create the `Field` objects of a schema from `from_plain`, at the first use."""
            if name != "fields":
                raise AttributeError(name)
            fields = self.derived("fields", self._derived[_PLAIN].fields)
            object.__setattr__(self, "fields", fields)
            return fields

    @property
    def _plain(self) -> PlainFields | None:
        return self._derived.get(_PLAIN)

    @property
    def is_plain(self) -> bool:
        """True if all fields are known to be top-level fields of simple types without metadata."""
        return _PLAIN in self._derived

    @property
    def num_fields(self) -> int:
        """The number of top-level fields."""
        plain = self._derived.get(_PLAIN)
        return len(plain.ids) if plain else len(self.fields)

    @property
    def complex_fields(self) -> Sequence[Field]:
        """All top-level fields; none if no field has metadata at any depth."""
        if _PLAIN in self._derived:
            return ()
        is_unmarked = self.derived(
            "unmarked", lambda: all(field.is_unmarked for field in self.fields)
        )
        return () if is_unmarked else self.fields

    def row_bits(self) -> tuple[int, int]:
        """Bits of a row with validity in some columns, and the number of the other columns."""
        plain = self._plain
        return plain.row_bits() if plain else (0, self.num_fields)

    def first_of_types(self) -> Sequence[Field]:
        """Top-level fields, with at least the first one of each plain type."""
        plain = self._plain
        return plain.first_of_types() if plain else self.fields

    def checked_fields(self) -> Sequence[tuple[int, Field]]:
        """The top-level fields that have children or are not nullable, with their positions."""
        return self.derived("checked", self._checked_fields)

    def _checked_fields(self) -> Sequence[tuple[int, Field]]:
        plain = self._plain
        if plain is not None and plain.nullable.all():
            return ()
        pairs = enumerate(self.fields)
        return [
            (position, field) for position, field in pairs if field.children or not field.nullable
        ]

    def derived(self, name: str, make: Callable[[], T]) -> T:
        """The value that ``make`` returned at the first call with ``name``; do not change it.

        For values that depend on the schema alone. All snapshots that share the schema share them,
        since computing them for thousands of fields takes long.
        """
        if name not in self._derived:
            self._derived.setdefault(name, make())
        value: T = self._derived[name]
        return value

    def __reduce__(self) -> tuple[type[Schema], tuple[object, ...]]:
        """Pickle without the derived values."""
        return Schema, (self.fields, self.metadata)

    @classmethod
    def from_arrow(cls, schema: pa.Schema, first_id: int = 0) -> Schema:
        """The schema of new data; ids are assigned depth first from ``first_id``.

        Raises `UnsupportedFeatureError` for a type that the format does not have, and
        `InvalidInputError` for names that are empty, duplicate or (top level) dotted. Schemas of
        few columns are cached, with what is derived from them.
        """
        if len(schema) < MIN_PLAIN_FIELDS:
            return _recent_schema(_ArrowKey(schema), first_id)
        return _new_schema(schema, first_id)

    @classmethod
    def from_proto(
        cls, fields: Iterable[file_pb2.Field], metadata: Mapping[str, bytes] | None = None
    ) -> Schema:
        """Parse the schema of a file or manifest; raises the errors of `fields_from_proto`."""
        return cls(fields_from_proto(fields), decode_metadata(metadata or {}))

    def to_proto(self) -> Sequence[file_pb2.Field]:
        """All fields, depth first. `metadata` is not included; use `encode_metadata`."""
        return self.derived("proto", self._to_proto)

    def _to_proto(self) -> Sequence[file_pb2.Field]:
        plain = self._plain
        return serialized_fields(plain.serialized()) if plain else fields_to_proto(self.fields)

    def to_arrow(self) -> pa.Schema:
        """The Arrow schema that users see."""
        return self.derived("arrow", self._to_arrow)

    def _to_arrow(self) -> pa.Schema:
        plain = self._plain
        fields = plain.to_arrow() if plain else [field.to_arrow() for field in self.fields]
        return pa.schema(fields, self.arrow_metadata())

    def arrow_metadata(self) -> dict[bytes, bytes] | None:
        """The schema's own metadata as Arrow's bytes, or None if it is empty."""
        return {
            key.encode("utf-8", "surrogateescape"): value.encode("utf-8", "surrogateescape")
            for key, value in self.metadata.items()
        } or None

    def storage_schema(self) -> pa.Schema:
        """The schema of the arrays that files hold: no extension types, no metadata."""
        return self.derived("storage", self._storage_schema)

    def _storage_schema(self) -> pa.Schema:
        plain = self._plain
        return pa.schema(
            plain.to_arrow() if plain else [field.storage_field() for field in self.fields]
        )

    @property
    def names(self) -> list[str]:
        """Names of the top-level fields."""
        plain = self._plain
        return plain.names() if plain else [field.name for field in self.fields]

    def walk(self) -> Iterator[Field]:
        """Every field of the tree, parents first."""
        for field in self.fields:
            yield from field.walk()

    @property
    def field_ids(self) -> list[int]:
        """Ids of all fields in `walk` order."""
        plain = self._plain
        return plain.ids.tolist() if plain else [field.id for field in self.walk()]

    @property
    def plain_ids(self) -> Mapping[str, int]:
        """The ids of the fields by name; of equal names the first counts. Empty: see `is_plain`."""
        plain = self._plain
        if plain is None:
            return {}
        return self.derived(
            "plain ids",
            lambda: dict(zip(plain.names()[::-1], plain.ids[::-1].tolist(), strict=True)),
        )

    @property
    def max_field_id(self) -> int:
        """The highest id, -1 if there are no fields."""
        return max(self.field_ids, default=UNASSIGNED)

    def field_by_id(self, id_: int) -> Field | None:
        """The field with this id at any depth, or None."""
        lineage = self._lineages.get(id_)
        return lineage[-1] if lineage else None

    def field_by_path(self, path: str) -> Field | None:
        """The field at a dotted path, e.g. ``point.x``; None if there is none.

        A top-level column is also found by its unquoted name, even if that contains dots.
        """
        lineage = self.lineage(path)
        return lineage[-1] if lineage else None

    def lineage(self, path: str) -> tuple[Field, ...]:
        """The fields from the top level down to ``path``; empty if there is no such field."""
        top = self.tops.get(path)
        if top is not None:
            return (top,)
        lineage: list[Field] = []
        for name in parse_path(path):
            field = lineage[-1].child(name) if lineage else self.tops.get(name)
            if field is None:
                return ()
            lineage.append(field)
        return tuple(lineage)

    def path_of(self, id_: int) -> str:
        """The dotted path of a field; raises `InvalidInputError` if no field has the id."""
        lineage = self._lineages.get(id_)
        if lineage is None:
            raise InvalidInputError(f"no field has id {id_}")
        return format_path([field.name for field in lineage])

    @property
    def tops(self) -> Mapping[str, Field]:
        """The top-level fields by name; of equal names the first counts."""
        return self.derived("tops", lambda: {field.name: field for field in self.fields[::-1]})

    @property
    def _lineages(self) -> Mapping[int, tuple[Field, ...]]:
        """The fields from the top level down to each field, by id; a repeated id is ignored."""
        return self.derived("lineages", lambda: _lineages(self.fields))

    def project(self, paths: Sequence[str]) -> Schema:
        """The schema with only the fields at ``paths`` and their descendants, in that order.

        Several paths into one column give one column, at the place of the first path; its fields
        keep the schema's order. Raises `InvalidInputError` naming a path that does not exist.
        """
        lineages = [self.lineage(path) for path in paths]
        for path, lineage in zip(paths, lineages, strict=True):
            if not lineage:
                there = ", ".join(map(repr, self.names[:20]))
                raise InvalidInputError(f"there is no column {path!r}; columns: {there}")
        return dataclasses.replace(self, fields=project_lineages(lineages))

    def with_metadata(self, metadata: Mapping[str, str]) -> Schema:
        """The same fields with other metadata; the schema itself if it has this metadata."""
        if metadata == self.metadata:
            return self
        plain = self._plain
        if plain is not None:
            return Schema.from_plain(plain, metadata)
        return dataclasses.replace(self, metadata=metadata)

    def with_changed_fields(self, change: Callable[[Field], Field]) -> Schema:
        """This schema with ``change`` applied to its fields; itself if no field changes.

        ``change`` returns fields without children, metadata and dictionaries as they are.
        """
        if self.is_plain:
            return self
        fields = tuple(map(change, self.fields))
        is_same = all(new is old for new, old in zip(fields, self.fields, strict=True))
        return self if is_same else dataclasses.replace(self, fields=fields)

    def without_ids(self, ids: Iterable[int]) -> Schema:
        """The schema without these fields; a parent that loses all children is removed too."""
        plain = self._plain
        if plain is not None:
            return Schema.from_plain(plain.without(ids), self.metadata)
        return dataclasses.replace(self, fields=without_ids(self.fields, frozenset(ids)))


def _new_schema(schema: pa.Schema, first_id: int) -> Schema:
    try:
        metadata = {k.decode(): v.decode() for k, v in (schema.metadata or {}).items()}
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"the schema's metadata is not valid UTF-8: {error}") from error
    if len(schema) >= MIN_PLAIN_FIELDS:
        from lance_core.schema.plain_fields import plain_from_arrow

        plain = plain_from_arrow(schema, first_id)
        if plain is not None:
            made = Schema.from_plain(plain, metadata)
            made.derived("storage", schema.remove_metadata)
            return made
    return Schema(fields_from_arrow(list(schema), itertools.count(first_id)), metadata)


class _ArrowKey:
    """An Arrow schema that is equal to others with the same fields and metadata."""

    __slots__ = ("schema",)

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        # The types of extensions need not be hashable.
        return hash(tuple(self.schema.names))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ArrowKey) and bool(
            self.schema.equals(other.schema, check_metadata=True)
        )


@lru_cache(maxsize=32)
def _recent_schema(key: _ArrowKey, first_id: int) -> Schema:
    return _new_schema(key.schema, first_id)


def _lineages(fields: Sequence[Field]) -> dict[int, tuple[Field, ...]]:
    lineages: dict[int, tuple[Field, ...]] = {}
    waiting: list[tuple[Field, ...]] = [(field,) for field in fields[::-1]]
    while waiting:
        lineage = waiting.pop()
        lineages.setdefault(lineage[-1].id, lineage)
        waiting += [(*lineage, child) for child in lineage[-1].children[::-1]]
    return lineages
