"""What a file of version 0.1 makes of values: it cannot tell that most of them are null."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tests.interop.columns import WORDS


def as_read(table: pa.Table) -> dict[str, list[Any]]:
    """The columns of ``table`` as they are read again, all fields of which may be null."""
    return {
        name: [read(value, table.schema.field(name).type) for value in table[name].to_pylist()]
        for name in table.column_names
    }


def read(value: Any, type_: pa.DataType) -> Any:
    """Strings and bytes that are null or empty are null; a null key is that of the first value.

    All else is never null.
    """
    if pa.types.is_null(type_):
        return None
    if pa.types.is_struct(type_):
        return {field.name: read((value or {}).get(field.name), field.type) for field in type_}
    if pa.types.is_fixed_size_list(type_):
        return [read(item, type_.value_type) for item in value or [None] * type_.list_size]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return [read(item, type_.value_type) for item in value or []]
    if pa.types.is_dictionary(type_):
        return (WORDS[0].as_py() if value is None else value) or None
    if is_variable(type_):
        return value or None
    return zero(type_) if value is None else value


def is_variable(type_: pa.DataType) -> bool:
    return str(type_) in ("string", "binary", "large_string", "large_binary")


def zero(type_: pa.DataType) -> Any:
    """What all bits zero are in a type of fixed width."""
    data = pa.py_buffer(bytes(64))
    return pa.Array.from_buffers(type_, 1, [None, data])[0].as_py()
