"""One node of a table's schema (``lance.file.Field``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import extension, logical_type

T = TypeVar("T")

UNASSIGNED = -1
"""Id of a field without an assigned id, and parent id of a top-level field."""

MAX_NESTING = 100
"""Maximum depth of nested fields, the top-level field included, in files of any version.

Deeper schemas from Arrow, manifests and data files are rejected. The limit is the same for all
versions, and decoders support this depth, so every schema that can be written can be read.
"""

BLOB_KEY = "lance-encoding:blob"
_PACKED_KEYS = ("packed", "lance-encoding:packed")
_PACKED_VALUES = frozenset({"true", "yes", "1"})


class DictionaryValues(NamedTuple):
    """The position of a dictionary column's values in a 0.1 table.

    ``offset`` is in bytes from the start of the file that holds the schema, ``length`` in values.
    """

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a part of a nested column.

    ``children`` are the members of a struct, the single item field of a list, or the single field
    ``entries`` of a map. ``metadata`` is Arrow's field metadata with the name and parameters of an
    extension type; bytes that are not UTF-8 become surrogate escapes and are written back
    unchanged. ``encoding`` is a ``lance.file.Encoding`` number, and ``unknown`` holds the fields of
    the message that have no attribute here; both are written back unchanged. Key positions count
    from 1; 0 means none. ``dictionary_values`` are the values of a dictionary column of a 0.1
    table, or None if they are not loaded; equality ignores them.
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
    _storage: pa.DataType | None = dataclasses.field(
        default=None, init=False, repr=False, compare=False
    )
    _arrow: pa.Field | None = dataclasses.field(default=None, init=False, repr=False, compare=False)
    _derived: dict[str, Any] | None = dataclasses.field(
        default=None, init=False, repr=False, compare=False
    )

    def derived(self, name: str, make: Callable[[], T]) -> T:
        """The value that ``make`` returned at the first call with ``name``; do not change it.

        For values that depend on the field alone, such as how its columns are written. Tables share
        fields between versions, so that they are computed once for each table.
        """
        known = self._derived
        if known is None:
            known = {}
            object.__setattr__(self, "_derived", known)
        if name not in known:
            known.setdefault(name, make())
        value: T = known[name]
        return value

    def __reduce__(self) -> tuple[Callable[..., Field], tuple[dict[str, object]]]:
        """Pickle without the derived values."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        return _from_values, (values,)

    @property
    def extension_name(self) -> str:
        """Name of the Arrow extension type, "" for a plain field."""
        return self.metadata.get(extension.NAME_KEY, "")

    @property
    def is_unmarked(self) -> bool:
        """True if neither the field nor a descendant has metadata: its type says all about it."""
        return not self.metadata and all(child.is_unmarked for child in self.children)

    @property
    def is_leaf(self) -> bool:
        """True if the field has no child fields, like a fixed size list of floats."""
        return not self.children

    @property
    def is_struct(self) -> bool:
        return self.logical_type in logical_type.STRUCTS

    @property
    def is_list(self) -> bool:
        """True for lists with 32 or 64 bit offsets, but not for maps or fixed size lists."""
        return self.logical_type in logical_type.LISTS | logical_type.LARGE_LISTS

    @property
    def is_map(self) -> bool:
        return self.logical_type == "map"

    @property
    def is_json(self) -> bool:
        """True if values are JSON: text in Arrow, binary JSON in files."""
        return self.logical_type == logical_type.JSON

    @property
    def is_packed_struct(self) -> bool:
        """True for a struct whose metadata requests storage row by row in one column."""
        return self.may_be_packed and any(
            self.metadata.get(key, "").lower() in _PACKED_VALUES for key in _PACKED_KEYS
        )

    @property
    def may_be_packed(self) -> bool:
        """True if a writer may have stored this struct row by row.

        pylance does so even if the metadata value is false; only the data files show the layout.
        """
        return self.is_struct and any(key in self.metadata for key in _PACKED_KEYS)

    @property
    def is_blob(self) -> bool:
        """True if values are stored outside of the pages and scans return their descriptions."""
        return BLOB_KEY in self.metadata

    @property
    def storage_type(self) -> pa.DataType:
        """Arrow type of the arrays that files hold: no extension type at any depth.

        Raises `UnsupportedFeatureError` for an unknown logical type and `CorruptFileError` for
        invalid parameters or children that do not fit the logical type.
        """
        storage = self._storage
        if storage is None:
            storage = self._nested_type([child.storage_field() for child in self.children])
            object.__setattr__(self, "_storage", storage)
        return storage

    @property
    def arrow_type(self) -> pa.DataType:
        """Arrow type that users see, with registered extension types. Raises like `to_arrow`."""
        return self.to_arrow().type

    @property
    def _may_be_null(self) -> bool:
        """Nullability in Arrow: a field of type null is always nullable."""
        return self.nullable or self.logical_type == "null"

    def storage_field(self) -> pa.Field:
        """The Arrow field of arrays in files: `storage_type` without metadata."""
        return pa.field(self.name, self.storage_type, self._may_be_null)

    def to_arrow(self) -> pa.Field:
        """The Arrow field that users see. Raises like `storage_type`."""
        arrow = self._arrow
        if arrow is None:
            arrow = self._to_arrow()
            object.__setattr__(self, "_arrow", arrow)
        return arrow

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
        """The Arrow type of this field with the given Arrow child fields."""
        text = self.logical_type
        if not children and (simple := logical_type.SIMPLE.get(text)):
            return simple
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
        # Arrow requires these names; the schema may use others.
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
        """This field and all its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def child(self, name: str) -> Field | None:
        """The first child with this name, or None."""
        return next((child for child in self.children if child.name == name), None)

    def with_children(self, children: tuple[Field, ...]) -> Field:
        """This field with other children."""
        return dataclasses.replace(self, children=children)

    def with_changed_children(self, change: Callable[[Field], Field]) -> Field:
        """This field with ``change`` applied to its children; itself if no child changes."""
        if not self.children:
            return self
        children = tuple(map(change, self.children))
        is_same = all(new is old for new, old in zip(children, self.children, strict=True))
        return self if is_same else self.with_children(children)


def _from_values(values: Mapping[str, Any]) -> Field:
    return Field(**values)


def _with_bfloat16_items(arrow: pa.DataType, text: str) -> pa.DataType:
    """``arrow``, a fixed size list, with bfloat16 items if the logical type ``text`` has them."""
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
