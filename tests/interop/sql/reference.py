"""What an expression is by the SQL standard, in Python, for expressions that pylance refuses.

Only numbers, booleans and texts; `UNKNOWN` for everything else.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from lance_core.dataset.expressions.sql.parser import syntax
from lance_core.dataset.expressions.sql.parser.grammar import parse
from tests.interop.sql.samples import GROUPS

UNKNOWN = object()
"""The value of expressions that this module does not know."""


class _UnknownError(Exception):
    pass


def expected(text: str, arguments: Mapping[str, Any]) -> Any:
    """The value for arguments in the form of `evaluate.key`; numbers are exact."""
    try:
        return _value(parse(text), arguments)
    except (_UnknownError, KeyError, TypeError, OverflowError, ZeroDivisionError):
        return UNKNOWN


def agrees(here: Any, reference: Any) -> bool:
    """True if a value in the form of `evaluate.key` is the nearest one to the reference."""
    if here is None or reference is None or isinstance(reference, (str, bool)):
        return bool(here == reference and type(here) is type(reference))
    number = _number(here)
    if isinstance(here, str):
        return bool(number == float(reference))
    return bool(number == reference)


def _number(value: Any) -> Any:
    """A number in the form of `evaluate.key` as a fraction; a float that is not finite as it is."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, str):
        number = float(value)
        return Fraction(number) if math.isfinite(number) else number
    if isinstance(value, tuple) and hasattr(value, "exponent"):
        return Fraction(Decimal(value))
    raise _UnknownError


def _value(tree: syntax.Tree, arguments: Mapping[str, Any]) -> Any:
    match tree:
        case syntax.NameReference((name,)):
            return _argument(name.text, arguments)
        case syntax.Number(digits):
            return Fraction(digits)
        case syntax.Text(value) | syntax.Boolean(value):
            return value
        case syntax.Null():
            return None
        case syntax.FunctionCall(name, parts):
            return _called(_FUNCTIONS[name.lower()], parts, arguments)
        case syntax.Negative(operand):
            return _called(operator.neg, [operand], arguments)
        case syntax.Comparison(sign, left, right):
            return _called(_COMPARISONS[sign], [left, right], arguments)
        case syntax.Arithmetic(first, ((sign, second),)):
            return _called(_SIGNS[sign], [first, second], arguments)
    raise _UnknownError


def _argument(name: str, arguments: Mapping[str, Any]) -> Any:
    kind = name[2:]
    if kind in ("text", "nul", "large", "dict"):
        return arguments[name]
    if kind not in (*GROUPS["number"], "bool"):
        raise _UnknownError
    return _number(arguments[name])


def _called(
    function: Callable[..., Any], parts: Sequence[syntax.Tree], arguments: Mapping[str, Any]
) -> Any:
    """The value of ``function``, NULL if an argument is NULL."""
    values = [_value(part, arguments) for part in parts]
    return None if None in values else function(*values)


_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _substring(text: str, start: Fraction, count: Fraction | None = None) -> str:
    first = int(start) - 1
    end = len(text) if count is None else first + int(count)
    if count is not None and count < 0:
        raise _UnknownError
    return text[max(first, 0) : max(end, 0)]


def _overlay(text: str, other: str, start: Fraction, count: Fraction | None = None) -> str:
    first = int(start) - 1
    size = len(other) if count is None else int(count)
    return text[: max(first, 0)] + other + text[max(first + size, 0) :]


def _exact(number: Any) -> Any:
    if not isinstance(number, Fraction):
        raise _UnknownError
    return number


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": lambda number: math.ceil(_exact(number)),
    "ceiling": lambda number: math.ceil(_exact(number)),
    "floor": lambda number: math.floor(_exact(number)),
    "sign": lambda number: (number > 0) - (number < 0),
    "substr": _substring,
    "substring": _substring,
    "overlay": _overlay,
    "trim": lambda text, characters=" ": text.strip(characters) if characters else text,
    "position": lambda part, text: text.find(part) + 1,
}


_STEPS = {
    "date": 86_400 * 10**9,
    "date64": 10**6,
    "tz_us": 10**3,
    "tz_ny": 10**3,
    "tz_ms": 10**6,
    "ts_s": 10**9,
    "ts_ms": 10**6,
    "ts_us": 10**3,
    "ts_ns": 1,
}
"""The nanoseconds in one unit of the types of dates and timestamps."""


def moments_compared(text: str, arguments: Mapping[str, Any]) -> Any:
    """The value of a comparison of two dates or timestamps, both with a zone or both without."""
    tree = parse(text)
    match tree:
        case syntax.Comparison(
            sign, syntax.NameReference((left,)), syntax.NameReference((right,))
        ) if left.text[2:] in _STEPS and right.text[2:] in _STEPS:
            names = [left.text, right.text]
            if names[0].startswith("x_tz") != names[1].startswith("y_tz"):
                return UNKNOWN
            values = [arguments[name] for name in names]
            if None in values:
                return None
            exact = [v * _STEPS[name[2:]] for v, name in zip(values, names, strict=True)]
            return _COMPARISONS[sign](*exact)
    return UNKNOWN
