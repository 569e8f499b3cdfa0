"""CAST and the names of types."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lance_core.dataset.sql import literals
from lance_core.dataset.sql.coerce import converted, is_bytes, is_text, plain
from lance_core.dataset.sql.node import Constant, Datum, Node, call, null, with_metadata
from lance_core.dataset.sql.value_text import text_kernel
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

_SIMPLE = {
    exp.DataType.Type.BOOLEAN: pa.bool_(),
    exp.DataType.Type.TINYINT: pa.int8(),
    exp.DataType.Type.SMALLINT: pa.int16(),
    exp.DataType.Type.INT: pa.int32(),
    exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.UTINYINT: pa.uint8(),
    exp.DataType.Type.USMALLINT: pa.uint16(),
    exp.DataType.Type.UINT: pa.uint32(),
    exp.DataType.Type.UBIGINT: pa.uint64(),
    exp.DataType.Type.FLOAT: pa.float32(),
    exp.DataType.Type.DOUBLE: pa.float64(),
    exp.DataType.Type.TEXT: pa.string(),
    exp.DataType.Type.VARCHAR: pa.string(),
    exp.DataType.Type.BINARY: pa.binary(),
    exp.DataType.Type.VARBINARY: pa.binary(),
    exp.DataType.Type.DATE: pa.date32(),
    exp.DataType.Type.TIME: pa.time64("ns"),
}
_WITH_UNIT = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.DATETIME)
_DECIMAL = (exp.DataType.Type.DECIMAL,)
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}


def arrow_type(written: exp.DataType) -> pa.DataType:
    """The Arrow type that a name like ``bigint`` or ``decimal(10, 2)`` stands for.

    Raises `UnsupportedFeatureError` for a name that is not known.
    """
    try:
        arguments = [int(argument.name) for argument in written.expressions]
    except ValueError:
        arguments = [-1]
    kind = written.this
    if kind in _SIMPLE and not arguments:
        return _SIMPLE[kind]
    if kind in _WITH_UNIT and (not arguments or arguments[0] in _UNITS):
        return pa.timestamp(_UNITS[arguments[0]] if arguments else "us")
    if kind in _DECIMAL and len(arguments) in (1, 2) and 1 <= arguments[0] <= 76:
        scale = arguments[1] if len(arguments) == 2 else 0
        make = pa.decimal128 if arguments[0] <= 38 else pa.decimal256
        return make(arguments[0], scale)
    raise UnsupportedFeatureError(f"the type {written.sql()} is not supported in CAST")


def cast(node: Node, kind: pa.DataType) -> Node:
    """The value as ``kind``; a value that does not fit is an error when it is met.

    Numbers lose what comes after the point, timestamps what is finer than the unit. The metadata
    of a column stays.
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
    _refuse(node.type, kind)
    return call(f"CAST as {kind}", functools.partial(_cast, kind=kind), node)


def _refuse(source: pa.DataType, kind: pa.DataType) -> None:
    if is_bytes(source) != is_bytes(kind) and not (is_text(source) or is_text(kind)):
        raise InvalidInputError(f"{source} cannot be cast to {kind}")


def _reader(kind: pa.DataType) -> Callable[[str], Constant] | None:
    """How a literal text becomes a constant of a temporal type."""
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
