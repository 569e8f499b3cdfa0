"""The functions of aggregates: their partial results, and how Spark computes the final one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import Column
from pyspark.sql import types as st

from lance_core.errors import InvalidTypeError
from lance_core_spark.table.aggregates.states import MAX_DIGITS, State

MAX_BIGINT = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of the values of a scanned column.

    ``states``: its partial results. ``distinct``: the columns whose distinct values it needs.
    ``final``: the result from the columns of ``states`` and those of the distinct values.
    """

    states: tuple[State, ...]
    final: Callable[[Sequence[Column]], Column]
    distinct: tuple[int, ...] = ()


def _sum(name: str, column: int | None, values: pa.DataType) -> Aggregate:
    _check_number("sum", name, values)
    assert column is not None
    state = State.sum_of(column, values)

    def final(columns: Sequence[Column]) -> Column:
        total = sf.sum(columns[0])
        if pa.types.is_floating(values):
            return total
        if pa.types.is_decimal(values):
            return _decimal_sum(name, columns[0], values)
        fits = total.isNull() | total.between(-MAX_BIGINT - 1, MAX_BIGINT)
        message = sf.lit(f"the sum {name!r} is not a bigint: sum decimals instead")
        return sf.when(fits, total).otherwise(sf.raise_error(message)).cast("bigint")

    return Aggregate((state,), final)


def _decimal_sum(name: str, sums: Column, values: pa.DataType) -> Column:
    """The sum of partial sums in the type that Spark has for it.

    Without ``spark.sql.ansi.enabled`` Spark makes nulls of sums that do not fit; here they are
    errors.
    """
    total = sf.sum(sums).cast(_sum_type(values))
    is_lost = total.isNull() & (sf.count(sums) > 0)
    message = sf.lit(f"the sum {name!r} does not fit into {_sum_type(values).simpleString()}")
    return sf.when(is_lost, sf.raise_error(message)).otherwise(total)


def _avg(name: str, column: int | None, values: pa.DataType) -> Aggregate:
    _check_number("avg", name, values)
    assert column is not None
    states = (State.sum_of(column, values), State("count", column, pa.int64()))

    def final(columns: Sequence[Column]) -> Column:
        count = sf.nullif(sf.sum(columns[1]), sf.lit(0))
        if pa.types.is_decimal(values):
            return _decimal_avg(_decimal_sum(name, columns[0], values), count, values)
        return sf.sum(columns[0]).cast("double") / count

    return Aggregate(states, final)


def _decimal_avg(total: Column, count: Column, values: pa.DataType) -> Column:
    """The average in the type that Spark has for it, rounded once, as Spark does.

    A quotient of decimals with many digits has few behind its point, so the whole number and the
    fraction are divided on their own.
    """
    digits, scale = (min(n + 4, MAX_DIGITS) for n in (values.precision, values.scale))
    count = count.cast(st.DecimalType(15, 0))
    rest = total % count
    whole = ((total - rest) / count).cast(
        st.DecimalType(max(min(digits, MAX_DIGITS - 1) - scale, 1), 0)
    )
    fraction = (rest / count).cast(st.DecimalType(min(scale + 1, MAX_DIGITS), scale))
    return (whole + fraction).cast(st.DecimalType(digits, scale))


def _count(name: str, column: int | None, values: pa.DataType) -> Aggregate:
    state = State("count", column, pa.int64())
    return Aggregate((state,), lambda columns: sf.coalesce(sf.sum(columns[0]), sf.lit(0)))


def _count_distinct(name: str, column: int | None, values: pa.DataType) -> Aggregate:
    assert column is not None
    return Aggregate((), lambda columns: sf.count_distinct(columns[0]), (column,))


def _min(name: str, column: int | None, values: pa.DataType) -> Aggregate:
    return Aggregate((State("min", column, values),), lambda columns: sf.min(columns[0]))


def _max(name: str, column: int | None, values: pa.DataType) -> Aggregate:
    return Aggregate((State("max", column, values),), lambda columns: sf.max(columns[0]))


FUNCTIONS: dict[str, Callable[[str, int | None, pa.DataType], Aggregate]] = {
    "sum": _sum,
    "count": _count,
    "count_distinct": _count_distinct,
    "min": _min,
    "max": _max,
    "avg": _avg,
}
"""The functions by their names. They get the name of the result, the position of the scanned
column (None for a count of rows), and the type of its values."""


def _sum_type(values: pa.DataType) -> st.DecimalType:
    """The type that Spark has for a sum of decimals."""
    return st.DecimalType(min(values.precision + 10, MAX_DIGITS), values.scale)


def _check_number(function: str, name: str, values: pa.DataType) -> None:
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if not any(check(values) for check in checks):
        raise InvalidTypeError(f"the aggregate {name!r}: {function} needs numbers, not {values}")
