"""Decimals rounded to a number of digits after the point, exactly."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.arrays import from_numpy
from lance_core.sql_functions import Apply, Datum, Node, by_chunk, call, decimals, wide_integers


def rounded(node: Node, digits: int, mode: str) -> Node:
    """A decimal with at most ``digits`` digits after the point; see `wide_integers.without_digits`.

    ``digits`` may be negative: the digits before the point become zero. The result has the
    precision of the node and at most its scale; a scale below 0 becomes 0.
    """
    own = node.type
    if digits >= own.scale:
        return node
    make = pa.decimal128 if own.bit_width == 128 else pa.decimal256
    data_type = make(own.precision, max(digits, min(own.scale, 0)))
    kernel = functools.partial(_rounded, digits=digits, mode=mode, kind=data_type)
    return call(Apply("round", (digits,)), by_chunk(kernel), node, kind=data_type)


def _rounded(values: pa.Array, digits: int, mode: str, kind: pa.DataType) -> pa.Array:
    # A decimal has no more than 77 digits to drop.
    drop = min(values.type.scale - digits, decimals.MAX_DIGITS + 1)
    integers = wide_integers.without_digits(wide_integers.stored_integers(values), drop, mode)
    integers = wide_integers.scaled(integers, kind.scale - (values.type.scale - drop))
    decimals.check_digits(integers, kind)
    return wide_integers.stored_decimals(integers, decimals.missing_rows(values), kind)


def rounded_by_rows(node: Node, digits: Node, mode: str) -> Node:
    """`rounded` to numbers of digits that are not the same for all rows, in the node's type."""
    kernel = functools.partial(_rounded_by_rows, mode=mode)
    return call("round", kernel, node, digits, kind=node.type)


def _rounded_by_rows(values: Datum, digits: Datum, mode: str) -> Datum:
    if isinstance(values, pa.Scalar):
        values = pa.repeat(values, len(digits))
    counts = np.asarray(pc.fill_null(digits, 0)).astype(np.int64)
    counts = np.clip(counts, -decimals.MAX_DIGITS, values.type.scale)
    result = values
    for count in np.unique(counts):
        rows = from_numpy(counts == count)
        rounded = _rounded(values.filter(rows), int(count), mode, values.type)
        result = pc.replace_with_mask(result, rows, rounded)
    return pc.if_else(pc.is_null(digits), pa.scalar(None, values.type), result)
