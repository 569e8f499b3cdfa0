"""Functions of integers: gcd, lcm, factorial."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.sql_functions import Node, bits, call, converted, null

_FACTORIALS = np.array([math.factorial(number) for number in range(21)])
"""All factorials that fit into 64 bits."""


def greatest_common_divisor(node: Node, other: Node) -> Node:
    """The largest integer that divides both, as int64; ``gcd(0, 0)`` is 0."""
    return _of_integers("gcd", _gcd, node, other)


def least_common_multiple(node: Node, other: Node) -> Node:
    """The smallest positive integer that both divide, as int64; 0 if one is 0."""
    return _of_integers("lcm", _lcm, node, other)


def factorial(node: Node) -> Node:
    """The factorial of an integer from 0 to 20, as int64; an error for other integers."""
    return _of_integers("factorial", _factorial, node)


def _of_integers(name: str, function: Callable[..., bits.IntArray], *nodes: Node) -> Node:
    for node in nodes:
        if not pa.types.is_integer(node.type) and not pa.types.is_null(node.type):
            raise InvalidInputError(f"{name} needs integers, not {node.type}")
        if pa.types.is_null(node.type):
            return null(pa.int64())
    sides = [converted(node, pa.int64()) for node in nodes]
    kernel = functools.partial(bits.of_arrays, function=function, kind=pa.int64())
    return call(name, kernel, *sides, kind=pa.int64())


def _gcd(a: bits.IntArray, b: bits.IntArray) -> bits.IntArray:
    # Without a sign, as the absolute value of the smallest int64 is no int64.
    result = np.gcd(_sizes(a), _sizes(b))
    _check("gcd", result > np.iinfo(np.int64).max, a, b)
    return result.astype(np.int64)


def _lcm(a: bits.IntArray, b: bits.IntArray) -> bits.IntArray:
    sizes = _sizes(a), _sizes(b)
    divisor = np.maximum(np.gcd(*sizes), 1)
    part, other = sizes[0] // divisor, sizes[1]
    most = np.uint64(np.iinfo(np.int64).max)
    _check("lcm", (other > 0) & (part > most // np.maximum(other, 1)), a, b)
    return (part * other).astype(np.int64)


def _factorial(numbers: bits.IntArray) -> bits.IntArray:
    _check("factorial", (numbers < 0) | (numbers >= len(_FACTORIALS)), numbers)
    return _FACTORIALS[numbers]


def _sizes(numbers: bits.IntArray) -> bits.IntArray:
    """The absolute values as uint64."""
    sizes = numbers.view(np.uint64)
    return np.where(numbers < 0, -sizes, sizes)


def _check(name: str, wrong: npt.NDArray[np.bool_], *numbers: bits.IntArray) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        arguments = ", ".join(str(side[row]) for side in numbers)
        raise InvalidInputError(f"{name}({arguments}) does not fit into 64 bits")
