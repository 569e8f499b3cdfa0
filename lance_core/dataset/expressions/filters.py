"""Filters and computed columns, from SQL text or from a `pyarrow.compute.Expression`.

SQL has the semantics of pylance (three-valued logic, NaN above all numbers); an Arrow expression
keeps Arrow's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.on_demand import Part, load

if TYPE_CHECKING:
    # Arrow's compute functions take a fifth of the time to import this library; only expressions
    # need them.
    import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


class Computed(Protocol):
    """Something that has one value for each row."""

    @property
    def type(self) -> pa.DataType:
        """Of the values."""

    @property
    def nullable(self) -> bool:
        """Whether a value may be NULL, as far as the schema tells."""

    @property
    def metadata(self) -> Mapping[bytes, bytes] | None:
        """Of the field that holds the values."""

    @property
    def path(self) -> tuple[str, ...] | None:
        """Of names, if the value is that of a column or of a member of structs."""

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """Paths of names of all columns that it needs, perhaps some more."""

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        """The values, of type `type`. ``data`` needs to have `columns` only."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on rows.

    ``columns``: paths of names from a top-level column, all that the condition needs and perhaps
    some more.
    """

    columns: tuple[tuple[str, ...], ...]
    condition: Computed

    def mask(self, data: pa.Table) -> Mask:
        """Which rows fulfil the condition; NULL counts as false.

        ``data`` needs to have `columns` only. Raises `InvalidInputError` if the values do not
        allow the condition to be computed (overflow, division by zero, …).
        """
        result = self.condition.evaluate(data)
        if result.num_chunks == 1:
            return _mask(result.chunk(0))
        return np.concatenate([np.empty(0, bool), *map(_mask, result.chunks)])


@dataclass(frozen=True, slots=True)
class Value:
    """A value computed for each row. ``columns`` as in `Filter`."""

    columns: tuple[tuple[str, ...], ...]
    computed: Computed

    @property
    def type(self) -> pa.DataType:
        """Of the values."""
        return self.computed.type

    @property
    def path(self) -> tuple[str, ...] | None:
        """Of names, if nothing is computed."""
        return self.computed.path

    def field(self, name: str) -> pa.Field:
        """The field of the result: with NOT NULL and metadata where the expression keeps them."""
        return pa.field(name, self.type, self.computed.nullable, self.computed.metadata)

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        """The values, of type `type`. Raises as `Filter.mask`."""
        return self.computed.evaluate(data)


def as_filter(filter: str | pc.Expression, schema: pa.Schema) -> Filter:
    """The condition that a user wrote.

    Raises `InvalidInputError` for what cannot be parsed, names unknown columns or is not boolean,
    and `UnsupportedFeatureError` naming an SQL construct that is not known here.
    """
    condition: Computed
    if isinstance(filter, str):
        load(Part.SQL)
        from lance_core.dataset.expressions.sql.expression import filter_expression

        _refuse_surrogates(filter)
        condition = filter_expression(filter, schema)
    elif _is_arrow(filter):
        load(Part.ARROW)
        from lance_core.dataset.expressions.arrow_expression import ArrowExpression

        condition = ArrowExpression.bind(filter, schema)
        if not pa.types.is_boolean(condition.type):
            raise InvalidInputError(f"the filter {filter} is not boolean but {condition.type}")
    else:
        raise InvalidInputError(
            f"a filter is an SQL string or a pyarrow.compute.Expression, got {type(filter)}"
        )
    return Filter(condition.columns, condition)


def as_value(sql: str | pc.Expression, schema: pa.Schema) -> Value:
    """The computed column that a user wrote; text that is a column's name is that column.

    Raises as `as_filter`.
    """
    computed: Computed
    if isinstance(sql, str):
        load(Part.SQL)
        from lance_core.dataset.expressions.sql.expression import value_expression

        _refuse_surrogates(sql)
        computed = value_expression(sql, schema)
    elif _is_arrow(sql):
        load(Part.ARROW)
        from lance_core.dataset.expressions.arrow_expression import ArrowExpression

        computed = ArrowExpression.bind(sql, schema)
    else:
        raise InvalidInputError(
            f"a value is an SQL string or a pyarrow.compute.Expression, got {type(sql)}"
        )
    return Value(computed.columns, computed)


def _refuse_surrogates(sql: str) -> None:
    """Arrow has no text with lone surrogates."""
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"the expression is no Unicode text: a lone surrogate at character {error.start}"
        ) from None


def _mask(chunk: pa.BooleanArray) -> Mask:
    """Bits to bytes; several times faster than Arrow's own way."""
    first, count = chunk.offset, len(chunk)
    low, high = first // 8, -(-(first + count) // 8)
    validity, values = chunk.buffers()
    bits = np.frombuffer(values, np.uint8)[low:high]
    if validity is not None:
        bits = bits & np.frombuffer(validity, np.uint8)[low:high]
    unpacked = np.unpackbits(bits, bitorder="little")
    return unpacked[first - low * 8 :][:count].view(np.bool_)


def _is_arrow(given: object) -> bool:
    import pyarrow.compute as pc

    return isinstance(given, pc.Expression)
