"""Coercion of two values to a common type, with the rules that DataFusion has in Lance."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    Coerce,
    Constant,
    Datum,
    Node,
    call,
    null,
    with_metadata,
)
from lance_core.dataset.expressions.sql.values import literals, wide_integers
from lance_core.dataset.expressions.sql.values.exact import fitted
from lance_core.errors import InvalidInputError

_FINEST = ("s", "ms", "us", "ns")
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""The number of decimal digits of the largest integer, by bit width."""


def is_text(kind: pa.DataType) -> bool:
    """True for string types."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_bytes(kind: pa.DataType) -> bool:
    """True for binary types."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def is_number(kind: pa.DataType) -> bool:
    """True for integers, floats and decimals."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def as_number(what: str, node: Node) -> Node:
    """The node, NULL as float64; raises `InvalidInputError` if it is no number."""
    if pa.types.is_null(node.type):
        return null(pa.float64())
    if not is_number(node.type):
        raise InvalidInputError(f"{what} needs a number, not {node.type}")
    return node


def as_float(what: str, node: Node) -> Node:
    """A number as float64; float32 stays. Raises `InvalidInputError` for other types."""
    node = as_number(what, node)
    return node if pa.types.is_float32(node.type) else converted(node, pa.float64())


def literals_beside_floats(nodes: Sequence[Node]) -> list[Node]:
    """The nodes; an integer literal beside float columns gets their type if that holds it."""
    floats = [
        node.type
        for node in nodes
        if pa.types.is_floating(node.type) and not isinstance(node, Constant)
    ]
    if not floats:
        return list(nodes)
    kind = max(floats, key=lambda float_type: float_type.bit_width)
    return [_exact_float(node, kind) if isinstance(node, Constant) else node for node in nodes]


def _exact_float(node: Constant, type_: pa.DataType) -> Constant:
    if node.is_null or not pa.types.is_integer(node.type):
        return node
    near = fitted(node, type_)
    assert near is not None
    return near if near.value.as_py() == node.value.as_py() else node


def plain(node: Node) -> Node:
    """The node with a type that all kernels take.

    Dictionaries are decoded, extension types replaced by their storage types, views copied.
    Decimals with a negative scale get scale 0: Arrow's kernels refuse them.
    """
    if isinstance(node.type, pa.BaseExtensionType):
        type_ = node.type.storage_type
        return with_metadata(
            call(Coerce(type_), functools.partial(cast_value, type_=type_), node), node.metadata
        )
    if pa.types.is_dictionary(node.type):
        return plain(converted(node, node.type.value_type))
    if pa.types.is_decimal(node.type) and node.type.scale < 0:
        digits = node.type.precision - node.type.scale
        wide = pa.decimal128(digits, 0) if digits <= 38 else pa.decimal256(min(digits, 76), 0)
        return converted(node, wide)
    if pa.types.is_string_view(node.type):
        return converted(node, pa.string())
    if pa.types.is_binary_view(node.type):
        return converted(node, pa.binary())
    return node


def converted(node: Node, kind: pa.DataType) -> Node:
    """The node cast to ``kind``, with its metadata; evaluation fails for values that do not fit."""
    if node.type == kind:
        return node
    return with_metadata(_converted(node, kind), node.metadata)


def _converted(node: Node, type_: pa.DataType) -> Node:
    if pa.types.is_timestamp(node.type) and pa.types.is_timestamp(type_) and type_.tz:
        if node.type.tz is None:
            local = converted(node, pa.timestamp(type_.unit))
            return call(Coerce(type_), functools.partial(as_local, zone=type_.tz), local)
        if isinstance(node, Constant):
            fitting = fitted(node, type_)
            if fitting is not None:
                return fitting
    return call(Coerce(type_), functools.partial(cast_value, type_=type_), node)


def cast_value(value: Datum, type_: pa.DataType) -> Datum:
    """The kernel of `converted`."""
    if pa.types.is_decimal(value.type) and pa.types.is_floating(type_):
        if isinstance(value, pa.Scalar):
            return cast_value(pa.repeat(value, 1), type_)[0]
        return pc.cast(wide_integers.nearest_floats(value), type_, safe=False)
    # A cast to a float may round; a value that does not fit any other type is an error.
    return pc.cast(value, type_, safe=not pa.types.is_floating(type_))


def as_local(value: Datum, zone: str) -> Datum:
    """Local times in ``zone`` as instants; an ambiguous time means the earlier instant."""
    return pc.assume_timezone(value, zone, ambiguous="earliest", nonexistent="earliest")


def literal_as(node: Constant, type_: pa.DataType) -> Constant:
    """A literal in the type ``type_`` of the other operand: text becomes a date or a time.

    Raises `InvalidInputError` if the text is no value of that type.
    """
    if node.is_null:
        return null(type_)
    if is_text(node.type) and not is_text(type_):
        text = node.value.as_py()
        if pa.types.is_date(type_):
            return literals.timestamp(text)
        if pa.types.is_timestamp(type_):
            return literals.timestamp(text, type_.unit)
        if pa.types.is_time(type_):
            return literals.time(text)
        raise InvalidInputError(f"{text!r} is not a literal of type {type_}")
    return node


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type that both types are coerced to, None if there is none.

    An integer or decimal with a float becomes float64.
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    for rule in (_numbers, _texts, _moments, _times):
        common = rule(left, right)
        if common is not None:
            return common
    return None


def _numbers(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if not (is_number(left) and is_number(right)):
        return None
    if pa.types.is_floating(left) and pa.types.is_floating(right):
        return left if left.bit_width > right.bit_width else right
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float64()
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return _integers(left, right)
    return _decimals(_as_decimal(left), _as_decimal(right))


def _integers(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    signed = pa.types.is_signed_integer(left)
    if signed == pa.types.is_signed_integer(right):
        return left if left.bit_width > right.bit_width else right
    unsigned_bits = right.bit_width if signed else left.bit_width
    signed_bits = left.bit_width if signed else right.bit_width
    bits = max(signed_bits, unsigned_bits * 2)
    by_bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    return by_bits.get(bits, pa.decimal128(20, 0))


def _as_decimal(type_: pa.DataType) -> pa.DataType:
    return pa.decimal128(_DIGITS[type_.bit_width], 0) if pa.types.is_integer(type_) else type_


def _decimals(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(min(digits, 76), scale)


def _texts(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if is_text(left) and is_text(right):
        return pa.large_string()
    if is_bytes(left) and is_bytes(right):
        large = pa.types.is_large_binary(left) or pa.types.is_large_binary(right)
        return pa.large_binary() if large else pa.binary()
    return None


def _moments(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The common type of dates and timestamps.

    A timestamp without a zone beside one with a zone is a local time in that zone.
    """
    sides = (left, right)
    if not all(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in sides):
        return None
    units = [kind.unit for kind in sides if pa.types.is_timestamp(kind)]
    units += ["ms" for kind in sides if pa.types.is_date64(kind)]
    zones = [kind.tz for kind in sides if pa.types.is_timestamp(kind) and kind.tz]
    return pa.timestamp(max(units, key=_FINEST.index), zones[0] if zones else None)


def _times(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if pa.types.is_time(left) and pa.types.is_time(right):
        unit = max(left.unit, right.unit, key=_FINEST.index)
        return pa.time64(unit) if unit in ("us", "ns") else pa.time32(unit)
    if pa.types.is_duration(left) and pa.types.is_duration(right):
        return pa.duration(max(left.unit, right.unit, key=_FINEST.index))
    return None
