"""Functions of numbers."""

from __future__ import annotations

import functools

from lance_core_functions.descriptors.describe import function

GROUP = "numbers"
_function = functools.partial(function, GROUP)

FUNCTIONS = (
    _function(
        "abs",
        "numbers:absolute",
        "number",
        "The absolute value, in the type of the number.",
    ),
    _function("sign", "numbers:sign", "number", "-1, 0 or 1, by the sign.", "signum"),
    _function(
        "mod",
        "numbers:remainder",
        "number, number",
        "The remainder, with the sign of the first number.",
    ),
    _function("pi", "numbers:pi", "", "The number pi."),
    _function("sqrt", "numbers:sqrt", "number", "The square root; NaN for negative numbers."),
    _function("cbrt", "numbers:cbrt", "number", "The cube root."),
    _function(
        "power",
        "numbers:power",
        "number, number",
        "The first number to the power of the second.",
        "pow",
    ),
    _function("exp", "numbers:exp", "number", "e to the power of the number."),
    _function("ln", "numbers:ln", "number", "The natural logarithm."),
    _function(
        "log",
        "numbers:log",
        "number, [number]",
        "The logarithm to base 10; of two numbers, the logarithm of the second to the base of the"
        " first.",
    ),
    _function("log2", "numbers:log2", "number", "The logarithm to base 2."),
    _function("log10", "numbers:log10", "number", "The logarithm to base 10."),
    _function("isnan", "numbers:is_nan", "number", "True for NaN."),
    _function("iszero", "numbers:is_zero", "number", "True for 0 and -0."),
    _function(
        "nanvl",
        "numbers:instead_of_nan",
        "number, number",
        "The first number, or the second where the first is NaN.",
    ),
    _function("sin", "numbers:sin", "number", "The sine of an angle in radians."),
    _function("cos", "numbers:cos", "number", "The cosine of an angle in radians."),
    _function("tan", "numbers:tan", "number", "The tangent of an angle in radians."),
    _function("cot", "numbers:cot", "number", "The cotangent of an angle in radians."),
    _function("asin", "numbers:asin", "number", "The arc sine in radians."),
    _function("acos", "numbers:acos", "number", "The arc cosine in radians."),
    _function("atan", "numbers:atan", "number", "The arc tangent in radians."),
    _function(
        "atan2",
        "numbers:atan2",
        "number, number",
        "The angle of the point (second, first) in radians.",
    ),
    _function("sinh", "numbers:sinh", "number", "The hyperbolic sine."),
    _function("cosh", "numbers:cosh", "number", "The hyperbolic cosine."),
    _function("tanh", "numbers:tanh", "number", "The hyperbolic tangent."),
    _function("asinh", "numbers:asinh", "number", "The inverse hyperbolic sine."),
    _function("acosh", "numbers:acosh", "number", "The inverse hyperbolic cosine."),
    _function("atanh", "numbers:atanh", "number", "The inverse hyperbolic tangent."),
    _function("degrees", "numbers:degrees", "number", "Radians as degrees."),
    _function("radians", "numbers:radians", "number", "Degrees as radians."),
    _function(
        "round",
        "rounding:rounded",
        "number, [integer]",
        "Rounded to a number of digits after the point (default 0), halves away from zero."
        " Negative numbers of digits round before the point.",
        infers_nullable=True,
    ),
    _function(
        "trunc",
        "rounding:truncated",
        "number, [integer]",
        "Without the digits after a number of digits after the point (default 0).",
    ),
    _function("floor", "rounding:floor", "number", "The largest integer that is not larger."),
    _function(
        "ceil",
        "rounding:ceil",
        "number",
        "The smallest integer that is not smaller.",
        "ceiling",
    ),
    _function(
        "gcd",
        "integers:greatest_common_divisor",
        "integer, integer",
        "The largest integer that divides both.",
    ),
    _function(
        "lcm",
        "integers:least_common_multiple",
        "integer, integer",
        "The smallest positive integer that both divide; 0 if one is 0.",
    ),
    _function(
        "factorial",
        "integers:factorial",
        "integer",
        "The factorial of an integer from 0 to 20.",
    ),
)
