"""Random SQL conditions on columns and members, with literals out of the data."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa

from tests.interop.differential.compare import as_plain, member
from tests.interop.differential.fields import pick

COMPARISONS = ("=", "=", "<>", "<", "<=", ">", ">=")


def draw_filter(chance: np.random.Generator, data: pa.Table, depth: int = 0) -> str | None:
    """A condition, or None if the table has no column for one."""
    if not _paths(data.schema):
        return None
    kind = chance.random()
    if depth < 2 and kind < 0.3:
        parts = [draw_filter(chance, data, depth + 1) for _ in range(2)]
        return f"({parts[0]}) {pick(chance, ('AND', 'OR'))} ({parts[1]})"
    if depth < 2 and kind < 0.45:
        return f"NOT ({draw_filter(chance, data, depth + 1)})"
    return _draw_term(chance, data)


def _draw_term(chance: np.random.Generator, data: pa.Table) -> str:
    path = pick(chance, _paths(data.schema))
    name = ".".join(quoted(part) for part in path)
    if chance.random() < 0.3:
        return f"{name} IS {pick(chance, ('', 'NOT '))}NULL"
    column = member(data[path[0]], path[1:])
    if chance.random() < 0.1 and (other := _draw_twin(chance, data, column.type)):
        return f"{name} {pick(chance, COMPARISONS)} {other}"
    values = _literals(chance, column)
    if pa.types.is_string(column.type) and values and chance.random() < 0.2:
        return f"{name} {pick(chance, ('', 'NOT '))}LIKE {_pattern(chance, values[0])}"
    if not values:
        return f"{name} IS {pick(chance, ('', 'NOT '))}NULL"
    kind = chance.random()
    if kind < 0.6:
        return f"{name} {pick(chance, COMPARISONS)} {pick(chance, values)}"
    if kind < 0.85:
        return f"{name} {pick(chance, ('', 'NOT '))}IN ({', '.join(values)})"
    return f"{name} BETWEEN {pick(chance, values)} AND {pick(chance, values)}"


def _draw_twin(chance: np.random.Generator, data: pa.Table, type_: pa.DataType) -> str | None:
    """A column of the same type, if that has an order on which both libraries agree."""
    if not (pa.types.is_integer(type_) or pa.types.is_string(type_) or pa.types.is_boolean(type_)):
        return None
    twins = [path for path in _paths(data.schema) if _type_at(data.schema, path) == type_]
    return ".".join(map(quoted, pick(chance, twins)))


def _type_at(schema: pa.Schema, path: list[str]) -> pa.DataType:
    type_ = schema.field(path[0]).type
    for name in path[1:]:
        type_ = type_.field(name).type
    return type_


def _pattern(chance: np.random.Generator, literal: str) -> str:
    """Of the letters and digits at the begin of a text in SQL, before or after any others."""
    part = "".join(letter for letter in literal[1:6] if letter.isalnum())
    return pick(chance, (f"'{part}%'", f"'%{part}'", f"'%{part}%'", f"'_{part[1:]}%'"))


def _paths(schema: pa.Schema) -> list[list[str]]:
    """Columns, and members of structs at any depth.

    Of lists of fixed size of structs that a filter reads, pylance 14 gives some members only.
    """
    open_ = [([field.name], field.type) for field in schema]
    found = []
    while open_:
        path, type_ = open_.pop(0)
        if pa.types.is_fixed_size_list(type_) and pa.types.is_struct(type_.value_type):
            continue
        found.append(path)
        if pa.types.is_struct(type_):
            open_ += [([*path, field.name], field.type) for field in type_]
    return found


def quoted(name: str) -> str:
    return name if name.islower() and name.isalnum() else f"`{name}`"


def _literals(chance: np.random.Generator, column: pa.ChunkedArray) -> list[str]:
    """Up to five values of ``column`` in SQL; none for types that have no literal."""
    if isinstance(column.type, pa.BaseExtensionType) or not len(column):
        return []
    found = []
    for row in chance.integers(0, len(column), int(chance.integers(1, 6))).tolist():
        chunk = column.slice(row, 1).combine_chunks()
        if isinstance(chunk, pa.ChunkedArray):
            chunk = chunk.chunk(0)
        literal = _literal(as_plain(chunk)[0])
        if literal is not None:
            found.append(literal)
    return found


def _literal(scalar: pa.Scalar) -> str | None:
    type_ = scalar.type
    if pa.types.is_dictionary(type_):
        scalar, type_ = scalar.value, type_.value_type
        if pa.types.is_floating(type_) and scalar.as_py() == 0:
            return None  # pylance tells 0.0 from -0.0 in dictionaries
    if not scalar.is_valid or pa.types.is_nested(type_):
        return None
    if pa.types.is_timestamp(type_):
        return _moment(scalar)
    if pa.types.is_duration(type_) or pa.types.is_time(type_) or pa.types.is_date64(type_):
        return None
    return _text(scalar.as_py(), type_)


def _text(value: object, type_: pa.DataType) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, Decimal) and type_.scale >= 0 and pa.types.is_decimal128(type_):
        return f"cast('{value:f}' as decimal({type_.precision}, {type_.scale}))"
    return None


def _moment(scalar: pa.Scalar) -> str | None:
    """Moments without a zone, to the microsecond at most."""
    if scalar.type.tz is not None or scalar.type.unit == "ns":
        return None
    return f"timestamp '{scalar.as_py().isoformat(sep=' ')}'"
