"""Filters and computed columns, from SQL text or from a `pyarrow.compute.Expression`.

SQL has the semantics of pylance (three-valued logic, NaN above all numbers); an Arrow expression
keeps Arrow's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidExpressionError, InvalidInputError
from lance_core.imports.on_demand import Part, load
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    # pyarrow.compute takes a fifth of this library's import time, and only expressions need it.
    import pyarrow.compute as pc

    from lance_core.dataset.expressions.sql.nodes.node import Node

Mask = npt.NDArray[np.bool_]
P = ParamSpec("P")
T = TypeVar("T")


class RowExpression(Protocol):
    """An expression that has one value for each row."""

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""

    @property
    def nullable(self) -> bool:
        """False if the schema excludes NULL values."""

    @property
    def metadata(self) -> Mapping[bytes, bytes] | None:
        """The metadata of the field that holds the values."""

    @property
    def path(self) -> tuple[str, ...] | None:
        """The path of names if the expression is a column or a struct's child, else None."""

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """The paths of all columns that the expression needs, perhaps of more."""

    @property
    def node(self) -> Node | None:
        """A condition in our SQL's form that is TRUE for the same rows and NULL for the same rows.

        Parts that have no such form are `sql.node.unknown`. None if nothing is known.
        """

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        """The values, of type `type`. ``data`` must have `columns`, and needs no others."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on rows.

    ``columns``: the paths (names from a top-level column down) of all columns that the condition
    needs, perhaps of more.
    """

    columns: tuple[tuple[str, ...], ...]
    condition: RowExpression

    def mask(self, data: pa.Table) -> Mask:
        """True for each row that satisfies the condition; NULL counts as false.

        ``data`` must have `columns`, and needs no others. Raises `InvalidInputError` if the
        evaluation fails for some value (overflow, division by zero, …).
        """
        result = self.condition.evaluate(data)
        if result.num_chunks == 1:
            return _mask(result.chunk(0))
        return np.concatenate([np.empty(0, bool), *map(_mask, result.chunks)])


@dataclass(frozen=True, slots=True)
class Value:
    """An expression to compute for each row, with the ``text`` that describes it.

    ``columns`` has the meaning of `Filter.columns`.
    """

    columns: tuple[tuple[str, ...], ...]
    computed: RowExpression
    text: str

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return self.computed.type

    @property
    def path(self) -> tuple[str, ...] | None:
        """The path of names if the expression is just a column, else None."""
        return self.computed.path

    def field(self, name: str) -> pa.Field:
        """The field of the result, with the nullability and metadata that SQL keeps of columns."""
        return pa.field(name, self.type, self.computed.nullable, self.computed.metadata)

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        """The values, of type `type`. Raises the errors of `Filter.mask`."""
        return self.computed.evaluate(data)


def _raises_expression_errors(bind: Callable[P, T]) -> Callable[P, T]:
    """Let ``bind`` raise `InvalidExpressionError` for an `InvalidInputError` of no special class.

    The text begins as in pylance, because programs search for these words.
    """

    @functools.wraps(bind)
    def bound(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return bind(*args, **kwargs)
        except InvalidInputError as error:
            if type(error) is not InvalidInputError:
                raise
            raise InvalidExpressionError(f"Invalid user input: {error}") from error

    return bound


@_raises_expression_errors
def as_filter(filter: str | pc.Expression, schema: pa.Schema) -> Filter:
    """The filter for a user's SQL text or Arrow expression.

    Raises `InvalidExpressionError` for text that cannot be parsed, unknown columns and conditions
    that are not boolean, and `UnsupportedFeatureError` for SQL constructs that are not supported.
    """
    condition: RowExpression
    if isinstance(filter, str):
        load(Part.SQL)
        from lance_core.dataset.expressions.sql.expression import filter_expression

        if not filter.isascii():
            _refuse_surrogates(filter)
        condition = filter_expression(filter, schema)
    elif _is_arrow(filter):
        load(Part.ARROW)
        from lance_core.dataset.expressions.arrow_expression import ArrowExpression

        condition = ArrowExpression.bind(filter, schema)
        _check_boolean(filter, condition)
    else:
        raise InvalidInputError(
            f"a filter is an SQL string or a pyarrow.compute.Expression, got {type(filter)}"
        )
    return Filter(condition.columns, condition)


@_raises_expression_errors
def as_value(
    sql: str | pc.Expression, schema: pa.Schema, type_: pa.DataType | None = None
) -> Value:
    """The computed column for a user's SQL text or Arrow expression.

    Text that equals a column's name is that column. SQL values are cast to ``type_``, if given,
    which drops the extension type of a column. Raises the errors of `as_filter`, except for values
    that are not boolean.
    """
    computed: RowExpression
    if isinstance(sql, str):
        load(Part.SQL)
        from lance_core.dataset.expressions.sql.expression import value_expression

        _refuse_surrogates(sql)
        computed = value_expression(sql, schema, type_)
    elif _is_arrow(sql):
        load(Part.ARROW)
        from lance_core.dataset.expressions.arrow_expression import ArrowExpression

        computed = ArrowExpression.bind(sql, schema)
    else:
        raise InvalidInputError(
            f"a value is an SQL string or a pyarrow.compute.Expression, got {type(sql)}"
        )
    return Value(computed.columns, computed, str(sql))


def _check_boolean(filter: object, condition: RowExpression) -> None:
    if not pa.types.is_boolean(condition.type):
        raise InvalidInputError(
            f"the filter {filter} does not return a boolean but {condition.type}"
        )


def _refuse_surrogates(sql: str) -> None:
    """Raise `InvalidInputError` for a lone surrogate, which Arrow's strings cannot hold."""
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"the expression is not valid Unicode text: character {error.start} is a lone surrogate"
        ) from None


def _mask(chunk: pa.BooleanArray) -> Mask:
    """``chunk`` as one byte for each row, NULL as false; several times faster than in Arrow."""
    first, count = chunk.offset, len(chunk)
    low, high = first // 8, -(-(first + count) // 8)
    validity, values = chunk.buffers()
    bits = np.frombuffer(values, np.uint8)[low:high]
    if validity is not None:
        bits = bits & np.frombuffer(validity, np.uint8)[low:high]
    unpacked = np.unpackbits(bits, bitorder="little")
    return unpacked[first - low * 8 :][:count].view(np.bool_)


def _is_arrow(expression: object) -> bool:
    import pyarrow.compute as pc

    return isinstance(expression, pc.Expression)


def split_filter(condition: Filter, names: Collection[str]) -> tuple[Filter | None, Filter | None]:
    """Two conditions whose AND is ``condition``: only the second one needs the columns ``names``.

    None for one that is empty. Only the operands of an AND of SQL are taken apart.
    """
    if not any(path[0] in names for path in condition.columns):
        return condition, None
    load(Part.SQL)
    from lance_core.dataset.expressions.sql.expression import SqlExpression
    from lance_core.dataset.expressions.sql.nodes.evaluate import paths
    from lance_core.dataset.expressions.sql.nodes.node import And, operands_of
    from lance_core.dataset.expressions.sql.operators.logic import all_of

    if not isinstance(condition.condition, SqlExpression):
        return None, condition
    parts: tuple[list[Node], list[Node]] = [], []
    for operand in operands_of(condition.condition.node, And):
        parts[any(path[0] in names for path in paths([operand]))].append(operand)
    ands = [SqlExpression("", all_of(nodes)) if nodes else None for nodes in parts]
    first, second = [
        None if condition_part is None else Filter(condition_part.columns, condition_part)
        for condition_part in ands
    ]
    return first, second
