"""round, trunc, floor and ceil.

A decimal stays a decimal, with fewer digits after the point. Integers become float64.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.sql_functions import (
    Apply,
    Constant,
    Datum,
    Kernel,
    Node,
    as_float,
    as_number,
    call,
    decimals,
    null,
)
from lance_core_functions import decimal_rounding

Floats = npt.NDArray[Any]

_NAMES = {"half": "round", "trunc": "trunc", "floor": "floor", "ceil": "ceil"}
_MAX_EXPONENT = 400
"""Digits beyond this number change no float64."""


def rounded(node: Node, digits: Node | None = None) -> Node:
    """The number rounded to ``digits`` after the point (0), halves away from zero."""
    return _digits("half", node, digits)


def truncated(node: Node, digits: Node | None = None) -> Node:
    """The number without the digits after the first ``digits`` (0) after the point."""
    return _digits("trunc", node, digits)


def floor(node: Node) -> Node:
    """The largest integer that is not larger than the number."""
    return _digits("floor", node, None)


def ceil(node: Node) -> Node:
    """The smallest integer that is not smaller than the number."""
    return _digits("ceil", node, None)


def _digits(mode: str, node: Node, digits: Node | None) -> Node:
    name = _NAMES[mode]
    node = as_number(name, node)
    if digits is not None and not pa.types.is_integer(digits.type):
        if not pa.types.is_null(digits.type):
            raise InvalidInputError(f"{name} needs an integer as number of digits")
        digits = null(pa.int64())
    is_decimal = pa.types.is_decimal(node.type)
    if isinstance(digits, Constant) and digits.is_null:
        return null(node.type if is_decimal else as_float(name, node).type)
    if digits is None or isinstance(digits, Constant):
        count = 0 if digits is None else int(digits.value.as_py())
        if is_decimal:
            return decimal_rounding.rounded(node, max(count, -decimals.MAX_DIGITS), mode)
        kernel: Kernel = functools.partial(_of_floats, digits=count, mode=mode)
        if mode == "trunc" and digits is None:
            kernel = _without_fraction
        options = () if digits is None else (count,)
        return call(Apply(name, options), kernel, as_float(name, node))
    if is_decimal:
        return decimal_rounding.rounded_by_rows(node, digits, mode)
    return call(name, functools.partial(_of_floats, mode=mode), as_float(name, node), digits)


def _without_fraction(values: Datum) -> Datum:
    # As in pylance, trunc(-0.0) is 0.0, but trunc(-0.5) and trunc(-0.0, 0) are -0.0.
    zero = pa.scalar(0.0, values.type)
    return pc.if_else(pc.equal(values, zero), zero, pc.trunc(values))


def _of_floats(values: Datum, digits: Datum | int, mode: str) -> Datum:
    if isinstance(values, pa.Scalar):
        if isinstance(digits, pa.Array):
            return _of_floats(pa.repeat(values, len(digits)), digits, mode)
        return _of_floats(pa.repeat(values, 1), digits, mode)[0]
    counts: Any = digits
    if isinstance(digits, pa.Array):
        counts = np.asarray(pc.fill_null(digits, 0)).astype(np.int64)
    floats = np.asarray(pc.fill_null(values, 0) if values.null_count else values)
    result = from_numpy(_rounded(floats, np.clip(counts, -_MAX_EXPONENT, _MAX_EXPONENT), mode))
    missing = pc.is_null(values)
    if isinstance(digits, pa.Array):
        missing = pc.or_(missing, pc.is_null(digits))
    elif not values.null_count:
        return result
    return pc.if_else(missing, pa.scalar(None, values.type), result)


def _rounded(floats: Floats, digits: Any, mode: str) -> Floats:
    dtype = floats.dtype
    with np.errstate(all="ignore"):
        power = dtype.type(10) ** np.abs(digits).astype(dtype)
        scaled = np.where(digits < 0, floats / power, floats * power)
        whole = _whole(scaled, mode)
        result = np.where(digits < 0, whole * power, whole / power)
    # Beyond 2**52 (float32: 2**23) a float has no fraction; NaN and infinities stay, too.
    exact = ~(np.abs(scaled) < 1 / np.finfo(dtype).eps)
    lost = (digits < 0) & ~np.isfinite(power) & np.isfinite(floats)
    result = np.where(lost, np.copysign(0, floats), np.where(exact & ~lost, floats, result))
    return np.asarray(result, dtype)


def _whole(floats: Floats, mode: str) -> Floats:
    if mode != "half":
        return {"trunc": np.trunc, "floor": np.floor, "ceil": np.ceil}[mode](floats)
    whole = np.trunc(floats)
    return np.where(
        np.abs(floats - whole) >= 0.5, whole + np.sign(floats), np.copysign(whole, floats)
    )
