"""arrow_cast and arrow_try_cast: casts to Arrow types, as DataFusion names them."""

from __future__ import annotations

import re

import pyarrow as pa

from lance_core.errors import UnsupportedFeatureError
from lance_core.sql_functions import (
    Constant,
    Node,
    cast,
    decimals,
    is_text,
)

_ARROW_NAMES: dict[str, pa.DataType] = {
    **{
        f"{kind}{bits}": getattr(pa, f"{kind.lower()}{bits}")()
        for kind in ("Int", "UInt")
        for bits in (8, 16, 32, 64)
    },
    "Float16": pa.float16(),
    "Float32": pa.float32(),
    "Float64": pa.float64(),
    "Boolean": pa.bool_(),
    "Utf8": pa.string(),
    "LargeUtf8": pa.large_string(),
    "Binary": pa.binary(),
    "LargeBinary": pa.large_binary(),
    "Utf8View": pa.string_view(),
    "BinaryView": pa.binary_view(),
    "Date32": pa.date32(),
    "Date64": pa.date64(),
}
"""The names of types in ``arrow_cast``, as DataFusion has them."""
_ARROW_TYPE = re.compile(
    r"""(?P<name>\w+)\(\s*(?P<first>\w+)\s*
    (?:,\s*(?:None|(?:Some\()?\s*"(?P<zone>[^"]+)"\s*\)?|(?P<second>\w+))\s*)?\)""",
    re.VERBOSE,
)
_UNIT_NAMES = {"Second": "s", "Millisecond": "ms", "Microsecond": "us", "Nanosecond": "ns"}
_WITH_TIME_UNIT = {"Duration": pa.duration, "Time32": pa.time32, "Time64": pa.time64}
_TIME_UNITS = {
    *((unit, "Duration") for unit in ("s", "ms", "us", "ns")),
    *(("s", "Time32"), ("ms", "Time32"), ("us", "Time64"), ("ns", "Time64")),
}


def arrow_cast(node: Node, name: Node) -> Node:
    """``node`` cast to the Arrow type ``name``, such as ``'Timestamp(Second, None)'``.

    Raises `UnsupportedFeatureError` for other types.
    """
    return cast(node, _arrow_type(name))


def arrow_try_cast(node: Node, name: Node) -> Node:
    """`arrow_cast`, with NULL for values that do not fit."""
    return cast(node, _arrow_type(name), strict=False)


def _arrow_type(name: Node) -> pa.DataType:
    if not isinstance(name, Constant) or not is_text(name.type) or name.is_null:
        raise UnsupportedFeatureError("arrow_cast to a type that is not a literal")
    text = name.value.as_py()
    data_type = _named_type(text.strip())
    if data_type is None:
        raise UnsupportedFeatureError(f"arrow_cast to {text!r}")
    return data_type


def _named_type(text: str) -> pa.DataType | None:
    if text in _ARROW_NAMES:
        return _ARROW_NAMES[text]
    match = _ARROW_TYPE.fullmatch(text)
    if match is None:
        return None
    name, first, second = match["name"], match["first"], match["second"]
    unit = _UNIT_NAMES.get(first, first)
    if name in _WITH_TIME_UNIT and (unit, name) in _TIME_UNITS and second is None:
        return _WITH_TIME_UNIT[name](unit)
    if name == "Timestamp" and unit in _UNIT_NAMES.values():
        return pa.timestamp(unit, match["zone"])
    if name == "Dictionary" and first in _ARROW_NAMES and second in _ARROW_NAMES:
        return pa.dictionary(_ARROW_NAMES[first], _ARROW_NAMES[second])
    if name == "FixedSizeBinary" and first.isdecimal() and second is None:
        return pa.binary(int(first[:9])) if int(first[:9]) else None
    digits = {"Decimal128": 38, "Decimal256": decimals.MAX_DIGITS}.get(name, 0)
    is_decimal = first.isdecimal() and second is not None and second.isdecimal()
    if not is_decimal or not 1 <= int(first[:3]) <= digits or int(second[:3]) > digits:
        return None
    return (pa.decimal128 if digits == 38 else pa.decimal256)(int(first), int(second))
