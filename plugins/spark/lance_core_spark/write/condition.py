"""The check that new rows satisfy the condition of the rows that they replace."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.engines import as_filter
from lance_core.errors import InvalidInputError

MAX_SHOWN = 200
"""Maximum characters of a row in an error."""


class ConditionCheck:
    """Checks rows, which may lack columns of ``schema``: these are null."""

    def __init__(self, condition: str, schema: pa.Schema) -> None:
        self._condition = condition
        self._filter = as_filter(condition, schema)
        names = {path[0] for path in self._filter.columns}
        self._fields = [field for field in schema if field.name in names]

    def check(self, rows: pa.RecordBatch) -> None:
        """Raise `InvalidInputError` if the condition is false or null for a row."""
        if not self._fields:
            return  # The condition is the same for all rows, and chosen by the user.
        columns = {field.name: self._column(rows, field) for field in self._fields}
        wrong = np.flatnonzero(~self._filter.mask(pa.table(columns)))
        if len(wrong):
            first = {name: array[int(wrong[0])].as_py() for name, array in columns.items()}
            raise InvalidInputError(
                f"{len(wrong)} of {rows.num_rows} new rows do not satisfy the option "
                f"'replace_where' = {self._condition!r}, such as {str(first)[:MAX_SHOWN]}; set "
                "'replace_where_check' to 'false' to write them"
            )

    @staticmethod
    def _column(rows: pa.RecordBatch, field: pa.Field) -> pa.Array:
        index = rows.schema.get_field_index(field.name)
        return pa.nulls(rows.num_rows, field.type) if index < 0 else rows.column(index)
