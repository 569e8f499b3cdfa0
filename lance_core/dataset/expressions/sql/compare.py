"""Comparisons and BETWEEN.

NaN equals itself and is greater than all numbers, as in DataFusion; 0.0 equals -0.0. A comparison
with NULL is NULL.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import logic
from lance_core.dataset.expressions.sql.chunks import once_per_entry
from lance_core.dataset.expressions.sql.coerce import (
    common_type,
    converted,
    is_bytes,
    is_number,
    is_text,
    literal_as,
    plain,
)
from lance_core.dataset.expressions.sql.exact import Grid, at, exact_value, fitted, grid, steps
from lance_core.dataset.expressions.sql.node import Constant, Datum, Node, call, null
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

_KERNELS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_SWAPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(operator: str, left: Node, right: Node) -> Node:
    """``left operator right`` as a boolean node; the operator is one of = <> < <= > >=.

    Raises `InvalidInputError` for types that cannot be compared.
    """
    if isinstance(left, Constant) and not isinstance(right, Constant):
        return compare(_SWAPPED[operator], right, left)
    if isinstance(right, Constant):
        entries = once_per_entry(left, lambda entry: compare(operator, entry, right))
        if entries is not None:
            return entries
    left, right = plain(left), plain(right)
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return null(pa.bool_())
    if pa.types.is_nested(left.type) or pa.types.is_nested(right.type):
        raise UnsupportedFeatureError(f"{operator} of {left.type} and {right.type}")
    if isinstance(right, Constant):
        return _with_constant(operator, left, literal_as(right, left.type))
    if isinstance(left, Constant):
        return _with_constant(_SWAPPED[operator], right, literal_as(left, right.type))
    return _between_columns(operator, left, right)


def _between_columns(operator: str, left: Node, right: Node) -> Node:
    kind = _comparable(left.type, right.type)
    left, right = converted(left, kind), converted(right, kind)
    if pa.types.is_floating(kind):
        kernel = functools.partial(compare_floats, operator=operator)
        return call(operator, kernel, wide(left), wide(right))
    return call(operator, _KERNELS[operator], left, right)


def _comparable(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    kind = common_type(left, right)
    if kind is None:
        raise InvalidInputError(f"cannot compare {left} with {right}: cast one of them")
    return kind


def _with_constant(operator: str, node: Node, literal: Constant) -> Node:
    if literal.is_null:
        return null(pa.bool_())
    where, kind = grid(node.type), node.type
    if pa.types.is_timestamp(kind) and kind.tz and _is_wall_clock(literal.type):
        literal = _instant(literal, kind)
    if not _same_kind(kind, literal.type):
        raise InvalidInputError(f"cannot compare {kind} with {literal.value}, a {literal.type}")
    if where is not None:
        return _on_grid(operator, node, where, literal)
    if pa.types.is_floating(kind):
        near = fitted(literal, kind)
        assert near is not None
        return _float_constant(operator, node, near)
    if is_bytes(kind) and kind != literal.type:
        return _bytes_constant(operator, node, literal)
    return call(operator, _KERNELS[operator], node, converted(literal, kind))


def _same_kind(kind: pa.DataType, literal: pa.DataType) -> bool:
    for family in (is_number, is_text, is_bytes):
        if family(kind):
            return bool(family(literal))
    return common_type(kind, literal) is not None


def _is_wall_clock(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))


def _instant(literal: Constant, kind: pa.DataType) -> Constant:
    """A literal without a zone as an instant: its time is local to the zone of ``kind``."""
    wall = exact_value(literal)
    assert isinstance(wall, Fraction)
    seconds, rest = divmod(wall, 10**9)
    whole = Constant(at(pa.timestamp("s"), seconds))
    there = converted(whole, pa.timestamp("s", kind.tz))
    assert isinstance(there, Constant)
    return Constant(there.value, Fraction(there.value.value * 10**9) + rest)


def _on_grid(operator: str, node: Node, where: Grid, literal: Constant) -> Node:
    """Compare with the greatest value of the type that is at or below the literal."""
    value = exact_value(literal)
    if not isinstance(value, Fraction):
        above = value is None or math.isnan(value) or value > 0
        return _decided(operator, node, above)
    count, reached = steps(where, value)
    if not where.low <= count <= where.high:
        return _decided(operator, node, above=count > where.high)
    if not reached:
        if operator in ("=", "<>"):
            return _same_for_all(node, operator == "<>")
        operator = "<=" if operator in ("<", "<=") else ">"
    return call(operator, _KERNELS[operator], node, Constant(at(node.type, count)), kind=pa.bool_())


def _decided(operator: str, node: Node, above: bool) -> Node:
    """The comparison with a literal above (or below) all values of the type."""
    return _same_for_all(node, operator in (("<", "<=", "<>") if above else (">", ">=", "<>")))


def _same_for_all(node: Node, answer: bool) -> Node:
    kernel = functools.partial(logic.where_valid, answer=answer)
    return call("comparison", kernel, node)


def _float_constant(operator: str, node: Node, literal: Constant) -> Node:
    if math.isnan(literal.value.as_py()):
        kernel = functools.partial(compare_nan, operator=operator)
        return call(operator, kernel, wide(node))
    if operator in (">", ">="):
        kernel = functools.partial(not_below, operator="<=" if operator == ">" else "<")
        return call(operator, kernel, wide(node), wide(literal))
    return call(operator, _KERNELS[operator], wide(node), wide(literal))


def wide(node: Node) -> Node:
    """The node with half floats as float32, because Arrow cannot compare half floats."""
    return converted(node, pa.float32()) if pa.types.is_float16(node.type) else node


def not_below(value: Datum, literal: Datum, operator: str) -> Datum:
    """True where ``value operator literal`` is not, so that NaN is above the literal."""
    return pc.invert(_KERNELS[operator](value, literal))


def compare_nan(value: Datum, operator: str) -> Datum:
    """``value operator NaN``."""
    if operator in ("<=", ">"):
        return logic.where_valid(value, operator == "<=")
    is_nan = pc.is_nan(value)
    return is_nan if operator in ("=", ">=") else pc.invert(is_nan)


def compare_floats(left: Datum, right: Datum, operator: str) -> Datum:
    """``left operator right`` for two float columns."""
    if operator in (">", "<="):
        left, right, operator = right, left, {">": "<", "<=": ">="}[operator]
    if operator in ("<", ">="):
        # left < right: neither left >= right nor is left NaN. A NaN on the right is above.
        below = pc.and_(pc.invert(pc.greater_equal(left, right)), pc.equal(left, left))
        return below if operator == "<" else pc.invert(below)
    both = pc.and_(pc.is_nan(left), pc.is_nan(right))
    equal = pc.or_(pc.equal(left, right), both)
    return equal if operator == "=" else pc.invert(equal)


def _bytes_constant(operator: str, node: Node, literal: Constant) -> Node:
    """Compare bytes with a literal; a literal of another length needs variable-length bytes."""
    kind = node.type
    if pa.types.is_fixed_size_binary(kind) and len(literal.value.as_py()) != kind.byte_width:
        node, kind = converted(node, pa.binary()), pa.binary()
    return call(operator, _KERNELS[operator], node, converted(literal, kind))


def same(left: Node, right: Node) -> Node:
    """IS NOT DISTINCT FROM: true if both are equal or both are NULL; never NULL."""
    equal = logic.is_true(compare("=", left, right))
    return logic.either(equal, logic.both(logic.is_null(left), logic.is_null(right)))


def between(node: Node, low: Node, high: Node) -> Node:
    """``low <= node <= high``."""
    node = plain(node)
    return logic.both(compare(">=", node, low), compare("<=", node, high))


def equals(kind: pa.DataType, literal: Constant) -> list[pa.Scalar]:
    """The values of ``kind`` that equal the literal: none, one, or 0.0 and -0.0.

    Raises `InvalidInputError` if the literal cannot be compared with the type.
    """
    if not _same_kind(kind, literal.type):
        raise InvalidInputError(f"cannot compare {kind} with {literal.value}, a {literal.type}")
    if pa.types.is_timestamp(kind) and kind.tz and _is_wall_clock(literal.type):
        literal = _instant(literal, kind)
    if grid(kind) is not None:
        fitting = fitted(literal, kind)
        return [] if fitting is None else [fitting.value]
    if pa.types.is_floating(kind):
        near = fitted(literal, kind)
        assert near is not None
        return [near.value, pc.negate(near.value)] if near.value.as_py() == 0 else [near.value]
    if pa.types.is_fixed_size_binary(kind) and len(literal.value.as_py()) != kind.byte_width:
        return []
    same = converted(literal, kind)
    assert isinstance(same, Constant)
    return [same.value]
