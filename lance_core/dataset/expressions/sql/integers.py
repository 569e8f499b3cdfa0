"""Functions and operators of integers: shifts and bits, gcd, lcm, factorial."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.coerce import common_type, converted, plain
from lance_core.dataset.expressions.sql.function import Function
from lance_core.dataset.expressions.sql.node import Datum, Kernel, Node, call, null
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.errors import InvalidInputError

IntArray = npt.NDArray[Any]

_FACTORIALS = np.array([math.factorial(number) for number in range(21)])
"""All factorials that fit into 64 bits."""


def bits(operator: str, left: Node, right: Node) -> Node:
    """``left operator right`` for integers; the operator is one of & | ^ << >>.

    The result has the common type of both. A shift moves by the rest of its amount and the width of
    the type, as processors and pylance do (``x << 64`` is ``x``); bits that leave are lost. Raises
    `InvalidInputError` for other types than integers.
    """
    left, right = plain(left), plain(right)
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return null(right.type if pa.types.is_null(left.type) else left.type)
    kind = common_type(left.type, right.type)
    if kind is None or not all(pa.types.is_integer(part) for part in (left.type, right.type, kind)):
        raise InvalidInputError(f"{operator} does not work on {left.type}, {right.type}")
    return call(operator, BITS[operator], converted(left, kind), converted(right, kind))


def inverted(node: Node) -> Node:
    """``~node``: all bits of an integer inverted."""
    node = plain(node)
    if not pa.types.is_integer(node.type) and not pa.types.is_null(node.type):
        raise InvalidInputError(f"~ does not work on {node.type}")
    return node if pa.types.is_null(node.type) else call("~", pc.bit_wise_not, node)


def _shifted(value: Datum, amount: Datum, kernel: Kernel) -> Datum:
    kind = value.type
    unsigned = pa.from_numpy_dtype(f"u{kind.bit_width // 8}")
    amount = pc.cast(amount, unsigned, safe=False)
    amount = pc.bit_wise_and(amount, pa.scalar(kind.bit_width - 1, unsigned))
    return kernel(value, pc.cast(amount, kind))


def shift_left(value: Datum, amount: Datum) -> Datum:
    """The kernel of <<."""
    return _shifted(value, amount, pc.shift_left)


def shift_right(value: Datum, amount: Datum) -> Datum:
    """The kernel of >>; the sign stays."""
    return _shifted(value, amount, pc.shift_right)


BITS: Mapping[str, Kernel] = {
    "&": pc.bit_wise_and,
    "|": pc.bit_wise_or,
    "^": pc.bit_wise_xor,
    "<<": shift_left,
    ">>": shift_right,
}


def greatest_common_divisor(node: Node, other: Node) -> Node:
    """The largest integer that divides both, as int64; ``gcd(0, 0)`` is 0."""
    return _of_integers("gcd", _gcd, node, other)


def least_common_multiple(node: Node, other: Node) -> Node:
    """The smallest positive integer that both divide, as int64; 0 if one is 0."""
    return _of_integers("lcm", _lcm, node, other)


def factorial(node: Node) -> Node:
    """The factorial of an integer from 0 to 20, as int64; an error for other integers."""
    return _of_integers("factorial", _factorial, node)


def _of_integers(name: str, function: Callable[..., IntArray], *nodes: Node) -> Node:
    for node in nodes:
        if not pa.types.is_integer(node.type) and not pa.types.is_null(node.type):
            raise InvalidInputError(f"{name} needs integers, not {node.type}")
        if pa.types.is_null(node.type):
            return null(pa.int64())
    sides = [converted(node, pa.int64()) for node in nodes]
    return call(name, functools.partial(_values, function=function), *sides, kind=pa.int64())


def _values(*values: Datum, function: Callable[..., IntArray]) -> Datum:
    arrays = [value for value in values if not isinstance(value, pa.Scalar)]
    if not arrays:
        return _values(*[pa.repeat(value, 1) for value in values], function=function)[0]
    length = len(arrays[0])
    sides = [pa.repeat(v, length) if isinstance(v, pa.Scalar) else v for v in values]
    missing = functools.reduce(pc.or_, [pc.is_null(side) for side in sides])
    numbers = [np.asarray(pc.fill_null(pc.if_else(missing, 1, side), 1)) for side in sides]
    return pc.if_else(missing, pa.scalar(None, pa.int64()), from_numpy(function(*numbers)))


def _gcd(a: IntArray, b: IntArray) -> IntArray:
    # Without a sign, as the absolute value of the smallest int64 is no int64.
    result = np.gcd(_sizes(a), _sizes(b))
    _check("gcd", result > np.iinfo(np.int64).max, a, b)
    return result.astype(np.int64)


def _lcm(a: IntArray, b: IntArray) -> IntArray:
    sizes = _sizes(a), _sizes(b)
    divisor = np.maximum(np.gcd(*sizes), 1)
    part, other = sizes[0] // divisor, sizes[1]
    most = np.uint64(np.iinfo(np.int64).max)
    _check("lcm", (other > 0) & (part > most // np.maximum(other, 1)), a, b)
    return (part * other).astype(np.int64)


def _factorial(numbers: IntArray) -> IntArray:
    _check("factorial", (numbers < 0) | (numbers >= len(_FACTORIALS)), numbers)
    return _FACTORIALS[numbers]


def _sizes(numbers: IntArray) -> IntArray:
    """The absolute values as uint64."""
    bits = numbers.view(np.uint64)
    return np.where(numbers < 0, -bits, bits)


def _check(name: str, wrong: npt.NDArray[np.bool_], *numbers: IntArray) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        arguments = ", ".join(str(side[row]) for side in numbers)
        raise InvalidInputError(f"{name}({arguments}) does not fit into 64 bits")


FUNCTIONS = (
    Function(
        *("gcd", greatest_common_divisor, "integer, integer"),
        "The largest integer that divides both.",
    ),
    Function(
        *("lcm", least_common_multiple, "integer, integer"),
        "The smallest positive integer that both divide; 0 if one is 0.",
    ),
    Function("factorial", factorial, "integer", "The factorial of an integer from 0 to 20."),
)
