"""Options of single columns, such as ``v.arrow.fixed-size-list.size``.

Their names are those of the table properties of the JVM connector: ``<column>.<key>`` and
``lance.<key>.column.<column>``. They have the meaning of the same key in the metadata of a column,
see `lance_core_spark.types.stored_fields`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pyspark.sql import types as st

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import hint
from lance_core.schema import format_path, parse_path

LIST_SIZE = "arrow.fixed-size-list.size"
FLOAT16 = "arrow.float16"
LARGE_STRING = "arrow.large_var_char"
ARROW_TYPE = "arrow.type"
ENCODING = "lance.encoding"
"""Keys that select the type or the encoding of a column; ``ARROW_TYPE`` is ours."""

STORED_KEYS = {
    f"lance.{name}": f"lance-encoding:{name}"
    for name in ("compression", "compression-level", "structural-encoding", "rle-threshold", "bss")
}
"""Keys for the file writer, and the keys under which the stored field has them."""

COLUMN_KEYS = (LIST_SIZE, FLOAT16, LARGE_STRING, ARROW_TYPE, ENCODING, *STORED_KEYS)

_KEYS = "|".join(map(re.escape, COLUMN_KEYS))
_COLUMN_FIRST = re.compile(rf"(?P<column>.+)\.(?P<key>{_KEYS})")
_KEY_FIRST = re.compile(r"(?P<key>lance\.[a-z-]+)\.column\.(?P<column>.+)")

ColumnOptions = Mapping[str, Mapping[str, str]]
"""The values of the options by column, in lower case, and by key."""


def parse_name(name: str) -> tuple[str, str] | None:
    """The column and the key in the name of an option; None for other options."""
    for pattern in (_COLUMN_FIRST, _KEY_FIRST):
        match = pattern.fullmatch(name)
        if match is not None and match["key"] in COLUMN_KEYS:
            return match["column"], match["key"]
    return None


def with_column_options(schema: st.StructType, options: ColumnOptions) -> st.StructType:
    """``schema`` with the options of columns in the metadata of its columns.

    Columns are named by path, and in any case, because Spark changes the case of options. Members
    of the structs in an array are named like members of a struct. Raises `InvalidInputError` for a
    column that ``schema`` lacks, or has twice.
    """
    if not options:
        return schema
    paths = [format_path(path) for path in _paths(schema, ())]
    chosen: dict[str, Mapping[str, str]] = {}
    for column, values in options.items():
        matching = [path for path in paths if path.lower() == _normal(column)]
        if len(matching) != 1:
            reason = f"several columns: {', '.join(matching)}" if matching else "no column"
            more = "" if matching else hint(column, paths)
            raise InvalidInputError(
                f"option '{column}.{next(iter(values))}': the rows have {reason} of this name{more}"
            )
        chosen[matching[0]] = values
    return _with_metadata(schema, (), chosen)


def _normal(column: str) -> str:
    return format_path(parse_path(column))


def _members(data_type: st.DataType) -> st.StructType | None:
    """The struct in a column: of the column itself, or of the items of an array."""
    while isinstance(data_type, st.ArrayType):
        data_type = data_type.elementType
    return data_type if isinstance(data_type, st.StructType) else None


def _paths(schema: st.StructType, parents: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    for field in schema:
        path = (*parents, field.name)
        yield path
        members = _members(field.dataType)
        if members is not None:
            yield from _paths(members, path)


def _with_metadata(
    schema: st.StructType, parents: tuple[str, ...], chosen: ColumnOptions
) -> st.StructType:
    fields = []
    for field in schema:
        path = (*parents, field.name)
        metadata = {**(field.metadata or {}), **chosen.get(format_path(path), {})}
        inner = _within(field.dataType, path, chosen)
        fields.append(st.StructField(field.name, inner, field.nullable, metadata))
    return st.StructType(fields)


def _within(data_type: st.DataType, path: tuple[str, ...], chosen: ColumnOptions) -> st.DataType:
    if isinstance(data_type, st.StructType):
        return _with_metadata(data_type, path, chosen)
    if isinstance(data_type, st.ArrayType):
        return st.ArrayType(_within(data_type.elementType, path, chosen), data_type.containsNull)
    return data_type
