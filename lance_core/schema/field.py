"""One node of a table's schema (``lance.file.Field``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import extension, logical_type

UNASSIGNED = -1
"""Id of a field that has none yet, and parent id of a top-level field."""

MAX_NESTING = 100
"""Most fields within each other, the top-level one included, in files of any version.

Schemas from Arrow, manifests and data files are refused above it, and decoders go as deep.
"""

BLOB_KEY = "lance-encoding:blob"
_PACKED_KEYS = ("packed", "lance-encoding:packed")
_PACKED_VALUES = frozenset({"true", "yes", "1"})


class DictionaryValues(NamedTuple):
    """Where a 0.1 table keeps the values of a dictionary column.

    ``offset`` in bytes from the start of the file that holds the schema, ``length`` in values.
    """

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a part of a nested column.

    ``children`` are the members of a struct, the one item of a list, the one ``entries`` of a map.
    ``metadata`` is Arrow's field metadata; an extension type's name and parameters are in it. Bytes
    that are not UTF-8 appear as surrogate escapes and are written back unchanged. ``encoding`` is a
    ``lance.file.Encoding`` number, ``unknown`` holds the message's fields that have no attribute
    here; both are only carried along. Key positions count from 1; 0 means none.
    ``dictionary_values`` are those of a dictionary column of a 0.1 table, None where they are not
    known; two fields that differ in nothing else are equal.
    """

    name: str
    logical_type: str
    nullable: bool = True
    id: int = UNASSIGNED
    parent_id: int = UNASSIGNED
    children: tuple[Field, ...] = ()
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    encoding: int = 0
    dictionary: DictionaryValues | None = None
    unenforced_primary_key: bool = False
    unenforced_primary_key_position: int = 0
    unenforced_clustering_key_position: int = 0
    unknown: bytes = b""
    dictionary_values: pa.Array | None = dataclasses.field(
        default=None, repr=False, compare=False, kw_only=True
    )
    _storage: list[pa.DataType] = dataclasses.field(
        default_factory=list, init=False, repr=False, compare=False
    )
    _arrow: list[pa.Field] = dataclasses.field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @property
    def extension_name(self) -> str:
        """Name of the Arrow extension type, "" for a plain field."""
        return self.metadata.get(extension.NAME_KEY, "")

    @property
    def is_leaf(self) -> bool:
        """Whether the field has no child fields (a list of floats of fixed size has none)."""
        return not self.children

    @property
    def is_struct(self) -> bool:
        return self.logical_type in logical_type.STRUCTS

    @property
    def is_list(self) -> bool:
        """Whether this is a list with 32 or 64 bit offsets; not a map, not of fixed size."""
        return self.logical_type in logical_type.LISTS | logical_type.LARGE_LISTS

    @property
    def is_map(self) -> bool:
        return self.logical_type == "map"

    @property
    def is_json(self) -> bool:
        """Whether values are JSON: text in Arrow, binary JSON in files."""
        return self.logical_type == logical_type.JSON

    @property
    def is_packed_struct(self) -> bool:
        """Whether this is a struct that asks to be stored row by row, in one column."""
        return self.may_be_packed and any(
            self.metadata.get(key, "").lower() in _PACKED_VALUES for key in _PACKED_KEYS
        )

    @property
    def may_be_packed(self) -> bool:
        """Whether some writer may have stored this struct row by row.

        pylance also does so if the marking says no; then the files alone tell what was done.
        """
        return self.is_struct and any(key in self.metadata for key in _PACKED_KEYS)

    @property
    def is_blob(self) -> bool:
        """Whether values are stored out of line and scans give descriptions of them."""
        return BLOB_KEY in self.metadata

    @property
    def storage_type(self) -> pa.DataType:
        """Arrow type of the arrays that files hold: no extension type at any depth.

        Raises `UnsupportedFeatureError` for an unknown logical type and `CorruptFileError` for one
        that contradicts itself or its children.
        """
        if not self._storage:
            self._storage.append(self._nested_type([c.storage_field() for c in self.children]))
        return self._storage[0]

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type that users see, with registered extension types. Raises as `to_arrow`."""
        return self.to_arrow().type

    @property
    def _may_be_null(self) -> bool:
        """Nullability in Arrow, where a field of type null is always nullable."""
        return self.nullable or self.logical_type == "null"

    def storage_field(self) -> pa.Field:
        """The field as files hold it: `storage_type`, and no metadata."""
        return pa.field(self.name, self.storage_type, self._may_be_null)

    def to_arrow(self) -> pa.Field:
        """The field as users see it. Raises as `storage_type` does."""
        if not self._arrow:
            self._arrow.append(self._to_arrow())
        return self._arrow[0]

    def _to_arrow(self) -> pa.Field:
        arrow = self._nested_type([child.to_arrow() for child in self.children])
        marks = dict(self.metadata)
        if self.is_json:
            arrow = pa.string()
            marks[extension.NAME_KEY] = extension.ARROW_JSON
        elif self.logical_type.startswith("fixed_size_list:"):
            arrow = _with_bfloat16_items(arrow, self.logical_type)
        if not marks:
            return pa.field(self.name, arrow, self._may_be_null)
        encoded = {_encoded(key): _encoded(value) for key, value in marks.items()}
        plain = pa.field(self.name, arrow, self._may_be_null, metadata=encoded)
        return extension.resolved(plain) if extension.NAME_KEY in marks else plain

    def _nested_type(self, children: list[pa.Field]) -> pa.DataType:
        """This field's type around the given child fields."""
        text = self.logical_type
        if self.is_struct:
            return pa.struct(children)
        if text in logical_type.LISTS:
            return pa.list_(self._only(children))
        if text in logical_type.LARGE_LISTS:
            return pa.large_list(self._only(children))
        if self.is_map:
            return self._map_type(self._only(children))
        if text.startswith(logical_type.FIXED_SIZE_LIST_OF_STRUCT):
            _, dimension = logical_type.fixed_size_list_parts(text)
            return pa.list_(self._only(children), dimension)
        if children:
            raise CorruptFileError(f"a {text[:80]!r} cannot have child fields", field=self.name)
        return logical_type.storage_type_of(text)

    def _map_type(self, entries: pa.Field) -> pa.DataType:
        if not pa.types.is_struct(entries.type) or entries.type.num_fields != 2:
            raise CorruptFileError(
                "the entries of a map are not a key and a value", field=self.name
            )
        key, value = entries.type.field(0), entries.type.field(1)
        # Arrow has fixed names here, whatever the schema calls the two fields.
        if pa.types.is_null(key.type):
            raise CorruptFileError("the keys of a map are all null", field=self.name)
        return pa.map_(key.with_name("key").with_nullable(False), value.with_name("value"))

    def _only(self, children: list[pa.Field]) -> pa.Field:
        if len(children) != 1:
            raise CorruptFileError(
                f"a {self.logical_type!r} has {len(children)} child fields instead of 1",
                field=self.name,
            )
        return children[0]

    def walk(self) -> Iterator[Field]:
        """This field and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def child(self, name: str) -> Field | None:
        """The first child called ``name``."""
        return next((child for child in self.children if child.name == name), None)

    def with_children(self, children: tuple[Field, ...]) -> Field:
        """This field with other children."""
        return dataclasses.replace(self, children=children)


def _with_bfloat16_items(arrow: pa.DataType, text: str) -> pa.DataType:
    """A fixed size list type, its items marked as bfloat16 where the logical type says so."""
    item_text, dimension = logical_type.fixed_size_list_parts(text)
    if item_text == logical_type.BFLOAT16:
        marks = {extension.NAME_KEY: logical_type.BFLOAT16, extension.PARAMETERS_KEY: ""}
        item = extension.resolved(arrow.value_field.with_metadata(marks))
        return pa.list_(item, dimension)
    if item_text.startswith("fixed_size_list:"):
        inner = _with_bfloat16_items(arrow.value_type, item_text)
        return pa.list_(arrow.value_field.with_type(inner), dimension)
    return arrow


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
