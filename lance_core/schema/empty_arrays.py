"""Arrays, batches and tables without rows, and null scalars, of every type.

`pa.array`, `pa.scalar` and `pa.Schema.empty_table` fail for some types: lists of extension types in
every version of Arrow, nested dictionaries of large strings before Arrow 25. `pa.nulls` does not.
"""

from __future__ import annotations

import pyarrow as pa


def empty_array(type_: pa.DataType) -> pa.Array:
    """An array of type ``type_`` with length 0."""
    return pa.nulls(0, type_)


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """A batch with this schema and no rows."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def empty_table(schema: pa.Schema) -> pa.Table:
    """A table with this schema and no rows; each column has one chunk."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def null_scalar(type_: pa.DataType) -> pa.Scalar:
    """The null scalar of type ``type_``."""
    return pa.nulls(1, type_)[0]
