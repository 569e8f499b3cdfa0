"""Numeric functions. Unless stated otherwise, integers and decimals are converted to float64."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.arrays import from_numpy
from lance_core.sql_functions import (
    Apply,
    Datum,
    Kernel,
    Node,
    arithmetic,
    as_float,
    as_number,
    call,
    common_type,
    constant,
    converted,
    literals_beside_floats,
    logic,
)


def absolute(node: Node) -> Node:
    """The absolute value in the argument's type; an error for the smallest integer of the type."""
    node = as_number("abs", node)
    if pa.types.is_float16(node.type):  # Arrow has no kernel for half floats
        return converted(call("abs", pc.abs, converted(node, pa.float32())), node.type)
    operator = Apply("abs", never_fails=bool(pa.types.is_floating(node.type)))
    return call(operator, pc.abs_checked, node)


def pi() -> Node:
    """The number pi as float64."""
    return constant(math.pi)


def _of_numpy(value: Datum, function: Callable[[Any], Any]) -> Datum:
    if isinstance(value, pa.Scalar):
        return _of_numpy(pa.repeat(value, 1), function)[0]
    floats = np.asarray(pc.fill_null(value, 0) if value.null_count else value)
    # In 64 bits, so that a float32 is rounded once.
    result = from_numpy(function(floats.astype(np.float64)).astype(floats.dtype))
    return pc.if_else(pc.is_null(value), pa.scalar(None, value.type), result)


def _apply(what: str, kernel: Kernel, node: Node) -> Node:
    return call(what, kernel, as_float(what, node))


def _of_float(name: str, kernel: Kernel) -> Callable[[Node], Node]:
    """The function ``name`` of one float; outside of its domain it returns NaN."""
    return functools.partial(_apply, name, kernel)


sign = _of_float("sign", pc.sign)
sqrt = _of_float("sqrt", pc.sqrt)
exp = _of_float("exp", pc.exp)
ln = _of_float("ln", pc.ln)
log10 = _of_float("log10", pc.log10)
log2 = _of_float("log2", pc.log2)
sin = _of_float("sin", pc.sin)
cos = _of_float("cos", pc.cos)
tan = _of_float("tan", pc.tan)
asin = _of_float("asin", pc.asin)
acos = _of_float("acos", pc.acos)
atan = _of_float("atan", pc.atan)
sinh = _of_float("sinh", pc.sinh)
cosh = _of_float("cosh", pc.cosh)
tanh = _of_float("tanh", pc.tanh)
asinh = _of_float("asinh", pc.asinh)
acosh = _of_float("acosh", pc.acosh)
atanh = _of_float("atanh", pc.atanh)
cbrt = _of_float("cbrt", functools.partial(_of_numpy, function=np.cbrt))
cot = _of_float("cot", lambda value: pc.divide(pa.scalar(1.0, value.type), pc.tan(value)))
degrees = _of_float(
    "degrees", lambda value: pc.multiply(value, pa.scalar(180 / math.pi, value.type))
)
radians = _of_float(
    "radians", lambda value: pc.multiply(value, pa.scalar(math.pi / 180, value.type))
)


def remainder(node: Node, other: Node) -> Node:
    """The remainder, with the sign of the first number."""
    return arithmetic.binary("%", node, other)


def atan2(node: Node, other: Node) -> Node:
    """The angle of the point (``other``, ``node``)."""
    return call("atan2", pc.atan2, as_float("atan2", node), as_float("atan2", other))


def log(node: Node, value: Node | None = None) -> Node:
    """``log(x)``: the logarithm to base 10; ``log(b, x)``: to base ``b``."""
    if value is None:
        return _apply("log10", pc.log10, node)
    base, value = as_float("log", node), as_float("log", value)
    data_type = common_type(base.type, value.type)
    return call("log", _logb, converted(value, data_type), converted(base, data_type))


def _logb(value: Datum, base: Datum) -> Datum:
    """The quotient of both logarithms: NaN for zero to a base that is infinite or NaN."""
    result = pc.logb(value, base)
    is_undefined = pc.and_(pc.equal(value, pa.scalar(0, value.type)), pc.invert(pc.is_finite(base)))
    nan = pa.scalar(float("nan"), result.type)
    return pc.if_else(pc.fill_null(is_undefined, False), nan, result)


def power(node: Node, exponent: Node) -> Node:
    """``node`` to the power of ``exponent``, as float64."""
    sides = [converted(as_number("power", side), pa.float64()) for side in (node, exponent)]
    return call("power", pc.power, *sides)


def is_nan(node: Node) -> Node:
    """True for NaN; always false for integers and decimals."""
    node = as_number("isnan", node)
    if not pa.types.is_floating(node.type):
        return logic.same_for_all(node, False)
    return call(Apply("isnan", never_fails=True), pc.is_nan, as_float("isnan", node))


def is_zero(node: Node) -> Node:
    """True for 0 and -0."""
    return call("iszero", _is_zero, as_float("iszero", node))


def instead_of_nan(node: Node, other: Node) -> Node:
    """The number, or ``other`` where it is NaN."""
    node, other = (as_float("nanvl", side) for side in literals_beside_floats([node, other]))
    data_type = common_type(node.type, other.type)
    return call("nanvl", _instead_of_nan, converted(node, data_type), converted(other, data_type))


def _is_zero(value: Datum) -> Datum:
    return pc.equal(value, pa.scalar(0, value.type))


def _instead_of_nan(value: Datum, other: Datum) -> Datum:
    return pc.if_else(pc.is_nan(value), other, value)
