"""Dictionary columns in file version 0.1, which has one dictionary for all rows of a column."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow as pa

from lance_core.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from lance_core.schema import Field, Schema
from lance_core.schema.align import align_batch
from lance_core.schema.dictionary_values import (
    dictionary_fields,
    held,
    is_dictionary,
    values_of,
    with_values,
)
from lance_core.schema.logical_type import without_views


def with_dictionaries(
    reader: pa.RecordBatchReader, schema: Schema
) -> tuple[pa.RecordBatchReader, Schema]:
    """The rows, and ``schema`` with the dictionary values of the first rows.

    If ``schema`` already has dictionary values, they are those of the table to append to: raises
    `SchemaMismatchError` if the rows have others. Raises `UnsupportedFeatureError` for an empty
    dictionary.
    """
    fields = {field.id: field for field in dictionary_fields(schema)}
    if not fields:
        return reader, schema
    batches = iter(reader)
    seen = list(itertools.islice((batch for batch in batches if batch.num_rows), 1))
    dictionaries: dict[int, pa.Array] = {}
    for batch in seen:
        aligned = align_batch(batch, schema)
        for array, field in zip(aligned.columns, schema.fields, strict=True):
            dictionaries.update((part.id, values) for part, values in held(array, field))
    known = values_of(schema)
    for field_id, field in fields.items():
        values = dictionaries.get(field_id, known.get(field_id))
        if values is None or not len(values):
            raise UnsupportedFeatureError(
                f"column {field.name!r}: files of version 0.1 cannot store a dictionary without "
                "values"
            )
        if field_id in known and not values.equals(known[field_id]):
            raise SchemaMismatchError(
                f"the dictionary of column {field.name!r} is not that of the table, which is of "
                "file version 0.1 and has one dictionary for all rows of a column"
            )
    rows = pa.RecordBatchReader.from_batches(reader.schema, _chained(seen, batches))
    return rows, with_values(schema, dictionaries)


def _chained(
    first: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from first
    yield from rest


def in_dictionaries(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """``batch`` with the values of dictionary columns as keys of the table's dictionaries.

    Raises `SchemaMismatchError` for a value that is not in the dictionary of its column.
    """
    for field in schema.fields:
        index = batch.schema.get_field_index(field.name)
        if index < 0 or not is_dictionary(field):
            continue
        try:
            keys = in_dictionary(batch.column(index), field)
        except InvalidInputError as error:
            raise SchemaMismatchError(f"column {field.name!r}: {error}") from error
        batch = batch.set_column(index, field.name, keys)
    return batch


def in_dictionary(array: pa.Array, field: Field) -> pa.Array:
    """``array``, of values or with any dictionary, as keys of the dictionary of ``field``.

    Raises `InvalidInputError` for values of another type, and for one that is not in the
    dictionary.
    """
    import pyarrow.compute as pc

    data_type, known = field.storage_type, field.dictionary_values
    if known is None:
        raise InvalidInputError("the dictionary of the table is not known")
    if pa.types.is_dictionary(array.type):
        array = _of_type(array.dictionary, data_type.value_type).take(array.indices)
    array = _of_type(array, data_type.value_type)
    indices = pc.index_in(array, known)
    if indices.null_count > array.null_count:
        raise InvalidInputError(
            "a value is not in the dictionary of the table, which is of file version 0.1 and has "
            "one dictionary for all rows of a column"
        )
    return pa.DictionaryArray.from_arrays(indices.cast(data_type.index_type), known)


def _of_type(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """``array`` as ``type_``, its own type; an array of nulls or views may have another one."""
    if not pa.types.is_null(array.type) and without_views(array.type) != type_:
        raise InvalidInputError(f"expected values of type {type_}, got {array.type}")
    return array.cast(type_)
