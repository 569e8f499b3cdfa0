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
from lance_core.dataset.expressions.sql.exact import fitted
from lance_core.dataset.expressions.sql.function import Function
from lance_core.dataset.expressions.sql.node import Constant, Datum, Infix, Kernel, Node, call, null
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
    left, right = _fitting(left, right.type), _fitting(right, left.type)
    kind = common_type(left.type, right.type)
    if kind is None or not all(pa.types.is_integer(part) for part in (left.type, right.type, kind)):
        raise InvalidInputError(f"{operator} does not work on {left.type}, {right.type}")
    return call(Infix(operator), BITS[operator], converted(left, kind), converted(right, kind))


def inverted(node: Node) -> Node:
    """``~node``: all bits of an integer inverted."""
    node = plain(node)
    if not pa.types.is_integer(node.type) and not pa.types.is_null(node.type):
        raise InvalidInputError(f"~ does not work on {node.type}")
    return node if pa.types.is_null(node.type) else call(Infix("~"), pc.bit_wise_not, node)


def _fitting(node: Node, other: pa.DataType) -> Node:
    """A literal beside uint64, with which no integer type is common, in this type if it fits."""
    if not isinstance(node, Constant) or other != pa.uint64() or node.type == other:
        return node
    return (fitted(node, other) or node) if pa.types.is_integer(node.type) else node


def shift_left(value: Datum, amount: Datum) -> Datum:
    """The kernel of <<."""
    return _of_arrays(value, amount, function=_left, kind=value.type)


def shift_right(value: Datum, amount: Datum) -> Datum:
    """The kernel of >>; the sign stays."""
    return _of_arrays(value, amount, function=_right, kind=value.type)


# Arrow's own kernels do not shift by the width minus one.
def _left(numbers: IntArray, amounts: IntArray) -> IntArray:
    bits = numbers.view(f"u{numbers.dtype.itemsize}")
    result: IntArray = np.left_shift(bits, _steps(amounts)).view(numbers.dtype)
    return result


def _right(numbers: IntArray, amounts: IntArray) -> IntArray:
    return np.right_shift(numbers, _steps(amounts).view(numbers.dtype))


def _steps(amounts: IntArray) -> IntArray:
    bits = amounts.view(f"u{amounts.dtype.itemsize}")
    steps: IntArray = bits & bits.dtype.type(8 * bits.itemsize - 1)
    return steps


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
    kernel = functools.partial(_of_arrays, function=function, kind=pa.int64())
    return call(name, kernel, *sides, kind=pa.int64())


def _of_arrays(*values: Datum, function: Callable[..., IntArray], kind: pa.DataType) -> Datum:
    """``function`` of numpy arrays; NULL where a value is NULL, instead of which it gets 1."""
    arrays = [value for value in values if not isinstance(value, pa.Scalar)]
    if not arrays:
        repeated = [pa.repeat(value, 1) for value in values]
        return _of_arrays(*repeated, function=function, kind=kind)[0]
    length = len(arrays[0])
    sides = [pa.repeat(v, length) if isinstance(v, pa.Scalar) else v for v in values]
    missing = functools.reduce(pc.or_, [pc.is_null(side) for side in sides])
    present = [pc.if_else(missing, pa.scalar(1, side.type), side) for side in sides]
    result = from_numpy(function(*[np.asarray(side) for side in present]))
    return pc.if_else(missing, pa.scalar(None, kind), result)


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
