"""The operators of bits & | ^ << >>, and functions of numpy arrays of integers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    Constant,
    Datum,
    Infix,
    Kernel,
    Node,
    call,
    null,
)
from lance_core.dataset.expressions.sql.values.coerce import common_type, converted, plain
from lance_core.dataset.expressions.sql.values.exact import fitted
from lance_core.encodings.arrow.numpy_values import from_numpy, to_scalar
from lance_core.errors import InvalidInputError

IntArray = npt.NDArray[Any]


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
    type_ = common_type(left.type, right.type)
    if type_ is None or not all(
        pa.types.is_integer(part) for part in (left.type, right.type, type_)
    ):
        raise InvalidInputError(f"{operator} does not work on {left.type}, {right.type}")
    return call(Infix(operator), BITS[operator], converted(left, type_), converted(right, type_))


def _fitting(node: Node, other: pa.DataType) -> Node:
    """A literal beside uint64, with which no integer type is common, in this type if it fits."""
    if not isinstance(node, Constant) or other != pa.uint64() or node.type == other:
        return node
    return (fitted(node, other) or node) if pa.types.is_integer(node.type) else node


def shift_left(value: Datum, amount: Datum) -> Datum:
    """The kernel of <<."""
    return of_arrays(value, amount, function=_left, kind=value.type)


def shift_right(value: Datum, amount: Datum) -> Datum:
    """The kernel of >>; the sign stays."""
    return of_arrays(value, amount, function=_right, kind=value.type)


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


def of_arrays(*values: Datum, function: Callable[..., IntArray], kind: pa.DataType) -> Datum:
    """``function`` of numpy arrays; NULL where a value is NULL, instead of which it gets 1."""
    arrays = [value for value in values if not isinstance(value, pa.Scalar)]
    if not arrays:
        repeated = [pa.repeat(value, 1) for value in values]
        return of_arrays(*repeated, function=function, kind=kind)[0]
    length = len(arrays[0])
    sides = [pa.repeat(v, length) if isinstance(v, pa.Scalar) else v for v in values]
    missing = functools.reduce(pc.or_, [pc.is_null(side) for side in sides])
    present = [pc.if_else(missing, to_scalar(1, side.type), side) for side in sides]
    result = from_numpy(function(*[np.asarray(side) for side in present]))
    return pc.if_else(missing, to_scalar(None, kind), result)
