"""Logical types: the text that a schema field stores for its Arrow type.

The text is the ``logical_type`` of ``lance.file.Field`` (``protos/file.proto``). The text of a
nested type is only its kind (``struct``, ``list.struct``, ``map``); child fields give the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError

JSON = "json"
BFLOAT16 = "lance.bfloat16"

STRUCTS = frozenset({"struct"})
LISTS = frozenset({"list", "list.struct"})
LARGE_LISTS = frozenset({"large_list", "large_list.struct"})
FIXED_SIZE_LIST_OF_STRUCT = "fixed_size_list:struct:"

MAX_FIXED_SIZE_LIST_NESTING = 32
"""Maximum depth of nested fixed size lists in a column, in files of any version."""
_MAX_INT32 = (1 << 31) - 1
_UNITS = ("s", "ms", "us", "ns")

SIMPLE: Mapping[str, pa.DataType] = {
    "null": pa.null(),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "uint8": pa.uint8(),
    "int16": pa.int16(),
    "uint16": pa.uint16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "halffloat": pa.float16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "date32:day": pa.date32(),
    "date64:ms": pa.date64(),
    "time32:s": pa.time32("s"),
    "time32:ms": pa.time32("ms"),
    "time64:us": pa.time64("us"),
    "time64:ns": pa.time64("ns"),
    **{f"duration:{unit}": pa.duration(unit) for unit in _UNITS},
}
_TEXT_OF: Mapping[pa.DataType, str] = {
    **{arrow: text for text, arrow in SIMPLE.items()},
}
_DICTIONARY_VALUES = frozenset(text for text in SIMPLE if ":" not in text)
_DICTIONARY_KEYS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def storage_type_of(text: str) -> pa.DataType:
    """The Arrow type that stores values of ``text``, a logical type without child fields.

    JSON is stored as ``large_binary``; a bfloat16 item as ``fixed_size_binary(2)``. Raises
    `UnsupportedFeatureError` for an unknown type and `CorruptFileError` for invalid parameters.
    """
    return _parse(text, MAX_FIXED_SIZE_LIST_NESTING)


def _parse(text: str, depth: int) -> pa.DataType:
    simple = SIMPLE.get(text)
    if simple is not None:
        return simple
    if text == JSON:
        return pa.large_binary()
    name, _, parameters = text.partition(":")
    if name == "fixed_size_list":
        return _fixed_size_list(text, parameters, depth)
    parser = _PARSERS.get(name)
    if parser is None:
        raise UnsupportedFeatureError(f"unknown logical type {_shown(text)}")
    return parser(text, parameters)


def fixed_size_list_parts(text: str) -> tuple[str, int]:
    """Item type and dimension of the logical type ``fixed_size_list:<item>:<dimension>``.

    Raises `CorruptFileError` if a part is missing or the dimension is not from 1 to 2**31 - 1.
    """
    item, _, dimension = text.partition(":")[2].rpartition(":")
    if not item:
        raise CorruptFileError(f"logical type {_shown(text)} lacks an item type or a dimension")
    return item, _integer(text, dimension, 1, _MAX_INT32)


def _fixed_size_list(text: str, parameters: str, depth: int) -> pa.DataType:
    if depth == 0:
        raise CorruptFileError(f"logical type {_shown(text)} has too many nested fixed-size lists")
    item, dimension = fixed_size_list_parts(text)
    value = pa.binary(2) if item == BFLOAT16 else _parse(item, depth - 1)
    return pa.list_(pa.field("item", value), dimension)


def _fixed_size_binary(text: str, parameters: str) -> pa.DataType:
    return pa.binary(_integer(text, parameters, 0, _MAX_INT32))


def _timestamp(text: str, parameters: str) -> pa.DataType:
    # A time zone may contain colons, e.g. "+01:00".
    unit, colon, zone = parameters.partition(":")
    if unit not in _UNITS or not colon:
        raise CorruptFileError(f"logical type {_shown(text)} lacks a unit or a time zone")
    return pa.timestamp(unit, tz=None if zone in {"-", ""} else zone)


def _decimal(text: str, parameters: str) -> pa.DataType:
    parts = parameters.split(":")
    if len(parts) != 3:
        raise CorruptFileError(f"logical type {_shown(text)} is not decimal:<bits>:<p>:<s>")
    bits, precision, scale = parts
    if bits not in {"128", "256"}:
        raise UnsupportedFeatureError(
            f"decimals of {bits[:20]} bits are not supported (logical type {_shown(text)})"
        )
    make, widest = (pa.decimal128, 38) if bits == "128" else (pa.decimal256, 76)
    return make(_integer(text, precision, 1, widest), _integer(text, scale, -128, 127))


def _dictionary(text: str, parameters: str) -> pa.DataType:
    parts = parameters.split(":")
    if len(parts) < 3:
        raise CorruptFileError(f"logical type {_shown(text)} is not dict:<value>:<key>:<ordered>")
    value, key, ordered = ":".join(parts[:-2]), parts[-2], parts[-1]
    if key not in _DICTIONARY_KEYS:
        raise CorruptFileError(f"logical type {_shown(text)} has keys that are not integers")
    if ordered not in {"true", "false"}:
        raise CorruptFileError(f"logical type {_shown(text)} is neither ordered nor unordered")
    if value not in _DICTIONARY_VALUES:
        raise UnsupportedFeatureError(
            f"dictionaries with values of type {value[:80]!r} are not supported"
        )
    return pa.dictionary(SIMPLE[key], SIMPLE[value])


_PARSERS: Mapping[str, Callable[[str, str], pa.DataType]] = {
    "fixed_size_binary": _fixed_size_binary,
    "timestamp": _timestamp,
    "decimal": _decimal,
    "dict": _dictionary,
}


def logical_type_of(arrow: pa.DataType) -> str | None:
    """The logical type of an Arrow type without child fields; None if the format has none.

    String and binary views become plain strings and binaries, and dictionaries lose ``ordered``.
    Extension types and nested types, fixed size lists included, give None.
    """
    if pa.types.is_string_view(arrow):
        return "string"
    if pa.types.is_binary_view(arrow):
        return "binary"
    text = _TEXT_OF.get(arrow)
    if text is not None:
        return text
    if pa.types.is_timestamp(arrow):
        # The format writes "-" for no time zone, so a zone named "-" would be ambiguous.
        return None if arrow.tz == "-" else f"timestamp:{arrow.unit}:{arrow.tz or '-'}"
    if pa.types.is_fixed_size_binary(arrow):
        return f"fixed_size_binary:{arrow.byte_width}"
    if pa.types.is_decimal128(arrow) or pa.types.is_decimal256(arrow):
        return f"decimal:{arrow.bit_width}:{arrow.precision}:{arrow.scale}"
    if pa.types.is_dictionary(arrow):
        value = logical_type_of(arrow.value_type)
        key = logical_type_of(arrow.index_type)
        return f"dict:{value}:{key}:false" if value in _DICTIONARY_VALUES else None
    return None


def encoding_of(text: str) -> int:
    """The ``lance.file.Encoding`` number of a logical type; only readers of 0.1 files use it."""
    if text in {"string", "large_string", "binary", "large_binary", JSON}:
        return 2
    if text.startswith("dict:"):
        return 3
    return 0 if text in {"null", "struct"} else 1


def _integer(text: str, digits: str, least: int, most: int) -> int:
    # At most 10 ASCII digits: int() is slow for long text and accepts "1_0" and other scripts.
    if re.fullmatch(r"-?[0-9]{1,10}", digits) is None or not least <= int(digits) <= most:
        raise CorruptFileError(
            f"logical type {_shown(text)}: {digits[:20]!r} is not a number from {least} to {most}"
        )
    return int(digits)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:120] + "…")


def without_views(type_: pa.DataType) -> pa.DataType:
    """The type with strings and binary values in place of views of them, at all levels.

    Extension types are left as they are.
    """
    types = pa.types
    if types.is_string_view(type_):
        return pa.string()
    if types.is_binary_view(type_):
        return pa.binary()
    if types.is_struct(type_):
        return pa.struct([_plain(member) for member in type_])
    if types.is_list(type_):
        return pa.list_(_plain(type_.value_field))
    if types.is_large_list(type_):
        return pa.large_list(_plain(type_.value_field))
    if types.is_fixed_size_list(type_):
        return pa.list_(_plain(type_.value_field), type_.list_size)
    if types.is_map(type_):
        return pa.map_(_plain(type_.key_field), _plain(type_.item_field), type_.keys_sorted)
    if types.is_dictionary(type_):
        values = without_views(type_.value_type)
        return pa.dictionary(type_.index_type, values, type_.ordered)
    return type_


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(without_views(field.type))
