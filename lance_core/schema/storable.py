"""Check that a version of the file format can store a schema."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.file_version import StorableTypes, find_version
from lance_core.schema.field import Field
from lance_core.schema.path import format_path
from lance_core.schema.tree import Schema

RESERVED_NAMES = frozenset(
    {
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
    }
)
"""Names of the system columns that scans can return."""


def check_storable(schema: Schema, version: str) -> None:
    """Raise an error if files of ``version`` ("0.1" to "2.2") cannot store this schema.

    Raises `InvalidInputError` for a reserved column name, and `UnsupportedFeatureError` for an
    unknown version or a type that the version has no encoding for, naming the path of the field.
    """
    schema.derived(f"storable in {version}", lambda: _check_schema(schema, version))


def _check_schema(schema: Schema, version: str) -> None:
    stores = _types_of(version)
    for name in schema.names:
        if name in RESERVED_NAMES:
            raise InvalidInputError(f"column name {name!r} is reserved")
    storable: set[tuple[str, pa.DataType]] = set()
    for field in schema.first_of_types():
        key = field.logical_type, field.storage_type
        is_unmarked = field.is_unmarked
        if not (is_unmarked and key in storable):
            _check(field, stores, version, ())
        if is_unmarked:
            storable.add(key)


def check_field(field: Field, version: str, parents: tuple[str, ...] = ()) -> None:
    """`check_storable` for one field below ``parents``; reserved names are allowed."""
    _check(field, _types_of(version), version, parents)


def _types_of(version: str) -> StorableTypes:
    known = find_version(version)
    if known is None:
        raise UnsupportedFeatureError(f"files of version {version!r} cannot be written")
    return known.stores


def _check(field: Field, stores: StorableTypes, version: str, parents: tuple[str, ...]) -> None:
    path = (*parents, field.name)
    for problem in _CHECKS:
        reason = problem(field, stores)
        if reason:
            raise UnsupportedFeatureError(
                f"field {format_path(path)}: files of version {version} cannot store {reason}"
            )
    for child in field.children:
        _check(child, stores, version, path)


def _map(field: Field, stores: StorableTypes) -> str:
    return "maps (version 2.2 can)" if field.is_map and not stores.maps else ""


def _fixed_size_list(field: Field, stores: StorableTypes) -> str:
    arrow = field.storage_type
    if not pa.types.is_fixed_size_list(arrow):
        return ""
    item, depth = arrow.value_type, 1
    while pa.types.is_fixed_size_list(item):
        item, depth = item.value_type, depth + 1
    if stores.max_fixed_size_lists is not None and depth > stores.max_fixed_size_lists:
        return f"{depth} lists of fixed size within each other (version 2.1 can)"
    if pa.types.is_struct(item):
        if not stores.fixed_size_lists_of_structs:
            return "fixed size lists of structs (version 2.2 can)"
        nested = any(below.is_list or below.is_map for below in field.walk())
        return "lists or maps inside a fixed size list of structs" if nested else ""
    return "" if _has_fixed_width(item) or pa.types.is_null(item) else f"fixed size lists of {item}"


def _fixed_size_binary(field: Field, stores: StorableTypes) -> str:
    empty = field.logical_type == "fixed_size_binary:0" and not stores.empty_binary
    return "binary values of size 0 (version 2.2 can)" if empty else ""


def _blob(field: Field, stores: StorableTypes) -> str:
    if field.extension_name == "lance.blob.v2" and not stores.blobs_v2:
        return "blobs of version 2 (version 2.2 can)"
    if not field.is_blob or stores.blobs_v2 or pa.types.is_large_binary(field.storage_type):
        return ""
    return f"blobs of type {field.storage_type}; only large_binary"


def _packed(field: Field, stores: StorableTypes) -> str:
    if not field.is_packed_struct or not stores.packed_structs:
        return ""
    for child in field.children:
        arrow = child.storage_type
        in_list = pa.types.is_fixed_size_list(arrow)
        while pa.types.is_fixed_size_list(arrow):
            arrow = arrow.value_type
        variable = not _has_fixed_width(arrow)
        never = pa.types.is_boolean(arrow) or pa.types.is_struct(arrow)
        unpacked = variable and not stores.packed_strings
        if never or unpacked or (in_list and not stores.packed_fixed_size_lists):
            return f"packed structs with a member of type {child.storage_type}"
    return ""


def _any_blob(field: Field, stores: StorableTypes) -> str:
    return "blobs (version 2.0 can)" if field.is_blob and not stores.blobs else ""


def _empty_struct(field: Field, stores: StorableTypes) -> str:
    is_empty = field.is_struct and not field.children
    return (
        "structs without members (version 2.0 can)" if is_empty and not stores.empty_structs else ""
    )


def _nulls_in_lists(field: Field, stores: StorableTypes) -> str:
    arrow = field.storage_type
    if stores.fixed_size_lists_of_nulls or not pa.types.is_fixed_size_list(arrow):
        return ""
    return "fixed size lists of nulls (version 2.0 can)" if "null" in str(arrow) else ""


def _dictionary(field: Field, stores: StorableTypes) -> str:
    arrow = field.storage_type
    if stores.all_dictionaries or not pa.types.is_dictionary(arrow):
        return ""
    values = arrow.value_type
    is_storable = pa.types.is_integer(values) or _is_variable(values)
    return "" if is_storable else f"dictionaries of {values}"


def _is_variable(arrow: pa.DataType) -> bool:
    return str(arrow) in ("string", "binary", "large_string", "large_binary")


def _has_fixed_width(arrow: pa.DataType) -> bool:
    tests = (pa.types.is_primitive, pa.types.is_fixed_size_binary, pa.types.is_decimal)
    return any(test(arrow) for test in tests)


_CHECKS: tuple[Callable[[Field, StorableTypes], str], ...] = (
    _map,
    _fixed_size_list,
    _fixed_size_binary,
    _blob,
    _packed,
    _any_blob,
    _empty_struct,
    _nulls_in_lists,
    _dictionary,
)
