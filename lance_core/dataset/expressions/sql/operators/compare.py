"""Comparisons and BETWEEN.

Floats are in total order, as in pylance: NaN with a sign is below all numbers, other NaN above, and
a NaN equals NaN with the same bits; but 0.0 equals -0.0. A comparison with NULL is NULL.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.chunks import once_per_entry
from lance_core.dataset.expressions.sql.nodes.node import Compare, Constant, Datum, Node, call, null
from lance_core.dataset.expressions.sql.operators import logic
from lance_core.dataset.expressions.sql.values import intervals
from lance_core.dataset.expressions.sql.values.coerce import (
    common_type,
    converted,
    is_bytes,
    is_number,
    is_text,
    literal_as,
    plain,
)
from lance_core.dataset.expressions.sql.values.exact import (
    Grid,
    at,
    exact_value,
    fitted,
    grid,
    steps,
)
from lance_core.encodings.arrow.numpy_values import from_numpy, numpy_dtype, to_scalar
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

KERNELS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
OPERATORS = {sign: Compare(sign) for sign in KERNELS}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SWAPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BITS: Mapping[pa.DataType, tuple[pa.DataType, pa.DataType]] = {
    pa.float16(): (pa.int16(), pa.uint16()),
    pa.float32(): (pa.int32(), pa.uint32()),
    pa.float64(): (pa.int64(), pa.uint64()),
}
"""By float type, the signed and the unsigned integer type of the same width."""


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
        raise UnsupportedFeatureError(
            f"{operator} is not supported for {left.type} and {right.type}"
        )
    left, right = _duration(left, right), _duration(right, left)
    if isinstance(right, Constant):
        return _with_constant(operator, left, literal_as(right, left.type))
    if isinstance(left, Constant):
        return _with_constant(_SWAPPED[operator], right, literal_as(left, right.type))
    return _between_columns(operator, left, right)


def _duration(node: Node, other: Node) -> Node:
    """An interval beside a duration as a duration; other nodes as they are."""
    if isinstance(node, Constant) and pa.types.is_interval(node.type):
        return intervals.as_duration(node) if pa.types.is_duration(other.type) else node
    return node


def _between_columns(operator: str, left: Node, right: Node) -> Node:
    type_ = _comparable(left.type, right.type)
    if pa.types.is_timestamp(type_):
        left, right = (converted(side, _in_own_unit(side.type, type_)) for side in (left, right))
        if left.type != right.type:
            kernel = functools.partial(compare_moments, operator=operator)
            return call(OPERATORS[operator], kernel, left, right)
    left, right = converted(left, type_), converted(right, type_)
    if pa.types.is_floating(type_):
        kernel = functools.partial(compare_floats, operator=operator)
        return call(OPERATORS[operator], kernel, left, right)
    return call(OPERATORS[operator], KERNELS[operator], left, right)


def _in_own_unit(source: pa.DataType, type_: pa.DataType) -> pa.DataType:
    """The timestamp type with the zone of ``type_`` and the unit of a date or timestamp."""
    if pa.types.is_timestamp(source):
        return pa.timestamp(source.unit, type_.tz)
    return pa.timestamp("ms" if pa.types.is_date64(source) else "s", type_.tz)


def compare_moments(left: Datum, right: Datum, operator: str) -> Datum:
    """``left operator right`` for timestamps of two units, also beyond the range of the finer."""
    factor = _PER_SECOND[right.type.unit] / _PER_SECOND[left.type.unit]
    if factor < 1:
        return compare_moments(right, left, _SWAPPED[operator])
    counts = pc.cast(left, pa.int64())
    most = (2**63 - 1) // int(factor)
    above, below = pc.greater(counts, most), pc.less(counts, -most)
    inside = pc.if_else(pc.or_(above, below), to_scalar(0, pa.int64()), counts)
    result = KERNELS[operator](pc.multiply(inside, int(factor)), pc.cast(right, pa.int64()))
    for beyond, operators in ((above, (">", ">=", "<>")), (below, ("<", "<=", "<>"))):
        answer = pc.if_else(pc.is_valid(right), operator in operators, to_scalar(None, pa.bool_()))
        result = pc.if_else(beyond, answer, result)
    return result


def _comparable(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    type_ = common_type(left, right)
    if type_ is None:
        raise InvalidInputError(f"cannot compare {left} with {right}: cast one of them")
    return type_


def _with_constant(operator: str, node: Node, literal: Constant) -> Node:
    if literal.is_null:
        return null(pa.bool_())
    where, data_type = grid(node.type), node.type
    if pa.types.is_timestamp(data_type) and data_type.tz and _is_wall_clock(literal.type):
        literal = _instant(literal, data_type)
    if not _same_kind(data_type, literal.type):
        raise InvalidInputError(
            f"cannot compare {data_type} with {literal.value}, a {literal.type}"
        )
    if where is not None:
        return _on_grid(operator, node, where, literal)
    if pa.types.is_floating(data_type):
        near = fitted(literal, data_type)
        assert near is not None
        kernel = functools.partial(compare_with_float, operator=operator)
        return call(OPERATORS[operator], kernel, node, near)
    if is_bytes(data_type) and data_type != literal.type:
        return _bytes_constant(operator, node, literal)
    return call(OPERATORS[operator], KERNELS[operator], node, converted(literal, data_type))


def _same_kind(type_: pa.DataType, literal: pa.DataType) -> bool:
    for family in (is_number, is_text, is_bytes):
        if family(type_):
            return bool(family(literal))
    return common_type(type_, literal) is not None


def _is_wall_clock(type_: pa.DataType) -> bool:
    return bool(pa.types.is_date(type_) or (pa.types.is_timestamp(type_) and type_.tz is None))


def _instant(literal: Constant, type_: pa.DataType) -> Constant:
    """A literal without a zone as an instant: its time is local to the zone of ``type_``."""
    wall = exact_value(literal)
    assert isinstance(wall, Fraction)
    seconds, rest = divmod(wall, 10**9)
    whole = Constant(at(pa.timestamp("s"), seconds))
    there = converted(whole, pa.timestamp("s", type_.tz))
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
    return call(
        OPERATORS[operator],
        KERNELS[operator],
        node,
        Constant(at(node.type, count)),
        kind=pa.bool_(),
    )


def _decided(operator: str, node: Node, above: bool) -> Node:
    """The comparison with a literal above (or below) all values of the type."""
    return _same_for_all(node, operator in (("<", "<=", "<>") if above else (">", ">=", "<>")))


def _same_for_all(node: Node, answer: bool) -> Node:
    return logic.same_for_all(node, answer)


def compare_with_float(value: Datum, literal: pa.Scalar, operator: str) -> Datum:
    """``value operator literal`` for floats and a float that is not null."""
    if isinstance(value, pa.Scalar):
        return compare_with_float(pa.repeat(value, 1), literal, operator)[0]
    if operator in ("=", "<>") and literal.as_py() == 0:
        # Arrow cannot compare half floats.
        data_type = pa.float32() if pa.types.is_float16(literal.type) else literal.type
        return KERNELS[operator](value.cast(data_type), literal.cast(data_type))
    is_negative = math.copysign(1, literal.as_py()) < 0
    if literal.as_py() == 0:
        is_negative = operator in ("<", ">=")  # -0.0 is not below zero, and 0.0 not above
    # As signed integers, the bits of positive floats have the order of the floats and are above
    # those of negative floats. As unsigned integers, the bits of negative floats have the reverse
    # order and are above those of positive floats.
    data_type = _BITS[literal.type][is_negative]
    limit = -abs(literal.as_py()) if is_negative else literal.as_py()
    bits = from_numpy(np.array([limit], numpy_dtype(literal.type)))
    order = _SWAPPED[operator] if is_negative else operator
    return KERNELS[order](value.view(data_type), bits.view(data_type)[0])


def compare_floats(left: Datum, right: Datum, operator: str) -> Datum:
    """``left operator right`` for two float columns of one type."""
    if pa.types.is_float16(left.type):  # Arrow cannot compare half floats
        left, right = left.cast(pa.float32()), right.cast(pa.float32())
    result = KERNELS[operator](left, right)
    with_nan = pc.fill_null(pc.or_(pc.is_nan(left), pc.is_nan(right)), False)
    if not pc.any(with_nan).as_py():
        return result
    keys = (_sort_keys(pc.filter(side, with_nan)) for side in (left, right))
    return pc.replace_with_mask(result, with_nan, KERNELS[operator](*keys))


def float_bits(floats: pa.Array) -> pa.Array:
    """The bits of ``floats`` as signed integers; values of other types as they are."""
    return floats.view(_BITS[floats.type][0]) if floats.type in _BITS else floats


def _sort_keys(floats: pa.Array) -> pa.Array:
    """An integer for each of ``floats``, in the same order; 0 for both zeros."""
    bits = float_bits(floats)
    # The bits of a negative float are the lowest integer plus the bits of its absolute value.
    lowest = to_scalar(-1 << (bits.type.bit_width - 1), bits.type)
    return pc.if_else(pc.less(bits, 0), pc.subtract(lowest, bits), bits)


def _bytes_constant(operator: str, node: Node, literal: Constant) -> Node:
    """Compare bytes with a literal; a literal of another length needs variable-length bytes."""
    type_ = node.type
    if pa.types.is_fixed_size_binary(type_) and len(literal.value.as_py()) != type_.byte_width:
        node, type_ = converted(node, pa.binary()), pa.binary()
    return call(OPERATORS[operator], KERNELS[operator], node, converted(literal, type_))


def same(left: Node, right: Node) -> Node:
    """IS NOT DISTINCT FROM: true if both are equal or both are NULL; never NULL."""
    equal = logic.is_true(compare("=", left, right))
    return logic.either(equal, logic.both(logic.is_null(left), logic.is_null(right)))


def between(node: Node, low: Node, high: Node) -> Node:
    """``low <= node <= high``."""
    node = plain(node)
    return logic.both(compare(">=", node, low), compare("<=", node, high))


def equals(data_type: pa.DataType, literal: Constant) -> list[pa.Scalar]:
    """The values of ``data_type`` that equal the literal: none, one, or 0.0 and -0.0.

    Raises `InvalidInputError` if the literal cannot be compared with the type.
    """
    if not _same_kind(data_type, literal.type):
        raise InvalidInputError(
            f"cannot compare {data_type} with {literal.value}, a {literal.type}"
        )
    if pa.types.is_timestamp(data_type) and data_type.tz and _is_wall_clock(literal.type):
        literal = _instant(literal, data_type)
    if grid(data_type) is not None:
        fitting = fitted(literal, data_type)
        return [] if fitting is None else [fitting.value]
    if pa.types.is_floating(data_type):
        near = fitted(literal, data_type)
        assert near is not None
        return [near.value, pc.negate(near.value)] if near.value.as_py() == 0 else [near.value]
    if (
        pa.types.is_fixed_size_binary(data_type)
        and len(literal.value.as_py()) != data_type.byte_width
    ):
        return []
    same = converted(literal, data_type)
    assert isinstance(same, Constant)
    return [same.value]
