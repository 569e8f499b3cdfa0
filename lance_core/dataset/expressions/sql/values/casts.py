"""CAST and TRY_CAST, and the SQL names of types; `conversions` has the kernel."""

from __future__ import annotations

import functools
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


def cast(node: Node, kind: pa.DataType, strict: bool = True) -> Node:
    """``node`` cast to ``kind``; a value that does not fit is an error, or NULL if not ``strict``.

    A cast of numbers to integers drops the fraction, one to decimals rounds; a cast of timestamps
    drops digits finer than the unit. The metadata of a column stays. Raises `InvalidInputError` for
    types that cannot be cast.
    """
    result = with_metadata(_cast_node(plain(node), kind, strict), node.metadata)
    return result if strict else with_nullable(result, True)


def _cast_node(node: Node, type_: pa.DataType, strict: bool) -> Node:
    if isinstance(node, Constant):
        if node.is_null:
            return null(type_)
        if strict and is_text(node.type):
            read = _reader(type_)
            if read is not None:
                return read(node.value.as_py())
        if pa.types.is_decimal(type_):
            node = exact_decimal(node) or node
    if pa.types.is_nested(node.type) and not (pa.types.is_nested(type_) or is_text(type_)):
        raise InvalidInputError(f"{node.type} cannot be cast to {type_}")
    return call(CastTo(type_, strict), caster(type_, strict), node)


def _reader(type_: pa.DataType) -> Callable[[str], Constant] | None:
    """The parser of string literals for times, timestamps and intervals, None for other types.

    Unlike the kernel, it keeps digits that are finer than the unit, so comparisons are exact.
    """
    if pa.types.is_timestamp(type_) and type_.tz is None:
        return functools.partial(literals.timestamp, unit=type_.unit)
    if pa.types.is_interval(type_):
        return intervals.literal
    return literals.time if pa.types.is_time(type_) else None
