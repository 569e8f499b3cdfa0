"""The operators + - * / % and unary minus.

The result of two integers is an integer: / rounds towards zero, and an overflow or a division by
zero is an error. Floats follow IEEE 754. Decimals have the precision and scale of DataFusion.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    ColumnNode,
    Constant,
    Datum,
    Infix,
    Node,
    call,
    null,
    with_metadata,
)
from lance_core.dataset.expressions.sql.operators import bits
from lance_core.dataset.expressions.sql.values import decimals, intervals
from lance_core.dataset.expressions.sql.values.coerce import (
    common_type,
    converted,
    is_number,
    plain,
)
from lance_core.dataset.expressions.sql.values.exact import fitted
from lance_core.encodings.arrow.numpy_values import from_numpy, to_numpy, to_scalar
from lance_core.errors import InvalidInputError

_CHECKED = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": pc.divide_checked,
}
_PLAIN = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}


def with_column_type(left: Node, right: Node) -> tuple[Node, Node]:
    """The operands; a numeric literal beside a column gets the column's type if the value fits."""
    return _beside(left, right), _beside(right, left)


def _beside(node: Node, other: Node) -> Node:
    if not isinstance(node, Constant) or not isinstance(other, ColumnNode) or node.is_null:
        return node
    if not (is_number(node.type) and is_number(other.type)):
        return node
    if pa.types.is_integer(other.type) and not pa.types.is_integer(node.type):
        return node  # i / 1.0 is a division of floats
    return fitted(node, other.type) or node


def binary(operator: str, left: Node, right: Node) -> Node:
    """``left operator right``. Raises `InvalidInputError` for types without this operation."""
    if operator in bits.BITS:
        return bits.bits(operator, left, right)
    left, right = plain(left), plain(right)
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return null(right.type if pa.types.is_null(left.type) else left.type)
    if not (is_number(left.type) and is_number(right.type)):
        return _temporal(operator, left, right)
    type_ = _result_type(left.type, right.type)
    if any(map(pa.types.is_decimal, (left.type, right.type, type_))):
        if not any(map(pa.types.is_decimal, (left.type, right.type))):
            left, right = converted(left, type_), converted(right, type_)
        exact = decimals.as_decimal(left), decimals.as_decimal(right)
        if exact[0] is not None and exact[1] is not None:
            return decimals.arithmetic(operator, exact[0], exact[1])
    left, right = converted(left, type_), converted(right, type_)
    if pa.types.is_float16(type_):
        wide = binary(operator, converted(left, pa.float32()), converted(right, pa.float32()))
        return converted(wide, type_)
    if operator == "%":
        return call(Infix("%"), remainder, left, right)
    table = _PLAIN if pa.types.is_floating(type_) else _CHECKED
    return call(Infix(operator), table[operator], left, right)


def _result_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The float's type for an integer and a float, otherwise the common type."""
    if pa.types.is_floating(left) and pa.types.is_integer(right):
        return left
    if pa.types.is_integer(left) and pa.types.is_floating(right):
        return right
    return common_type(left, right)


def negative(node: Node) -> Node:
    """Unary minus; raises `InvalidInputError` for unsigned integers."""
    node = plain(node)
    if pa.types.is_null(node.type):
        return node
    if pa.types.is_unsigned_integer(node.type):
        raise InvalidInputError(f"-: {node.type} has no negative values, cast it")
    if pa.types.is_float16(node.type):
        return converted(negative(converted(node, pa.float32())), node.type)
    return with_metadata(call(Infix("-"), pc.negate_checked, node), node.metadata)


def _temporal(operator: str, left: Node, right: Node) -> Node:
    sides = (left.type, right.type)
    if operator not in ("+", "-"):
        raise InvalidInputError(f"{operator} does not work on {left.type}, {right.type}")
    if any(map(pa.types.is_interval, sides)):
        if not any(map(pa.types.is_duration, sides)):
            return intervals.shifted(operator, left, right)
        left, right = (
            intervals.as_duration(side)
            if isinstance(side, Constant) and pa.types.is_interval(side.type)
            else side
            for side in (left, right)
        )
    if all(map(pa.types.is_date, sides)) and operator == "-":
        return call(Infix("-"), _days_between, left, right)
    if all(map(pa.types.is_time, sides)) and operator == "-":
        return _time_between(left, right)
    if all(map(pa.types.is_timestamp, sides)) and (left.type.tz is None) != (right.type.tz is None):
        # A time without a zone is local in the zone of the other.
        type_ = common_type(*sides)
        left, right = converted(left, type_), converted(right, type_)
    families = {str(side.type).split("[", maxsplit=1)[0] for side in (left, right)}
    if families <= {"timestamp", "duration", "date32", "date64"}:
        return call(Infix(operator), _CHECKED[operator], left, right)
    raise InvalidInputError(f"{operator} does not work on {left.type}, {right.type}")


def _time_between(left: Node, right: Node) -> Node:
    """The duration between two times of a day, in the finer of their units."""
    type_ = common_type(left.type, right.type)
    assert type_ is not None
    kernel = functools.partial(_duration_between, type_=pa.duration(type_.unit))
    return call(Infix("-"), kernel, converted(left, type_), converted(right, type_))


def _duration_between(left: Datum, right: Datum, type_: pa.DataType) -> Datum:
    counts = pa.int32() if left.type.bit_width == 32 else pa.int64()
    sides = [pc.cast(pc.cast(side, counts), pa.int64()) for side in (left, right)]
    return pc.cast(pc.subtract(*sides), type_)


def _days_between(left: Datum, right: Datum) -> Datum:
    days = [pc.cast(pc.cast(side, pa.date32()), pa.int32()) for side in (left, right)]
    return pc.subtract(*[pc.cast(side, pa.int64()) for side in days])


def remainder(left: Datum, right: Datum) -> Datum:
    """The kernel of %: the remainder, with the sign of ``left``; Arrow has no kernel for it."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return remainder(pa.array([left]), right)[0]
    type_ = left.type
    divisor = _filled(right)
    dividend = _filled(left)
    if pa.types.is_integer(type_) and not np.all(divisor):
        valid = np.asarray(pc.and_(pc.is_valid(left), pc.is_valid(right)))
        if np.any(valid & (np.asarray(divisor) == 0)):
            raise InvalidInputError("division by zero")
        divisor = np.where(np.asarray(divisor) == 0, 1, divisor).astype(dividend.dtype)
    if pa.types.is_integer(type_) and isinstance(divisor, int) and divisor > 0:
        result = _remainders(dividend, divisor)
    else:
        with np.errstate(invalid="ignore"):
            result = np.fmod(dividend, divisor)
    missing = None
    if _has_nulls(left) or _has_nulls(right):
        missing = to_numpy(pc.or_(pc.is_null(left), pc.is_null(right)))
    if pa.from_numpy_dtype(result.dtype) == type_:
        return from_numpy(result, missing)
    return pa.array(result, type_, mask=missing)


def _has_nulls(value: Datum) -> bool:
    return not value.is_valid if isinstance(value, pa.Scalar) else bool(value.null_count)


def _remainders(values: npt.NDArray[np.integer[Any]], divisor: int) -> npt.NDArray[Any]:
    """Remainders for one positive divisor; much faster than numpy's own remainder function."""
    result: npt.NDArray[Any] = np.floor_divide(values, values.dtype.type(divisor))
    result *= values.dtype.type(divisor)
    np.subtract(values, result, out=result)
    if len(values) and values.min() < 0:
        result[(values < 0) & (result != 0)] -= values.dtype.type(divisor)
    return result


def _filled(value: Datum) -> Any:
    """The values as a numpy array, with 1 for NULL."""
    if _has_nulls(value):
        value = pc.fill_null(value, to_scalar(1, value.type))
    return value.as_py() if isinstance(value, pa.Scalar) else to_numpy(value)
