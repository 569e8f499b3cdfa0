"""Numeric functions. Unless stated otherwise, integers and decimals are converted to float64."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.functions.function import Function
from lance_core.dataset.expressions.sql.nodes.node import Apply, Datum, Kernel, Node, call, constant
from lance_core.dataset.expressions.sql.operators import arithmetic, logic
from lance_core.dataset.expressions.sql.values.coerce import (
    as_float,
    as_number,
    common_type,
    converted,
    literals_beside_floats,
)
from lance_core.encodings.arrow.numpy_values import from_numpy


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


KERNELS: Mapping[str, Kernel] = {
    **{name: getattr(pc, name) for name in ("sign", "sqrt", "exp", "ln", "log10", "log2")},
    **{name: getattr(pc, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(pc, name) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    "cbrt": functools.partial(_of_numpy, function=np.cbrt),
    "cot": lambda value: pc.divide(pa.scalar(1.0, value.type), pc.tan(value)),
    "degrees": lambda value: pc.multiply(value, pa.scalar(180 / math.pi, value.type)),
    "radians": lambda value: pc.multiply(value, pa.scalar(math.pi / 180, value.type)),
}
"""Functions of one float; outside of their domain they return NaN."""


def kernel(name: str) -> Callable[[Node], Node]:
    """The function ``name`` in `KERNELS`."""
    return functools.partial(_apply, name, KERNELS[name])


def atan2(node: Node, other: Node) -> Node:
    """The angle of the point (``other``, ``node``)."""
    return call("atan2", pc.atan2, as_float("atan2", node), as_float("atan2", other))


def log(node: Node, value: Node | None = None) -> Node:
    """``log(x)``: the logarithm to base 10; ``log(b, x)``: to base ``b``."""
    if value is None:
        return _apply("log10", pc.log10, node)
    base, value = as_float("log", node), as_float("log", value)
    kind = common_type(base.type, value.type)
    return call("log", _logb, converted(value, kind), converted(base, kind))


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
    kind = common_type(node.type, other.type)
    return call("nanvl", _instead_of_nan, converted(node, kind), converted(other, kind))


def _apply(what: str, kernel: Kernel, node: Node) -> Node:
    return call(what, kernel, as_float(what, node))


def _is_zero(value: Datum) -> Datum:
    return pc.equal(value, pa.scalar(0, value.type))


def _instead_of_nan(value: Datum, other: Datum) -> Datum:
    return pc.if_else(pc.is_nan(value), other, value)


FUNCTIONS = (
    Function("abs", absolute, "number", "The absolute value, in the type of the number."),
    Function("sign", kernel("sign"), "number", "-1, 0 or 1, by the sign.", ("signum",)),
    Function(
        *("mod", functools.partial(arithmetic.binary, "%"), "number, number"),
        "The remainder, with the sign of the first number.",
    ),
    Function("pi", pi, "", "The number pi."),
    Function("sqrt", kernel("sqrt"), "number", "The square root; NaN for negative numbers."),
    Function("cbrt", kernel("cbrt"), "number", "The cube root."),
    Function(
        "power", power, "number, number", "The first number to the power of the second.", ("pow",)
    ),
    Function("exp", kernel("exp"), "number", "e to the power of the number."),
    Function("ln", kernel("ln"), "number", "The natural logarithm."),
    Function(
        *("log", log, "number, [number]"),
        "The logarithm to base 10; of two numbers, the logarithm of the second to the base of the"
        " first.",
    ),
    Function("log2", kernel("log2"), "number", "The logarithm to base 2."),
    Function("log10", kernel("log10"), "number", "The logarithm to base 10."),
    Function("isnan", is_nan, "number", "True for NaN."),
    Function("iszero", is_zero, "number", "True for 0 and -0."),
    Function(
        "nanvl",
        instead_of_nan,
        "number, number",
        "The first number, or the second where the first is NaN.",
    ),
    Function("sin", kernel("sin"), "number", "The sine of an angle in radians."),
    Function("cos", kernel("cos"), "number", "The cosine of an angle in radians."),
    Function("tan", kernel("tan"), "number", "The tangent of an angle in radians."),
    Function("cot", kernel("cot"), "number", "The cotangent of an angle in radians."),
    Function("asin", kernel("asin"), "number", "The arc sine in radians."),
    Function("acos", kernel("acos"), "number", "The arc cosine in radians."),
    Function("atan", kernel("atan"), "number", "The arc tangent in radians."),
    Function(
        "atan2", atan2, "number, number", "The angle of the point (second, first) in radians."
    ),
    Function("sinh", kernel("sinh"), "number", "The hyperbolic sine."),
    Function("cosh", kernel("cosh"), "number", "The hyperbolic cosine."),
    Function("tanh", kernel("tanh"), "number", "The hyperbolic tangent."),
    Function("asinh", kernel("asinh"), "number", "The inverse hyperbolic sine."),
    Function("acosh", kernel("acosh"), "number", "The inverse hyperbolic cosine."),
    Function("atanh", kernel("atanh"), "number", "The inverse hyperbolic tangent."),
    Function("degrees", kernel("degrees"), "number", "Radians as degrees."),
    Function("radians", kernel("radians"), "number", "Degrees as radians."),
)
