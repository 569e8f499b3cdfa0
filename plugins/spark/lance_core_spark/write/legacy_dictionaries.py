"""Dictionary columns in file version 0.1, where a column has one dictionary for all rows.

Tasks cannot agree on one dictionary, so new tables get plain values instead. Rows appended to a
table with dictionaries may only have values of these dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

import lance_core
from lance_core.errors import SchemaMismatchError
from lance_core_spark.types.arrow_types import struct_fields
from lance_core_spark.types.convert import convert

LEGACY_VERSIONS = frozenset({"0.1", "legacy"})
"""The names of the file version with one dictionary for a column."""


def without_dictionaries(field: pa.Field) -> pa.Field:
    """``field`` with plain values in place of dictionaries, at every depth."""
    arrow = field.type
    if pa.types.is_dictionary(arrow):
        return field.with_type(arrow.value_type)
    if pa.types.is_struct(arrow):
        inner = [without_dictionaries(member) for member in struct_fields(arrow)]
        return field.with_type(pa.struct(inner))
    if pa.types.is_list(arrow):
        return field.with_type(pa.list_(without_dictionaries(arrow.value_field)))
    if pa.types.is_large_list(arrow):
        return field.with_type(pa.large_list(without_dictionaries(arrow.value_field)))
    return field


def table_dictionaries(table: lance_core.LanceDataset, schema: pa.Schema) -> dict[str, pa.Array]:
    """The dictionaries of ``table``, by column, that appended rows of ``schema`` must use."""
    if table.data_storage_version not in LEGACY_VERSIONS:
        return {}
    names = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    first = table.to_table(columns=names, limit=1) if names else pa.table({})
    return {name: first[name].chunk(0).dictionary for name in names if first.num_rows}


def encode(
    batch: pa.RecordBatch, schema: pa.Schema, dictionaries: Mapping[str, pa.Array]
) -> list[pa.Array]:
    """The columns of ``batch``, with the columns in ``dictionaries`` dictionary-encoded.

    Raises `SchemaMismatchError` for a value that is not in the dictionary.
    """
    return [
        _encode(array, field, dictionaries[field.name]) if field.name in dictionaries else array
        for array, field in zip(batch.columns, schema, strict=True)
    ]


def _encode(array: pa.Array, field: pa.Field, dictionary: pa.Array) -> pa.Array:
    values = convert(array, dictionary.type, (field.name,))
    indices = pc.index_in(values, value_set=dictionary)
    missing = pc.unique(values.filter(pc.and_(indices.is_null(), values.is_valid())))
    if len(missing):
        raise SchemaMismatchError(
            f"column {field.name!r}: {str(missing[0].as_py())[:200]!r} is not in the dictionary of "
            "the table, which is of file version 0.1 and cannot get new values"
        )
    indices = indices.cast(field.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=field.type.ordered)
