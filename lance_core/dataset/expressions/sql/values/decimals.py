"""Decimals: the types of results, and exact arithmetic.

The precision and scale of a result are those of DataFusion: a sum has the larger scale and one
digit more than the longer operand, a product the sum of the scales and of the precisions (plus
one), a quotient four digits after the point more than the dividend (further digits are dropped).
A result of more than 38 digits has 38 if these suffice for the digits before the point of both
operands, and otherwise up to 76 (``decimal256``). Only a value that does not fit is an error.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    Coerce,
    Constant,
    Datum,
    Infix,
    Node,
    call,
)
from lance_core.dataset.expressions.sql.values import wide_integers
from lance_core.dataset.expressions.sql.values.exact import exact_decimal
from lance_core.dataset.expressions.sql.values.wide_integers import Integers
from lance_core.errors import InvalidInputError

MAX_DIGITS = 76
"""The precision of the widest decimals."""

MAX_128 = 38
"""The precision of the widest decimals of 128 bits."""

_NATIVE = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""The number of decimal digits of the largest integer, by bit width."""


def decimal_type(digits: int, scale: int) -> pa.DataType:
    """The decimal type with 128 bits if they are enough, otherwise with 256."""
    return pa.decimal128(digits, scale) if digits <= MAX_128 else pa.decimal256(digits, scale)


def of_integer(data_type: pa.DataType) -> pa.DataType:
    """The decimal type that holds all integers of type ``data_type``."""
    return pa.decimal128(_INTEGER_DIGITS[data_type.bit_width], 0)


def as_decimal(node: Node) -> Node | None:
    """A decimal, an integer or an exact literal as a decimal; None for other nodes."""
    if pa.types.is_decimal(node.type):
        return node
    if pa.types.is_integer(node.type):
        type_ = of_integer(node.type)
        return call(Coerce(type_), functools.partial(_cast, type_=type_), node)
    return exact_decimal(node) if isinstance(node, Constant) else None


def _cast(value: Datum, type_: pa.DataType) -> Datum:
    return pc.cast(value, type_)


def result_type(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type of ``left operator right`` for two decimal types."""
    digits, scale = _digits(operator, left, right)
    if max(left.bit_width, right.bit_width) <= 128:
        before = max(left.precision - left.scale, right.precision - right.scale)
        if digits <= MAX_128 or MAX_128 - scale >= before:
            return pa.decimal128(min(digits, MAX_128), scale)
    return pa.decimal256(min(digits, MAX_DIGITS), min(scale, MAX_DIGITS))


def _digits(operator: str, left: pa.DataType, right: pa.DataType) -> tuple[int, int]:
    """Precision and scale of a result without limits of the precision."""
    before = left.precision - left.scale, right.precision - right.scale
    if operator == "*":
        return left.precision + right.precision + 1, left.scale + right.scale
    if operator == "/":
        is_long = max(left.bit_width, right.bit_width) > 128
        scale = min(left.scale + 4, MAX_DIGITS if is_long else MAX_128)
        return max(before[0] + right.scale + scale, 1), scale
    scale = max(left.scale, right.scale)
    if operator == "%":
        return max(min(before) + scale, 1), scale
    return max(before) + scale + 1, scale


def arithmetic(operator: str, left: Node, right: Node) -> Node:
    """``left operator right`` for two decimals; the operator is one of + - * / %."""
    type_ = result_type(operator, left.type, right.type)
    if type_.bit_width > 128 and operator != "%":
        # A literal with few digits needs a shorter result than its type would.
        left, right = _shortened(left), _shortened(right)
        type_ = result_type(operator, left.type, right.type)
    if type_.bit_width == 128 and _fits_natively(operator, left.type, right.type):
        return call(Infix(operator), _NATIVE[operator], left, right)
    kernel = functools.partial(exactly, operator=operator, kind=type_)
    return call(Infix(operator), kernel, left, right, kind=type_)


def _shortened(node: Node) -> Node:
    return (exact_decimal(node) or node) if isinstance(node, Constant) else node


def _fits_natively(operator: str, left: pa.DataType, right: pa.DataType) -> bool:
    """True if Arrow computes the operation, with the same type."""
    return operator in _NATIVE and _digits(operator, left, right)[0] <= MAX_128


def exactly(left: Datum, right: Datum, operator: str, kind: pa.DataType) -> Datum:
    """The kernel of arithmetic that may need more than 128 bits."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return exactly(pa.repeat(left, 1), right, operator, kind)[0]
    missing = missing_rows(left, right)
    scales = left.type.scale, right.type.scale
    a, b = (wide_integers.stored_integers(_array(side)) for side in (left, right))
    if missing is not None:
        valid = ~np.asarray(missing)
        a, b = np.where(valid, a, 0), np.where(valid, b, 1)
    if operator in "/%" and not np.all(b):
        if len(a) and len(b):
            raise InvalidInputError("divide by zero")
        b = np.ones(1, np.int64)  # no row is divided
    result = _computed(operator, a, b, scales, kind.scale)
    if missing is not None:
        result = np.where(valid, result, 0)
    check_digits(result, kind)
    return wide_integers.stored_decimals(result, missing, kind)


def _computed(
    operator: str, a: Integers, b: Integers, scales: tuple[int, int], scale: int
) -> Integers:
    """The stored integers of the result, which has ``scale``; ``scales``: of ``a`` and ``b``."""
    if operator == "*":
        a, b = wide_integers.sized(wide_integers.largest(a) * wide_integers.largest(b), a, b)
        return wide_integers.without_digits(a * b, sum(scales) - scale, "half")
    if operator == "/":
        exponent = scale - scales[0] + scales[1]
        a = wide_integers.scaled(a, max(exponent, 0))
        return wide_integers.quotients(a, wide_integers.scaled(b, max(-exponent, 0)))
    a = wide_integers.scaled(a, scale - scales[0])
    b = wide_integers.scaled(b, scale - scales[1])
    if operator == "%":
        return wide_integers.remainders(a, b)
    a, b = wide_integers.sized(wide_integers.largest(a) + wide_integers.largest(b), a, b)
    return a + b if operator == "+" else a - b


def _array(value: Datum) -> pa.Array:
    return pa.repeat(value, 1) if isinstance(value, pa.Scalar) else value


def missing_rows(*values: Datum) -> pa.Array | None:
    """True for rows in which a value is NULL; None if there are none."""
    masks = [pc.is_null(value) for value in values if not _is_complete(value)]
    if not masks:
        return None
    length = max(len(value) for value in values if not isinstance(value, pa.Scalar))
    masks = [pa.repeat(mask, length) if isinstance(mask, pa.Scalar) else mask for mask in masks]
    return functools.reduce(pc.or_, masks)


def _is_complete(value: Datum) -> bool:
    return value.is_valid if isinstance(value, pa.Scalar) else not value.null_count


def check_digits(integers: Integers, data_type: pa.DataType) -> None:
    """Raise `InvalidInputError` if an integer does not fit into the decimal type ``data_type``."""
    above = wide_integers.beyond(integers, data_type.precision)
    if above is not None:
        value = int(integers[int(np.argmax(above))])
        raise InvalidInputError(
            f"{number_text(value, data_type.scale)} does not fit into {data_type}"
        )


def number_text(integer: int, scale: int) -> str:
    """The decimal number ``integer / 10 ** scale``."""
    if scale <= 0:
        return f"{integer}{'0' * -scale}" if integer else "0"
    digits = str(abs(integer)).rjust(scale + 1, "0")
    return f"{'-' if integer < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def with_exact_literals(nodes: Sequence[Node]) -> list[Node]:
    """The nodes; beside a decimal, literals such as ``0.5`` become decimals as well."""
    if not any(pa.types.is_decimal(node.type) for node in nodes):
        return list(nodes)
    return [_shortened(node) if pa.types.is_floating(node.type) else node for node in nodes]
