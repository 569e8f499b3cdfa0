"""Convert Arrow schemas to and from the JSON form that the reference library uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError, LanceError, UnsupportedFeatureError
from lance_core.schema import extension, logical_type
from lance_core.schema.field import MAX_NESTING
from lance_core.schema.path import format_path


def schema_to_json(schema: pa.Schema) -> dict[str, Any]:
    """``schema`` as a dictionary of JSON values: ``fields``, and ``metadata`` if it is not empty.

    Raises `UnsupportedFeatureError` naming the field for a type that has no JSON form.
    """
    result: dict[str, Any] = {"fields": [_field_to_json(field, ()) for field in schema]}
    if schema.metadata:
        result["metadata"] = _text(schema.metadata)
    return result


def json_to_schema(schema_json: Mapping[str, Any]) -> pa.Schema:
    """The reverse of `schema_to_json`.

    Raises `InvalidInputError` for a dictionary that does not have this form.
    """
    try:
        fields = [_field_from_json(field, MAX_NESTING) for field in schema_json["fields"]]
        return pa.schema(fields, metadata=schema_json.get("metadata") or None)
    except LanceError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        raise InvalidInputError(f"the text is not the JSON form of a schema: {error!r}") from error


def _field_to_json(field: pa.Field, parents: tuple[str, ...]) -> dict[str, Any]:
    path = (*parents, field.name)
    if len(path) > MAX_NESTING:
        raise UnsupportedFeatureError(
            f"field {format_path(path[:5])}… is nested deeper than {MAX_NESTING} levels"
        )
    arrow = extension.storage_of(field.type)
    result = {
        "name": field.name,
        "type": _type_to_json(arrow, path),
        "nullable": field.nullable,
    }
    metadata = _text(extension.metadata_of(field))
    if metadata:
        result["metadata"] = metadata
    return result


def _type_to_json(arrow: pa.DataType, path: tuple[str, ...]) -> dict[str, Any]:
    if pa.types.is_struct(arrow):
        members = [arrow.field(i) for i in range(arrow.num_fields)]
        return {"type": "struct", "fields": [_field_to_json(member, path) for member in members]}
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        name = "list" if pa.types.is_list(arrow) else "large_list"
        return {"type": name, "fields": [_field_to_json(arrow.value_field, path)]}
    if pa.types.is_fixed_size_list(arrow):
        item = _field_to_json(arrow.value_field, path)
        return {"type": "fixed_size_list", "fields": [item], "length": arrow.list_size}
    if pa.types.is_fixed_size_binary(arrow):
        return {"type": "fixed_size_binary", "length": arrow.byte_width}
    text = logical_type.logical_type_of(arrow)
    if text is None or pa.types.is_string_view(arrow) or pa.types.is_binary_view(arrow):
        raise UnsupportedFeatureError(
            f"field {format_path(path)}: type {str(arrow)[:200]} has no JSON form"
        )
    return {"type": text}


def _field_from_json(value: Mapping[str, Any], depth: int) -> pa.Field:
    if depth == 0:
        raise InvalidInputError(f"the JSON schema is nested deeper than {MAX_NESTING} levels")
    field = pa.field(
        value["name"],
        _type_from_json(value["type"], depth),
        bool(value["nullable"]),
        metadata=value.get("metadata") or None,
    )
    marked = extension.NAME_KEY in (value.get("metadata") or {})
    return extension.resolved(field) if marked else field


def _type_from_json(value: Mapping[str, Any], depth: int) -> pa.DataType:
    name = value["type"]
    fields = [_field_from_json(field, depth - 1) for field in value.get("fields") or []]
    if name == "struct":
        return pa.struct(fields)
    if name == "fixed_size_binary":
        return pa.binary(_length(value))
    if name in {"list", "large_list", "fixed_size_list"}:
        if len(fields) != 1:
            raise InvalidInputError(f"a {name} has {len(fields)} child fields instead of 1")
        if name == "fixed_size_list":
            return pa.list_(fields[0], _length(value))
        return pa.list_(fields[0]) if name == "list" else pa.large_list(fields[0])
    if not isinstance(name, str) or name == logical_type.JSON:
        raise InvalidInputError(f"{name!r} is not a type")
    return logical_type.storage_type_of(name)


def _length(value: Mapping[str, Any]) -> int:
    length = value["length"]
    if not isinstance(length, int) or not 0 <= length < 1 << 31:
        raise InvalidInputError(f"{length!r} is not a valid length")
    return length


def _text(metadata: Mapping[bytes, bytes]) -> dict[str, str]:
    return {
        key.decode("utf-8", "replace"): value.decode("utf-8", "replace")
        for key, value in metadata.items()
    }
