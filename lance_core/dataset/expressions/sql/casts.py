"""CAST, and the SQL names of types."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import literals
from lance_core.dataset.expressions.sql.coerce import converted, is_bytes, is_text, plain
from lance_core.dataset.expressions.sql.node import Constant, Datum, Node, call, null, with_metadata
from lance_core.dataset.expressions.sql.syntax import TypeName
from lance_core.dataset.expressions.sql.value_text import text_kernel
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
}
_ARROW_NAMES: dict[str, pa.DataType] = {
    **{
        f"{kind}{bits}": getattr(pa, f"{kind.lower()}{bits}")()
        for kind in ("Int", "UInt")
        for bits in (8, 16, 32, 64)
    },
    "Float32": pa.float32(),
    "Float64": pa.float64(),
    "Boolean": pa.bool_(),
    "Utf8": pa.string(),
    "LargeUtf8": pa.large_string(),
    "Binary": pa.binary(),
    "LargeBinary": pa.large_binary(),
    "Date32": pa.date32(),
}
"""The names of types in ``arrow_cast``, as DataFusion has them."""
_FIXED_SIZE_BINARY = re.compile(r"FixedSizeBinary\(\s*([1-9][0-9]{0,8})\s*\)")
_WITH_UNIT = ("TIMESTAMP", "DATETIME")
_DECIMAL = ("DECIMAL", "DEC", "NUMERIC", "NUMBER", "FIXED")
_MAX_DIGITS = 76
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
    if name in _DECIMAL and len(numbers) in (1, 2) and 1 <= numbers[0] <= _MAX_DIGITS:
        scale = numbers[1] if len(numbers) == 2 else 0
        make = pa.decimal128 if numbers[0] <= 38 else pa.decimal256
        return make(numbers[0], scale)
    arguments = f"({', '.join(map(str, numbers))})" if numbers else ""
    raise UnsupportedFeatureError(f"the type {name}{arguments} is not supported in CAST")


def arrow_cast(node: Node, name: Node) -> Node:
    """A literal cast to the Arrow type ``name``, such as ``'FixedSizeBinary(16)'``.

    Raises `UnsupportedFeatureError` for other values than literals, and for other types.
    """
    text = str(name.value) if isinstance(name, Constant) and is_text(name.type) else ""
    fixed = _FIXED_SIZE_BINARY.fullmatch(text)
    kind = _ARROW_NAMES.get(text) if fixed is None else pa.binary(int(fixed[1]))
    if kind is None or not isinstance(node, Constant):
        raise UnsupportedFeatureError(
            f"arrow_cast of a value that is not a literal, or to {text!r}"
        )
    return cast(node, kind)


def cast(node: Node, kind: pa.DataType) -> Node:
    """``node`` cast to ``kind``; the evaluation fails for a value that does not fit.

    A cast of floats to integers drops the fraction; a cast of timestamps drops digits finer than
    the unit. The metadata of a column stays.
    """
    return with_metadata(_cast_node(plain(node), kind), node.metadata)


def _cast_node(node: Node, kind: pa.DataType) -> Node:
    if isinstance(node, Constant) and node.is_null:
        return null(kind)
    read = _reader(kind)
    if isinstance(node, Constant) and is_text(node.type) and read is not None:
        return read(node.value.as_py())
    write = text_kernel(node.type) if is_text(kind) else None
    if write is not None:
        return converted(call("CAST", write, node), kind)
    if pa.types.is_integer(kind) and pa.types.is_floating(node.type):
        node = call("CAST", pc.trunc, converted(node, pa.float64()))
    if pa.types.is_decimal(kind) and pa.types.is_integer(node.type):
        # Arrow refuses a type that cannot hold all integers, even if it holds the values.
        return converted(converted(node, pa.decimal256(_MAX_DIGITS, max(0, kind.scale))), kind)
    _refuse(node.type, kind)
    return call(f"CAST as {kind}", functools.partial(_cast, kind=kind), node)


def _refuse(source: pa.DataType, kind: pa.DataType) -> None:
    if is_bytes(source) != is_bytes(kind) and not (is_text(source) or is_text(kind)):
        raise InvalidInputError(f"{source} cannot be cast to {kind}")


def _reader(kind: pa.DataType) -> Callable[[str], Constant] | None:
    """The parser of string literals for a temporal type, None for other types."""
    if pa.types.is_date32(kind):
        return literals.date
    if pa.types.is_timestamp(kind):
        return functools.partial(literals.timestamp, unit=kind.unit)
    return literals.time if pa.types.is_time(kind) else None


def _cast(value: Datum, kind: pa.DataType) -> Datum:
    options = pc.CastOptions(
        target_type=kind,
        allow_decimal_truncate=True,
        allow_time_truncate=True,
        allow_float_truncate=pa.types.is_floating(kind),
    )
    return pc.cast(value, options=options)
