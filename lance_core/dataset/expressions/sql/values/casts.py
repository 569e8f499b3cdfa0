"""CAST and TRY_CAST, and the SQL names of types; `conversions` has the kernel."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.node import (
    CastTo,
    Constant,
    Node,
    call,
    null,
    with_metadata,
    with_nullable,
)
from lance_core.dataset.expressions.sql.parser.syntax import TypeName
from lance_core.dataset.expressions.sql.values import intervals, literals
from lance_core.dataset.expressions.sql.values.coerce import is_text, plain
from lance_core.dataset.expressions.sql.values.conversions import caster
from lance_core.dataset.expressions.sql.values.decimals import MAX_DIGITS, decimal_type
from lance_core.dataset.expressions.sql.values.exact import exact_decimal
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

_SIMPLE: dict[str, pa.DataType] = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), pa.bool_()),
    **dict.fromkeys(("TINYINT", "INT1", "BYTE"), pa.int8()),
    **dict.fromkeys(("SMALLINT", "INT2", "INT16", "SHORT"), pa.int16()),
    **dict.fromkeys(("INT", "INTEGER", "INT4", "INT32"), pa.int32()),
    **dict.fromkeys(("BIGINT", "INT64", "LONG"), pa.int64()),
    "TINYINT UNSIGNED": pa.uint8(),
    "SMALLINT UNSIGNED": pa.uint16(),
    **dict.fromkeys(("INT UNSIGNED", "INTEGER UNSIGNED", "UINT"), pa.uint32()),
    "BIGINT UNSIGNED": pa.uint64(),
    **dict.fromkeys(("FLOAT", "FLOAT4", "REAL"), pa.float32()),
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "FLOAT8"), pa.float64()),
    **dict.fromkeys(("STRING", "TEXT", "STR", "CLOB", "VARCHAR", "LONGVARCHAR"), pa.string()),
    **dict.fromkeys(("CHAR VARYING", "CHARACTER VARYING", "VARCHAR2"), pa.string()),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB", "BYTEA"), pa.binary()),
    "DATE": pa.date32(),
    "TIME": pa.time64("ns"),
    "INTERVAL": pa.month_day_nano_interval(),
}
_ARROW_NAMES: dict[str, pa.DataType] = {
    **{
        f"{kind}{bits}": getattr(pa, f"{kind.lower()}{bits}")()
        for kind in ("Int", "UInt")
        for bits in (8, 16, 32, 64)
    },
    "Float16": pa.float16(),
    "Float32": pa.float32(),
    "Float64": pa.float64(),
    "Boolean": pa.bool_(),
    "Utf8": pa.string(),
    "LargeUtf8": pa.large_string(),
    "Binary": pa.binary(),
    "LargeBinary": pa.large_binary(),
    "Utf8View": pa.string_view(),
    "BinaryView": pa.binary_view(),
    "Date32": pa.date32(),
    "Date64": pa.date64(),
}
"""The names of types in ``arrow_cast``, as DataFusion has them."""
_ARROW_TYPE = re.compile(
    r"""(?P<name>\w+)\(\s*(?P<first>\w+)\s*
    (?:,\s*(?:None|(?:Some\()?\s*"(?P<zone>[^"]+)"\s*\)?|(?P<second>\w+))\s*)?\)""",
    re.VERBOSE,
)
_UNIT_NAMES = {"Second": "s", "Millisecond": "ms", "Microsecond": "us", "Nanosecond": "ns"}
_WITH_TIME_UNIT = {"Duration": pa.duration, "Time32": pa.time32, "Time64": pa.time64}
_TIME_UNITS = {
    *((unit, "Duration") for unit in ("s", "ms", "us", "ns")),
    *(("s", "Time32"), ("ms", "Time32"), ("us", "Time64"), ("ns", "Time64")),
}
_WITH_UNIT = ("TIMESTAMP", "DATETIME")
_DECIMAL = ("DECIMAL", "DEC", "NUMERIC", "NUMBER", "FIXED")
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}


def arrow_type(written: TypeName) -> pa.DataType:
    """The Arrow type for an SQL name like ``bigint`` or ``decimal(10, 2)``.

    Raises `UnsupportedFeatureError` for an unknown name.
    """
    name, numbers = written.name, written.numbers
    if name in _SIMPLE and not numbers:
        return _SIMPLE[name]
    if name in _WITH_UNIT and (not numbers or numbers[0] in _UNITS):
        return pa.timestamp(_UNITS[numbers[0]] if numbers else "us")
    if name in _DECIMAL and len(numbers) in (1, 2) and 1 <= numbers[0] <= MAX_DIGITS:
        scale = numbers[1] if len(numbers) == 2 else 0
        if scale <= numbers[0]:
            return decimal_type(numbers[0], scale)
    arguments = f"({', '.join(map(str, numbers))})" if numbers else ""
    raise UnsupportedFeatureError(f"the type {name}{arguments} is not supported in CAST")


def arrow_cast(node: Node, name: Node) -> Node:
    """``node`` cast to the Arrow type ``name``, such as ``'Timestamp(Second, None)'``.

    Raises `UnsupportedFeatureError` for other types.
    """
    return cast(node, _arrow_type(name))


def arrow_try_cast(node: Node, name: Node) -> Node:
    """`arrow_cast`, with NULL for values that do not fit."""
    return cast(node, _arrow_type(name), strict=False)


def _arrow_type(name: Node) -> pa.DataType:
    if not isinstance(name, Constant) or not is_text(name.type) or name.is_null:
        raise UnsupportedFeatureError("arrow_cast to a type that is not a literal")
    text = name.value.as_py()
    kind = _named_type(text.strip())
    if kind is None:
        raise UnsupportedFeatureError(f"arrow_cast to {text!r}")
    return kind


def _named_type(text: str) -> pa.DataType | None:
    if text in _ARROW_NAMES:
        return _ARROW_NAMES[text]
    match = _ARROW_TYPE.fullmatch(text)
    if match is None:
        return None
    name, first, second = match["name"], match["first"], match["second"]
    unit = _UNIT_NAMES.get(first, first)
    if name in _WITH_TIME_UNIT and (unit, name) in _TIME_UNITS and second is None:
        return _WITH_TIME_UNIT[name](unit)
    if name == "Timestamp" and unit in _UNITS.values():
        return pa.timestamp(unit, match["zone"])
    if name == "Dictionary" and first in _ARROW_NAMES and second in _ARROW_NAMES:
        return pa.dictionary(_ARROW_NAMES[first], _ARROW_NAMES[second])
    if name == "FixedSizeBinary" and first.isdecimal() and second is None:
        return pa.binary(int(first[:9])) if int(first[:9]) else None
    digits = {"Decimal128": 38, "Decimal256": MAX_DIGITS}.get(name, 0)
    is_decimal = first.isdecimal() and second is not None and second.isdecimal()
    if not is_decimal or not 1 <= int(first[:3]) <= digits or int(second[:3]) > digits:
        return None
    return (pa.decimal128 if digits == 38 else pa.decimal256)(int(first), int(second))


def cast(node: Node, kind: pa.DataType, strict: bool = True) -> Node:
    """``node`` cast to ``kind``; a value that does not fit is an error, or NULL if not ``strict``.

    A cast of numbers to integers drops the fraction, one to decimals rounds; a cast of timestamps
    drops digits finer than the unit. The metadata of a column stays. Raises `InvalidInputError` for
    types that cannot be cast.
    """
    result = with_metadata(_cast_node(plain(node), kind, strict), node.metadata)
    return result if strict else with_nullable(result, True)


def _cast_node(node: Node, kind: pa.DataType, strict: bool) -> Node:
    if isinstance(node, Constant):
        if node.is_null:
            return null(kind)
        if strict and is_text(node.type):
            read = _reader(kind)
            if read is not None:
                return read(node.value.as_py())
        if pa.types.is_decimal(kind):
            node = exact_decimal(node) or node
    if pa.types.is_nested(node.type) and not (pa.types.is_nested(kind) or is_text(kind)):
        raise InvalidInputError(f"{node.type} cannot be cast to {kind}")
    return call(CastTo(kind, strict), caster(kind, strict), node)


def _reader(kind: pa.DataType) -> Callable[[str], Constant] | None:
    """The parser of string literals for times, timestamps and intervals, None for other types.

    Unlike the kernel, it keeps digits that are finer than the unit, so comparisons are exact.
    """
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return functools.partial(literals.timestamp, unit=kind.unit)
    if pa.types.is_interval(kind):
        return intervals.literal
    return literals.time if pa.types.is_time(kind) else None
