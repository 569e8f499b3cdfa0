"""Arrays and tables without rows, and null scalars, of every type.

`pa.array`, `pa.scalar` and `pa.Schema.empty_table` do not know all types: no version of Arrow makes
lists of extension types, those before 25 no nested dictionaries of large strings. `pa.nulls` does.
"""

from __future__ import annotations

import pyarrow as pa


def empty_array(type_: pa.DataType) -> pa.Array:
    """An array of the type without values."""
    return pa.nulls(0, type_)


def empty_table(schema: pa.Schema) -> pa.Table:
    """A table of the schema without rows; each column is one chunk."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def null_scalar(type_: pa.DataType) -> pa.Scalar:
    """The null value of the type."""
    return pa.nulls(1, type_)[0]
