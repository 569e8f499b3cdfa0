"""SQL text as an expression with one value for each row."""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa

from lance_core.concurrency.fork_safe import cached_property
from lance_core.dataset.expressions.sql.filter_shapes import prepared_filter
from lance_core.dataset.expressions.sql.nodes.evaluate import evaluate, paths
from lance_core.dataset.expressions.sql.nodes.node import ColumnNode, Metadata, Node
from lance_core.dataset.expressions.sql.plan import plan_filter, plan_value
from lance_core.dataset.expressions.sql.values.casts import cast
from lance_core.dataset.expressions.sql.values.coerce import converted
from lance_core.lazy_dataclass import dataclass

_IS_VOLATILE = re.compile(r"\b(now|today|current_\w+)\b", re.IGNORECASE)
"""Finds functions whose value depends on the time, in the text of SQL."""


@dataclass(frozen=True)
class SqlExpression:
    """A planned SQL expression."""

    text: str
    node: Node

    @property
    def type(self) -> pa.DataType:
        return self.node.type

    @property
    def nullable(self) -> bool:
        return self.node.nullable

    @property
    def metadata(self) -> Metadata:
        return self.node.metadata

    @property
    def path(self) -> tuple[str, ...] | None:
        return self.node.path if isinstance(self.node, ColumnNode) else None

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        return paths([self.node])

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        return evaluate(self.node, data)


def filter_expression(text: str, schema: pa.Schema) -> SqlExpression:
    """The condition ``text``; raises the errors of `filters.as_filter`.

    Plans are cached, because planning takes as long as reading a few rows. This is safe for text
    that does not depend on the time.
    """
    if _IS_VOLATILE.search(text):
        return SqlExpression(text, plan_filter(text, schema))
    return _kept_filter(_FilterKey(text, schema))


class _FilterKey:
    """A text, and a schema that is compared by identity: to hash its fields takes longer.

    Versions of a table and its reads share a schema, which the key keeps alive.
    """

    __slots__ = ("schema", "text")

    def __init__(self, text: str, schema: pa.Schema) -> None:
        self.text = text
        self.schema = schema

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, _FilterKey)
        return self.schema is other.schema and self.text == other.text


@lru_cache(maxsize=64)
def _kept_filter(key: _FilterKey) -> SqlExpression:
    return SqlExpression(key.text, prepared_filter(key.text, key.schema))


def value_expression(
    text: str, schema: pa.Schema, type_: pa.DataType | None = None
) -> SqlExpression:
    """The value ``text``, cast to ``type_`` if given; raises the errors of `filters.as_value`."""
    node = plan_value(text, schema)
    if type_ is not None and node.type != type_:
        if _is_local_time(node.type, type_):
            node = cast(node, pa.timestamp(type_.unit))
        else:
            node = cast(node, type_)
        node = converted(node, type_)  # a cast of text to a time may have another unit
    return SqlExpression(text, node)


def _is_local_time(type_: pa.DataType, target: pa.DataType) -> bool:
    """True for a time without a zone or a date, which becomes a local time in a zone."""
    if not (pa.types.is_timestamp(target) and target.tz):
        return False
    return bool(pa.types.is_date(type_) or (pa.types.is_timestamp(type_) and not type_.tz))
