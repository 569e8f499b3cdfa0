"""Stored fields for Spark columns.

A Spark column's metadata may select another Arrow type than the default of its Spark type: by the
field that the column was read from (`ARROW_FIELD_KEY`), or by the keys in `column_options`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping

import pyarrow as pa
from pyspark.sql import types as st

from lance_core.engines import can_cast
from lance_core.errors import InvalidInputError, LanceError
from lance_core.hookspecs.options import hint
from lance_core.schema import BLOB_KEY, format_path, json_to_schema
from lance_core_spark.options.column_options import (
    ARROW_TYPE,
    ENCODING,
    FLOAT16,
    LARGE_STRING,
    LIST_SIZE,
    STORED_KEYS,
)
from lance_core_spark.types.arrow_types import arrow_type, is_any_list, struct_fields
from lance_core_spark.types.spark_types import (
    ARROW_FIELD_KEY,
    ARROW_PREFIX,
    is_compatible,
    spark_type,
)

_STORED_PREFIXES = ("lance-encoding:", "lance-schema:")
"""Prefixes of the keys in a Spark column's metadata that the stored field keeps."""


def stored_field(field: st.StructField, parents: tuple[str, ...] = ()) -> pa.Field:
    """The field of a new table for a Spark column, which may be a member of ``parents``.

    Uses the type in the column's metadata if it still fits the column; so do members of structs.
    Raises `InvalidInputError` for a malformed key of a type or an encoding, and
    `UnsupportedFeatureError` for a type that tables do not have; both name the column.
    """
    path = (*parents, field.name)
    default = pa.field(field.name, arrow_type(field.dataType, path, stored_field), field.nullable)
    metadata = _stored_metadata(field, path)
    read_from = _read_from(field)
    if read_from is not None:
        arrow = _with_nullability(read_from.type, default.type)
        metadata = {**(read_from.metadata or {}), **metadata}
        return default.with_type(arrow).with_metadata(metadata or None)
    arrow = _requested_type(default.type, field.metadata or {}, path)
    if BLOB_KEY in metadata and arrow == pa.binary():
        arrow = pa.large_binary()
    return default.with_type(arrow).with_metadata(metadata or None)


def _stored_metadata(field: st.StructField, path: tuple[str, ...]) -> dict[str, str]:
    """The part of the column's metadata that the file writer uses."""
    metadata = {key: _as_text(value) for key, value in (field.metadata or {}).items()}
    stored = {key: text for key, text in metadata.items() if key.startswith(_STORED_PREFIXES)}
    for key, text in metadata.items():
        if key in STORED_KEYS:
            if not _IS_VALID[key](text):
                raise InvalidInputError(f"column {format_path(path)}: {key} is {text!r}")
            stored[STORED_KEYS[key]] = text
    encoding = metadata.get(ENCODING)
    if encoding is not None:
        if encoding != "blob" or not isinstance(field.dataType, st.BinaryType):
            raise InvalidInputError(
                f"column {format_path(path)}: {ENCODING} is {encoding!r}; the only encoding is "
                "'blob', of a binary column"
            )
        stored[BLOB_KEY] = "true"
    return stored


def _as_text(value: object) -> str:
    """A value of Spark's metadata, which may contain booleans and numbers."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_IS_VALID: Mapping[str, Callable[[str], bool]] = {
    "lance.compression": lambda text: text in ("zstd", "lz4", "fsst", "none"),
    "lance.compression-level": lambda text: text.isdigit(),
    "lance.structural-encoding": lambda text: text in ("miniblock", "fullzip"),
    "lance.rle-threshold": lambda text: bool(re.fullmatch(r"0?\.[0-9]*[1-9][0-9]*|1(\.0*)?", text)),
    "lance.bss": lambda text: text in ("off", "on", "auto"),
}
"""Checks of the values for the file writer, which ignores others."""


def _read_from(field: st.StructField) -> pa.Field | None:
    """The stored field that the column was read from, None if it has another type now."""
    text = (field.metadata or {}).get(ARROW_FIELD_KEY)
    if text is None:
        return None
    try:
        parsed = _parse_schema(text).field(0)
        spark = spark_type(parsed.type, (field.name,))
    except (LanceError, ValueError, TypeError, IndexError, OSError):
        return None  # Another program wrote this metadata in another form.
    same = is_compatible(spark, field.dataType, check_nulls=False)
    return parsed if same and is_compatible(field.dataType, spark, check_nulls=False) else None


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
    arrow: pa.DataType, metadata: Mapping[str, object], path: tuple[str, ...]
) -> pa.DataType:
    """The type that the keys of a column select.

    Raises `InvalidInputError` for a malformed value, and for a key that the column cannot have.
    """
    float16 = _flag(metadata, FLOAT16, path)
    item = arrow.value_field if pa.types.is_list(arrow) else None
    number = arrow if item is None else item.type
    if float16 and number != pa.float32():
        raise InvalidInputError(f"column {format_path(path)}: {FLOAT16} is for float, not {number}")
    if item is not None:
        return _requested_list(item.with_type(pa.float16()) if float16 else item, metadata, path)
    if LIST_SIZE in metadata:
        raise InvalidInputError(f"column {format_path(path)}: {LIST_SIZE} is for arrays")
    if _flag(metadata, LARGE_STRING, path):
        if arrow != pa.string():
            raise InvalidInputError(f"column {format_path(path)}: {LARGE_STRING} is for strings")
        return pa.large_string()
    return pa.float16() if float16 else _named_type(arrow, metadata, path)


def _flag(metadata: Mapping[str, object], key: str, path: tuple[str, ...]) -> bool:
    text = _as_text(metadata.get(key, "false")).lower()
    if text not in ("true", "false"):
        raise InvalidInputError(f"column {format_path(path)}: {key} is {text!r}, not true or false")
    return text == "true"


def _requested_list(
    item: pa.Field, metadata: Mapping[str, object], path: tuple[str, ...]
) -> pa.DataType:
    size = metadata.get(LIST_SIZE)
    if size is None:
        return pa.list_(item)
    if not str(size).isdigit() or int(str(size)) < 1:
        raise InvalidInputError(f"column {format_path(path)}: {LIST_SIZE} is {size!r}")
    return pa.list_(item, int(str(size)))


def _named_type(
    arrow: pa.DataType, metadata: Mapping[str, object], path: tuple[str, ...]
) -> pa.DataType:
    """The type that `ARROW_TYPE` names; values that do not fit it fail the task."""
    name = metadata.get(ARROW_TYPE)
    if name is None:
        return arrow
    try:
        named = pa.type_for_alias(str(name))
    except ValueError:
        raise InvalidInputError(
            f"column {format_path(path)}: {ARROW_TYPE} is {name!r}{hint(str(name), _ALIASES)}"
        ) from None
    if pa.types.is_timestamp(named) and pa.types.is_timestamp(arrow):
        named = pa.timestamp(named.unit, arrow.tz)
    if not can_cast(arrow, named) and arrow != arrow_type(spark_type(named, path), path):
        raise InvalidInputError(
            f"column {format_path(path)}: {ARROW_TYPE} is {name!r}, which cannot store values of "
            f"type {arrow}"
        )
    return named


_ALIASES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "large_string", "large_binary", "date64"),
    *(f"{kind}[{unit}]" for kind in ("timestamp", "duration") for unit in ("s", "ms", "us", "ns")),
    *("time32[s]", "time32[ms]", "time64[us]", "time64[ns]"),
)
"""Names of types that an error lists."""
