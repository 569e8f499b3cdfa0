"""A `pyarrow.compute.Expression` over the columns of a table, evaluated by Arrow itself.

Arrow does not list the columns of an expression. Its text contains all their names, so columns
whose name does not occur there are out; that the others suffice is proven by binding the
expression to an empty table of just these, and those that binding does without are left out too.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.sql.node import arrow_errors
from lance_core.errors import InvalidInputError

_MOST_TRIALS = 32


@dataclass(frozen=True, slots=True)
class ArrowExpression:
    """``names`` are the top-level columns that it needs, perhaps some more, in table order."""

    expression: pc.Expression
    type: pa.DataType
    names: tuple[str, ...]

    @classmethod
    def bind(cls, expression: pc.Expression, schema: pa.Schema) -> ArrowExpression:
        """Raises `InvalidInputError` if it does not fit the schema."""
        names = _needed(expression, schema)
        kind = _bound(expression, [schema.field(name) for name in names])
        return cls(expression, kind, tuple(names))

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        return tuple((name,) for name in self.names)

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        """The values for the rows of ``data``, which has at least the columns `names`."""
        with arrow_errors():
            return _run(self.expression, data.select(list(self.names)))


def _needed(expression: pc.Expression, schema: pa.Schema) -> list[str]:
    text = str(expression)
    if len(set(schema.names)) < len(schema.names) or "FieldPath(" in text:
        # A column by its position: only the complete table has it there.
        return list(schema.names)
    found = [name for name in schema.names if name in text]
    if not _fits(expression, schema, found):
        return list(schema.names)
    if len(found) <= _MOST_TRIALS:
        for name in list(found):
            fewer = [other for other in found if other != name]
            if _fits(expression, schema, fewer):
                found = fewer
    return found


def _fits(expression: pc.Expression, schema: pa.Schema, names: list[str]) -> bool:
    try:
        _bound(expression, [schema.field(name) for name in names])
    except InvalidInputError:
        return False
    return True


def _bound(expression: pc.Expression, fields: list[pa.Field]) -> pa.DataType:
    try:
        return _run(expression, pa.schema(fields).empty_table()).type
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InvalidInputError(f"the expression {expression} does not fit: {error}") from error


def _run(expression: pc.Expression, data: pa.Table) -> pa.ChunkedArray:
    """One thread keeps the order of the rows."""
    from pyarrow import acero

    if data.num_columns == 0:
        data = pa.table({"": pa.nulls(data.num_rows)})
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(data))
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["value"]))
    plan = acero.Declaration.from_sequence([source, project])
    return plan.to_table(use_threads=False).column(0)
