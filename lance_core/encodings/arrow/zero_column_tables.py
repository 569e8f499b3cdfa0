"""Tables with rows but no columns, whose number of rows most Arrow operations lose."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.schema.empty_arrays import empty_table


def zero_column_table(num_rows: int, schema: pa.Schema | None = None) -> pa.Table:
    """A table of ``num_rows`` rows without columns; ``schema`` may add metadata."""
    metadata = None if schema is None else schema.metadata
    carrier = pa.schema([pa.field("", pa.null())], metadata)
    return pa.Table.from_arrays([pa.nulls(num_rows)], schema=carrier).select([])


def sliced(table: pa.Table, offset: int, length: int | None = None) -> pa.Table:
    """At most ``length`` rows from ``offset`` on; both may be past the end of the table."""
    if table.num_columns:
        return table.slice(offset, length)
    left = max(0, table.num_rows - offset)
    return zero_column_table(left if length is None else min(left, length), table.schema)


def concatenated(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The rows of all ``tables``, each of which has ``schema``."""
    if not schema.names:
        return zero_column_table(sum(table.num_rows for table in tables), schema)
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables(tables) if tables else empty_table(schema)
