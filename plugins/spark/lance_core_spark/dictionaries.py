"""Dictionary columns of tables of file version 0.1, which have one dictionary for all their rows.

Tasks cannot agree on one, so new tables get plain values instead; what is appended to a table that
has dictionaries must consist of their values.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

import lance_core
from lance_core.errors import SchemaMismatchError
from lance_core_spark.convert import convert
from lance_core_spark.types import members

ONE_FOR_ALL = frozenset({"0.1", "legacy"})
"""File versions whose tables have one dictionary for a column."""


def as_values(field: pa.Field) -> pa.Field:
    """``field`` with plain values in place of dictionaries, at every depth."""
    arrow = field.type
    if pa.types.is_dictionary(arrow):
        return field.with_type(arrow.value_type)
    if pa.types.is_struct(arrow):
        return field.with_type(pa.struct([as_values(member) for member in members(arrow)]))
    if pa.types.is_list(arrow):
        return field.with_type(pa.list_(as_values(arrow.value_field)))
    if pa.types.is_large_list(arrow):
        return field.with_type(pa.large_list(as_values(arrow.value_field)))
    return field


def dictionaries_of(table: lance_core.LanceDataset, schema: pa.Schema) -> dict[str, pa.Array]:
    """The dictionaries that rows of ``schema`` must use to be appended to ``table``."""
    if table.data_storage_version not in ONE_FOR_ALL:
        return {}
    names = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    first = table.to_table(columns=names, limit=1) if names else pa.table({})
    return {name: first[name].chunk(0).dictionary for name in names if first.num_rows}


def encode(
    batch: pa.RecordBatch, schema: pa.Schema, known: Mapping[str, pa.Array]
) -> list[pa.Array]:
    """Columns of a batch, those of ``known`` by indices into its values.

    Raises `SchemaMismatchError` for a value that is not among them.
    """
    return [
        _encoded(array, field, known[field.name]) if field.name in known else array
        for array, field in zip(batch.columns, schema, strict=True)
    ]


def _encoded(array: pa.Array, field: pa.Field, values: pa.Array) -> pa.Array:
    plain = convert(array, values.type, (field.name,))
    indices = pc.index_in(plain, value_set=values)
    missing = pc.unique(plain.filter(pc.and_(indices.is_null(), plain.is_valid())))
    if len(missing):
        raise SchemaMismatchError(
            f"column {field.name!r}: {str(missing[0].as_py())[:200]!r} is not in the dictionary of "
            "the table, which is of file version 0.1 and cannot get new values"
        )
    indices = indices.cast(field.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=field.type.ordered)
