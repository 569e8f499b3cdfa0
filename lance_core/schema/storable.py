"""Check that a version of the file format can store a schema."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
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

_MAX_FIXED_SIZE_LISTS_2_0 = 18
"""Maximum depth of nested fixed size lists in a 2.0 file, packed or not.

Each level nests five messages in the page's encoding, and readers accept a depth of 100 messages.
"""

_LEGACY = "0.1"
_VERSIONS = (_LEGACY, "2.0", "2.1", "2.2")


def check_storable(schema: Schema, version: str) -> None:
    """Raise an error if files of ``version`` ("0.1" to "2.2") cannot store this schema.

    Raises `InvalidInputError` for a reserved column name, and `UnsupportedFeatureError` for an
    unknown version or a type that the version has no encoding for, naming the path of the field.
    """
    if version not in _VERSIONS:
        raise UnsupportedFeatureError(f"files of version {version!r} cannot be written")
    for name in schema.names:
        if name in RESERVED_NAMES:
            raise InvalidInputError(f"column name {name!r} is reserved")
    storable = set()
    for field in schema.first_of_types():
        is_plain = not (field.children or field.metadata)
        if not is_plain or field.logical_type not in storable:
            check_field(field, version)
        if is_plain:
            storable.add(field.logical_type)


def check_field(field: Field, version: str, parents: tuple[str, ...] = ()) -> None:
    """`check_storable` for one field below ``parents``; reserved names are allowed."""
    path = (*parents, field.name)
    for problem in _CHECKS:
        reason = problem(field, version)
        if reason:
            raise UnsupportedFeatureError(
                f"field {format_path(path)}: files of version {version} cannot store {reason}"
            )
    for child in field.children:
        check_field(child, version, path)


def _map(field: Field, version: str) -> str:
    return "maps (version 2.2 can)" if field.is_map and version < "2.2" else ""


def _fixed_size_list(field: Field, version: str) -> str:
    arrow = field.storage_type
    if not pa.types.is_fixed_size_list(arrow):
        return ""
    item, depth = arrow.value_type, 1
    while pa.types.is_fixed_size_list(item):
        item, depth = item.value_type, depth + 1
    if version == "2.0" and depth > _MAX_FIXED_SIZE_LISTS_2_0:
        return f"{depth} lists of fixed size within each other (version 2.1 can)"
    if pa.types.is_struct(item):
        if version < "2.2":
            return "fixed size lists of structs (version 2.2 can)"
        nested = any(below.is_list or below.is_map for below in field.walk())
        return "lists or maps inside a fixed size list of structs" if nested else ""
    return "" if _has_fixed_width(item) or pa.types.is_null(item) else f"fixed size lists of {item}"


def _fixed_size_binary(field: Field, version: str) -> str:
    empty = field.logical_type == "fixed_size_binary:0" and version < "2.2"
    return "binary values of size 0 (version 2.2 can)" if empty else ""


def _blob(field: Field, version: str) -> str:
    if field.extension_name == "lance.blob.v2" and version < "2.2":
        return "blobs of version 2 (version 2.2 can)"
    wrong = field.is_blob and version < "2.2" and not pa.types.is_large_binary(field.storage_type)
    return f"blobs of type {field.storage_type}; only large_binary" if wrong else ""


def _packed(field: Field, version: str) -> str:
    if not field.is_packed_struct or version == _LEGACY:
        return ""
    for child in field.children:
        arrow = child.storage_type
        in_list = pa.types.is_fixed_size_list(arrow)
        while pa.types.is_fixed_size_list(arrow):
            arrow = arrow.value_type
        variable = not _has_fixed_width(arrow)
        never = pa.types.is_boolean(arrow) or pa.types.is_struct(arrow)
        if never or (variable and version < "2.2") or (in_list and version == "2.1"):
            return f"packed structs with a member of type {child.storage_type}"
    return ""


def _legacy(field: Field, version: str) -> str:
    if version != _LEGACY:
        return ""
    if field.is_blob:
        return "blobs (version 2.0 can)"
    if field.is_struct and not field.children:
        return "structs without members (version 2.0 can)"
    arrow = field.storage_type
    if pa.types.is_fixed_size_list(arrow):
        return "fixed size lists of nulls (version 2.0 can)" if "null" in str(arrow) else ""
    if not pa.types.is_dictionary(arrow) or pa.types.is_integer(arrow.value_type):
        return ""
    return "" if _is_variable(arrow.value_type) else f"dictionaries of {arrow.value_type}"


def _is_variable(arrow: pa.DataType) -> bool:
    return str(arrow) in ("string", "binary", "large_string", "large_binary")


def _has_fixed_width(arrow: pa.DataType) -> bool:
    tests = (pa.types.is_primitive, pa.types.is_fixed_size_binary, pa.types.is_decimal)
    return any(test(arrow) for test in tests)


_CHECKS: tuple[Callable[[Field, str], str], ...] = (
    _map,
    _fixed_size_list,
    _fixed_size_binary,
    _blob,
    _packed,
    _legacy,
)
