"""Numeric functions. Unless stated otherwise, integers and decimals are converted to float64."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import logic
from lance_core.dataset.expressions.sql.coerce import common_type, converted, is_number
from lance_core.dataset.expressions.sql.function import Function
from lance_core.dataset.expressions.sql.node import Constant, Datum, Kernel, Node, call, null
from lance_core.errors import InvalidInputError, UnsupportedFeatureError


def absolute(node: Node) -> Node:
    """The absolute value in the argument's type; an error for the smallest integer of the type."""
    return call("abs", pc.abs_checked, _number("abs", node))


def rounded(node: Node, digits: Node | None = None) -> Node:
    """The number rounded to ``digits`` after the point (0), halves away from zero."""
    places = 0
    if digits is not None:
        if not isinstance(digits, Constant) or not pa.types.is_integer(digits.type):
            raise UnsupportedFeatureError("round with a number of digits that is not a literal")
        places = digits.value.as_py()
    kernel = functools.partial(pc.round, ndigits=places, round_mode="half_towards_infinity")
    return call("round", kernel, _float("round", node))


KERNELS: Mapping[str, Kernel] = {
    **{name: getattr(pc, name) for name in ("floor", "ceil", "trunc", "sign", "sqrt")},
    **{name: getattr(pc, name) for name in ("exp", "ln", "log10", "log2")},
    **{name: getattr(pc, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(pc, name) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    "degrees": lambda value: pc.multiply(value, pa.scalar(180 / math.pi, value.type)),
    "radians": lambda value: pc.multiply(value, pa.scalar(math.pi / 180, value.type)),
}
"""Functions of one float; outside of their domain they return NaN."""


def kernel(name: str) -> Callable[[Node], Node]:
    """The function ``name`` in `KERNELS`."""
    return functools.partial(_apply, name, KERNELS[name])


def atan2(node: Node, other: Node) -> Node:
    """The angle of the point (``other``, ``node``)."""
    return call("atan2", pc.atan2, _float("atan2", node), _float("atan2", other))


def log(node: Node, value: Node | None = None) -> Node:
    """``log(x)``: the logarithm to base 10; ``log(b, x)``: to base ``b``."""
    if value is None:
        return _apply("log10", pc.log10, node)
    base, value = _float("log", node), _float("log", value)
    kind = common_type(base.type, value.type)
    return call("log", pc.logb, converted(value, kind), converted(base, kind))


def power(node: Node, exponent: Node) -> Node:
    """``node`` to the power of ``exponent``, as float64."""
    sides = [converted(_number("power", side), pa.float64()) for side in (node, exponent)]
    return call("power", pc.power, *sides)


def is_nan(node: Node) -> Node:
    """True for NaN; always false for integers and decimals."""
    node = _number("isnan", node)
    if not pa.types.is_floating(node.type):
        return call("isnan", functools.partial(logic.where_valid, answer=False), node)
    return call("isnan", pc.is_nan, _float("isnan", node))


def is_zero(node: Node) -> Node:
    """True for 0 and -0."""
    return call("iszero", _is_zero, _float("iszero", node))


def instead_of_nan(node: Node, other: Node) -> Node:
    """The number, or ``other`` where it is NaN."""
    node, other = _float("nanvl", node), _float("nanvl", other)
    kind = common_type(node.type, other.type)
    return call("nanvl", _instead_of_nan, converted(node, kind), converted(other, kind))


def _number(what: str, node: Node) -> Node:
    if pa.types.is_null(node.type):
        return null(pa.float64())
    if not is_number(node.type):
        raise InvalidInputError(f"{what} needs a number, not {node.type}")
    return node


def _float(what: str, node: Node) -> Node:
    node = _number(what, node)
    if pa.types.is_float32(node.type) or pa.types.is_float16(node.type):
        return converted(node, pa.float32())
    return converted(node, pa.float64())


def _apply(what: str, kernel: Kernel, node: Node) -> Node:
    return call(what, kernel, _float(what, node))


def _is_zero(value: Datum) -> Datum:
    return pc.equal(value, pa.scalar(0, value.type))


def _instead_of_nan(value: Datum, other: Datum) -> Datum:
    return pc.if_else(pc.is_nan(value), other, value)


FUNCTIONS = (
    Function("abs", absolute, "number", "The absolute value, in the type of the number."),
    Function(
        *("round", rounded, "number, [integer]"),
        "Rounded to a number of digits after the point (default 0), halves away from zero.",
        infers_nullable=True,
    ),
    Function("floor", kernel("floor"), "number", "The largest integer that is not larger."),
    Function(
        "ceil", kernel("ceil"), "number", "The smallest integer that is not smaller.", ("ceiling",)
    ),
    Function("trunc", kernel("trunc"), "number", "The number without its fraction."),
    Function("sign", kernel("sign"), "number", "-1, 0 or 1, by the sign.", ("signum",)),
    Function("sqrt", kernel("sqrt"), "number", "The square root; NaN for negative numbers."),
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
