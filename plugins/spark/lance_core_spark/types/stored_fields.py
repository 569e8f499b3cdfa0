"""Stored fields for Spark columns.

A Spark column's metadata may select another Arrow type than the default of its Spark type: by the
field that the column was read from (`ARROW_FIELD_KEY`), or by the keys of the JVM connector.
"""

from __future__ import annotations

import base64
import json

import pyarrow as pa
from pyspark.sql import types as st

from lance_core.errors import InvalidInputError, LanceError
from lance_core.schema import BLOB_KEY, format_path, json_to_schema
from lance_core_spark.types.arrow_types import arrow_type, is_any_list, struct_fields
from lance_core_spark.types.spark_types import (
    ARROW_FIELD_KEY,
    ARROW_PREFIX,
    is_compatible,
    spark_type,
)

LIST_SIZE = "arrow.fixed-size-list.size"
FLOAT16 = "arrow.float16"
LARGE_STRING = "arrow.large_var_char"
"""Keys in a column's metadata that select a type in the JVM connector."""

_STORED_KEYS = ("lance-encoding:", "lance-schema:")
"""Prefixes of the keys in a Spark column's metadata that the stored field keeps."""


def stored_field(field: st.StructField) -> pa.Field:
    """The field of a new table for a Spark column.

    Uses the type in the column's metadata if it still fits the column.
    """
    path = (field.name,)
    default = pa.field(field.name, arrow_type(field.dataType, path), field.nullable)
    read_from = _read_from(field)
    stored_metadata = _stored_metadata(field)
    if read_from is not None:
        arrow = _with_nullability(read_from.type, default.type)
        metadata = {**(read_from.metadata or {}), **stored_metadata}
        return default.with_type(arrow).with_metadata(metadata or None)
    if isinstance(field.dataType, st.StructType):
        inner = [stored_field(member) for member in field.dataType]
        return default.with_type(pa.struct(inner)).with_metadata(stored_metadata or None)
    arrow = _requested_type(default.type, field.metadata or {}, path)
    if BLOB_KEY in stored_metadata and arrow == pa.binary():
        arrow = pa.large_binary()
    return default.with_type(arrow).with_metadata(stored_metadata or None)


def _stored_metadata(field: st.StructField) -> dict[str, str]:
    """The part of the column's metadata that the file writer uses."""
    return {
        # Spark's metadata may contain booleans.
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in (field.metadata or {}).items()
        if key.startswith(_STORED_KEYS)
    }


def _read_from(field: st.StructField) -> pa.Field | None:
    """The stored field that the column was read from, None if it has another type now."""
    text = (field.metadata or {}).get(ARROW_FIELD_KEY)
    if text is None:
        return None
    try:
        found = _parse_schema(text).field(0)
        spark = spark_type(found.type, (field.name,))
    except (LanceError, ValueError, TypeError, IndexError, OSError):
        return None  # Another program wrote this metadata in another form.
    same = is_compatible(spark, field.dataType, check_nulls=False)
    return found if same and is_compatible(field.dataType, spark, check_nulls=False) else None


def _parse_schema(text: str) -> pa.Schema:
    if text.startswith(ARROW_PREFIX):
        encoded = text.removeprefix(ARROW_PREFIX)
        return pa.ipc.read_schema(pa.BufferReader(base64.b64decode(encoded)))
    return json_to_schema(json.loads(text))


def _with_nullability(arrow: pa.DataType, model: pa.DataType) -> pa.DataType:
    """``arrow`` with the nullability of ``model``, which has the same structure."""
    if pa.types.is_struct(arrow):
        return pa.struct(
            _field_with_nullability(member, other)
            for member, other in zip(struct_fields(arrow), struct_fields(model), strict=True)
        )
    if is_any_list(arrow):
        item = _field_with_nullability(arrow.value_field, model.value_field)
        if pa.types.is_fixed_size_list(arrow):
            return pa.list_(item, arrow.list_size)
        return pa.large_list(item) if pa.types.is_large_list(arrow) else pa.list_(item)
    if pa.types.is_map(arrow):
        item = _field_with_nullability(arrow.item_field, model.item_field)
        return pa.map_(arrow.key_field, item, arrow.keys_sorted)
    return arrow


def _field_with_nullability(field: pa.Field, model: pa.Field) -> pa.Field:
    inner = _with_nullability(field.type, model.type)
    return field.with_type(inner).with_nullable(model.nullable)


def _requested_type(
    arrow: pa.DataType, metadata: dict[str, object], path: tuple[str, ...]
) -> pa.DataType:
    """The type that the keys of the JVM connector select.

    Raises `InvalidInputError` for a malformed value.
    """
    size = metadata.get(LIST_SIZE)
    float16 = str(metadata.get(FLOAT16, "")).lower() == "true"
    if pa.types.is_list(arrow):
        item = arrow.value_field
        if float16 and item.type == pa.float32():
            item = item.with_type(pa.float16())
        if size is None:
            return pa.list_(item)
        if not str(size).isdigit() or int(str(size)) < 1:
            raise InvalidInputError(f"column {format_path(path)}: {LIST_SIZE} is {size!r}")
        return pa.list_(item, int(str(size)))
    if float16 and arrow == pa.float32():
        return pa.float16()
    if str(metadata.get(LARGE_STRING, "")).lower() == "true" and arrow == pa.string():
        return pa.large_string()
    return arrow
