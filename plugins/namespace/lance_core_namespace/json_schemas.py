"""Arrow schemas in the JSON of descriptions of tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_NAMES = {
    pa.string(): "utf8",
    pa.large_string(): "large_utf8",
    pa.float16(): "float16",
    pa.float32(): "float32",
    pa.float64(): "float64",
}


def json_schema(schema: pa.Schema) -> dict[str, Any]:
    """The fields of a schema, with their metadata."""
    made: dict[str, Any] = {"fields": [_field(schema.field(i)) for i in range(len(schema))]}
    return _with_metadata(made, schema.metadata)


def _field(field: pa.Field) -> dict[str, Any]:
    made = {"name": field.name, "nullable": field.nullable, "type": _type(field.type)}
    return _with_metadata(made, field.metadata)


def _type(type_: pa.DataType) -> dict[str, Any]:
    if isinstance(type_, pa.BaseExtensionType):
        return _type(type_.storage_type)
    if pa.types.is_dictionary(type_):
        return _type(type_.value_type)
    if pa.types.is_fixed_size_list(type_):
        fields = [_field(type_.value_field)]
        return {"type": "fixed_size_list", "fields": fields, "length": type_.list_size}
    if pa.types.is_map(type_):
        entries = pa.struct([type_.key_field, type_.item_field])
        return {"type": "map", "fields": [_field(pa.field("entries", entries, nullable=False))]}
    for test, name in _NESTED:
        if test(type_):
            members = [type_.field(i) for i in range(type_.num_fields)]
            return {"type": name, "fields": [_field(member) for member in members]}
    if pa.types.is_decimal(type_):
        length = type_.precision * 1000 + type_.scale
        return {"type": f"decimal{type_.bit_width}", "length": length}
    if pa.types.is_fixed_size_binary(type_):
        return {"type": "fixed_size_binary", "length": type_.byte_width}
    return {"type": _NAMES.get(type_, str(type_).partition("[")[0])}


_NESTED = (
    (pa.types.is_large_list, "large_list"),
    (pa.types.is_list, "list"),
    (pa.types.is_struct, "struct"),
)


def _with_metadata(made: dict[str, Any], metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    if metadata:
        made["metadata"] = {
            key.decode(errors="replace"): value.decode(errors="replace")
            for key, value in metadata.items()
        }
    return made
