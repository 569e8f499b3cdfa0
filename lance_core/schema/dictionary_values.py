"""The values of dictionary columns of 0.1 tables, stored in each file that holds a schema.

Numbers are stored back to back. Strings and binary values are stored as their bytes followed by
n + 1 int64 offsets for n values, in bytes from the start of the file; `DictionaryValues.offset`
is the position of these offsets. A value of zero bytes is null. See docs/format/file-0.1.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.errors import CorruptFileError, SchemaMismatchError, UnsupportedFeatureError
from lance_core.schema.empty_arrays import empty_array
from lance_core.schema.field import DictionaryValues, Field

if TYPE_CHECKING:
    import numpy.typing as npt

    from lance_core.schema.tree import Schema

_MAX_INT32 = (1 << 31) - 1


def is_dictionary(field: Field) -> bool:
    """True if the field itself, not a child, has a dictionary type."""
    return field.is_leaf and bool(pa.types.is_dictionary(field.storage_type))


def dictionary_fields(schema: Schema) -> Sequence[Field]:
    """The dictionary fields at any depth, in the order of their ids."""
    return schema.derived("dictionary_fields", lambda: _dictionary_fields(schema))


def _dictionary_fields(schema: Schema) -> Sequence[Field]:
    if schema.is_plain:
        return ()
    return sorted((f for f in schema.walk() if is_dictionary(f)), key=lambda field: field.id)


def with_changed_dictionaries(schema: Schema, change: Callable[[Field], Field]) -> Schema:
    """Apply ``change`` to every dictionary field; returns ``schema`` itself if no field changes."""
    return schema.with_changed_fields(partial(_changed, change))


def _changed(change: Callable[[Field], Field], field: Field) -> Field:
    if is_dictionary(field):
        return change(field)
    return field.with_changed_children(partial(_changed, change))


def with_values(schema: Schema, known: Mapping[int, pa.Array]) -> Schema:
    """``schema`` with the values ``known`` (by field id) in dictionary fields that have none.

    Values of a type other than the field's value type are ignored.
    """

    def change(field: Field) -> Field:
        values = known.get(field.id)
        if field.dictionary_values is not None or values is None:
            return field
        if values.type != field.storage_type.value_type:
            return field
        return dataclasses.replace(field, dictionary_values=values)

    return with_changed_dictionaries(schema, change)


def values_of(schema: Schema) -> dict[int, pa.Array]:
    """The loaded values of the schema's dictionary fields, by field id."""
    return {
        field.id: field.dictionary_values
        for field in dictionary_fields(schema)
        if field.dictionary_values is not None
    }


def parse_values(data: memoryview, type_: pa.DataType, where: DictionaryValues) -> pa.Array:
    """A copy of the values at ``where`` in ``data``, the bytes of the whole file.

    Raises `CorruptFileError` for a place outside of the file or invalid values, and
    `UnsupportedFeatureError` for a value type that 0.1 tables do not have.
    """
    if where.length == 0:
        return empty_array(type_)
    variable = _is_variable(type_)
    width = 8 if variable else _width(type_)
    count = where.length + variable
    if where.offset < 0 or where.length < 0 or where.offset + count * width > len(data):
        raise CorruptFileError(
            f"{where.length} values of a dictionary do not fit into {len(data)} bytes",
            offset=where.offset,
        )
    stored = data[where.offset : where.offset + count * width]
    if not variable:
        return pa.Array.from_buffers(type_, where.length, [None, pa.py_buffer(bytes(stored))], 0)
    return _variable(type_, np.frombuffer(stored, "<i8"), data, where)


def _variable(
    type_: pa.DataType,
    offsets: npt.NDArray[np.int64],
    data: memoryview,
    where: DictionaryValues,
) -> pa.Array:
    first, last = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    if not 0 <= first <= last <= len(data) or (lengths < 0).any():
        raise CorruptFileError(
            "the offsets of a dictionary's values do not ascend", offset=where.offset
        )
    large = pa.types.is_large_string(type_) or pa.types.is_large_binary(type_)
    if not large and last - first > _MAX_INT32:
        raise CorruptFileError("the values of a dictionary take 2 GiB or more", offset=where.offset)
    buffers = [
        pa.py_buffer(np.packbits(lengths > 0, bitorder="little")),
        pa.py_buffer((offsets - first).astype("<i8" if large else "<i4")),
        pa.py_buffer(bytes(data[first:last])),
    ]
    values = pa.Array.from_buffers(type_, where.length, buffers)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptFileError(
            f"the values of a dictionary cannot be read: {error}", offset=where.offset
        ) from error
    return values


def serialize_dictionary(values: pa.Array, position: int) -> tuple[bytes, DictionaryValues]:
    """The bytes to write at byte ``position`` of a file, and the place to store in the field.

    Raises `UnsupportedFeatureError` for a value type that the format does not have.
    """
    if not _is_variable(values.type):
        content = _numbers(values)
        return content, DictionaryValues(position, len(values))
    text = values.cast(pa.large_binary())
    if text.null_count:
        text = text.fill_null(b"")
    offsets = np.frombuffer(text.buffers()[1], "<i8", len(text) + 1, text.offset * 8)
    first, last = int(offsets[0]), int(offsets[-1])
    data = text.buffers()[2]
    content = b"" if data is None else data.slice(first, last - first).to_pybytes()
    stored_offsets = (offsets - first + position).astype("<i8").tobytes()
    return content + stored_offsets, DictionaryValues(position + len(content), len(values))


def _numbers(values: pa.Array) -> bytes:
    """Values of fixed width back to back; null values are zero."""
    width = _width(values.type)
    if values.null_count:
        values = values.fill_null(0)
    if len(values) == 0:
        return b""
    return bytes(values.buffers()[1].slice(values.offset * width, len(values) * width))


def _is_variable(type_: pa.DataType) -> bool:
    tests = (
        pa.types.is_string,
        pa.types.is_binary,
        pa.types.is_large_string,
        pa.types.is_large_binary,
    )
    return any(test(type_) for test in tests)


def _width(type_: pa.DataType) -> int:
    if not (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
        raise UnsupportedFeatureError(
            f"tables of file version 0.1 cannot store dictionaries of {type_}"
        )
    return int(type_.bit_width) // 8


def normal(values: pa.Array) -> pa.Array:
    """The values as a reader returns them: zero-length values are null, null numbers are zero."""
    import pyarrow.compute as pc

    if _is_variable(values.type):
        empty = pc.equal(pc.binary_length(values), 0)
        return pc.if_else(empty, pa.scalar(None, values.type), values)
    return values.fill_null(0) if values.null_count else values


def held(array: pa.Array, field: Field) -> Iterator[tuple[Field, pa.Array]]:
    """Each dictionary field at or below ``field``, with its values from ``array``.

    ``array`` is of the storage type of ``field``. Values are normalized by `normal`.
    """
    if is_dictionary(field):
        yield field, normal(array.dictionary)
    elif field.is_struct:
        for number, child in enumerate(field.children):
            yield from held(array.field(number), child)
    elif field.is_list:
        yield from held(array.values, field.children[0])


def check_dictionary(array: pa.Array, field: Field) -> None:
    """Raise `SchemaMismatchError` if a dictionary in ``array`` differs from its field's values."""
    for part, values in held(array, field):
        if part.dictionary_values is None or not values.equals(part.dictionary_values):
            raise SchemaMismatchError(
                f"the dictionary of column {part.name!r} differs from the dictionary of earlier "
                "rows; a table of file version 0.1 has one dictionary for all rows of a column "
                "(see pyarrow.Table.unify_dictionaries)"
            )
