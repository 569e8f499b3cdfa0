"""List literals and elements of lists by position: ``[1, 2]``, ``list[1]``."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.chunks import by_chunk
from lance_core.dataset.expressions.sql.nodes.node import (
    Apply,
    Constant,
    Datum,
    Node,
    call,
    constant,
    null,
    with_nullable,
)
from lance_core.dataset.expressions.sql.values.coerce import common_type, converted
from lance_core.encodings.arrow.numpy_values import from_numpy, to_numpy, to_scalar
from lance_core.errors import InvalidInputError, UnsupportedFeatureError


def is_list(kind: pa.DataType) -> bool:
    """True for lists of variable or fixed length."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def literal(items: Sequence[Node]) -> Node:
    """``[1, 2]``: a constant list of literals of one type."""
    type_ = pa.null()
    for item in items:
        if not isinstance(item, Constant):
            raise UnsupportedFeatureError(
                "a list literal may contain only literals, for example [1, 2]"
            )
        wider = common_type(type_, item.type)
        if wider is None:
            raise InvalidInputError(f"a list literal cannot hold both {type_} and {item.type}")
        type_ = wider
    values = [converted(item, type_) for item in items]
    return constant([v.value.as_py() for v in values if isinstance(v, Constant)], pa.list_(type_))


def element(node: Node, index: Node) -> Node:
    """``list[i]``: 1 is the first element, -1 the last; NULL if the list has no such element."""
    if pa.types.is_null(index.type):
        index = null(pa.int64())
    if not is_list(node.type) or not pa.types.is_integer(index.type):
        shown = index.value if isinstance(index, Constant) else index.type
        raise InvalidInputError(f"{node.type} has no element [{shown}]")
    if not isinstance(index, Constant):
        type_ = node.type.value_type
        return with_nullable(call("array_element", _each_element, node, index, kind=type_), True)
    if index.is_null:
        return null(node.type.value_type)
    position = index.value.as_py()
    kernel = by_chunk(functools.partial(_element, index=position))
    return with_nullable(call(Apply("array_element", (position,)), kernel, node), True)


def _each_element(lists: Datum, index: Datum) -> Datum:
    if isinstance(lists, pa.Scalar):
        lists = pa.repeat(lists, len(index))
    positions = np.asarray(pc.fill_null(index, 0)).astype(np.int64)
    return _element(lists, positions)


def _element(lists: pa.Array, index: int | npt.NDArray[np.int64]) -> pa.Array:
    stored = pc.list_value_length(lists)
    lengths = to_numpy(pc.fill_null(stored, to_scalar(0, stored.type))).astype(np.int64)
    if pa.types.is_fixed_size_list(lists.type):
        starts = (np.arange(len(lists)) + lists.offset) * lists.type.list_size
    else:
        starts = to_numpy(lists.offsets)[:-1].astype(np.int64)
    positions = np.broadcast_to(np.clip(index, -(1 << 40), 1 << 40), len(lists))
    indices = starts + np.where(positions > 0, positions - 1, lengths + positions)
    missing = (np.abs(positions) > lengths) | (positions == 0)
    return lists.values.take(from_numpy(indices, missing))
