"""Dictionary columns in file version 0.1, which has one dictionary for all rows of a column."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow as pa

from lance_core.errors import SchemaMismatchError, UnsupportedFeatureError
from lance_core.schema import Schema
from lance_core.schema.align import align_batch
from lance_core.schema.dictionary_values import dictionaries, held, values_of, with_values


def with_dictionaries(
    reader: pa.RecordBatchReader, schema: Schema
) -> tuple[pa.RecordBatchReader, Schema]:
    """The rows, and ``schema`` with the dictionary values of the first rows.

    If ``schema`` already has dictionary values, they are those of the table to append to: raises
    `SchemaMismatchError` if the rows have others. Raises `UnsupportedFeatureError` for an empty
    dictionary.
    """
    wanted = {field.id: field for field in dictionaries(schema)}
    if not wanted:
        return reader, schema
    batches = iter(reader)
    seen = list(itertools.islice((batch for batch in batches if batch.num_rows), 1))
    found: dict[int, pa.Array] = {}
    for batch in seen:
        aligned = align_batch(batch, schema)
        for array, field in zip(aligned.columns, schema.fields, strict=True):
            found.update((one.id, values) for one, values in held(array, field))
    known = values_of(schema)
    for field_id, field in wanted.items():
        values = found.get(field_id, known.get(field_id))
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
    return rows, with_values(schema, found)


def _chained(
    first: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from first
    yield from rest
