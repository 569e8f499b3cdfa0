"""SQL text as something that has one value for each row."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from lance_core.dataset.sql.node import Node, evaluate, paths
from lance_core.dataset.sql.plan import plan_filter, plan_value


@dataclass(frozen=True, slots=True)
class SqlExpression:
    """A planned SQL expression."""

    text: str
    node: Node

    @property
    def type(self) -> pa.DataType:
        return self.node.type

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        return paths([self.node])

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        return evaluate(self.node, data)


def filter_expression(text: str, schema: pa.Schema) -> SqlExpression:
    """A condition; raises as `lance_core.dataset.expression.as_filter`."""
    return SqlExpression(text, plan_filter(text, schema))


def value_expression(text: str, schema: pa.Schema) -> SqlExpression:
    """A value of any type; raises as `lance_core.dataset.expression.as_value`."""
    return SqlExpression(text, plan_value(text, schema))
